"""A driver model that says what it likes: bounded, read strictly, and told what is wrong."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from runs import gateway_keys, limits
from runs.analysis.hints import asked_for
from runs.context import CeilingReached, Context, PhaseError
from runs.doorbell import Bell
from runs.driver.asking import Asker
from runs.driver.llm.conversation import FAULTS, REPEATS, ROUNDS, Talk, Tool
from runs.driver.llm.helping import map_columns
from runs.driver.llm.replies import Unusable
from runs.suts import BoundSut
from tests.gateway.conftest import Bench
from tests.twins.openai_twin import Fault, OpenAITwin


class Pick(BaseModel):
    choice: str
    reason: str = ""


def says(value: Any, **more: Any) -> Fault:
    return Fault(text=value if isinstance(value, str) else json.dumps(value), **more)


def uses(name: str, **args: Any) -> Fault:
    return says({"tool": name, "args": args})


PICKED = says({"result": {"choice": "mmlu"}})


async def rows(args: dict[str, Any]) -> str:
    if not isinstance(args.get("start"), int):
        raise Unusable("start must be a whole number")
    return json.dumps([{"question": f"row {args['start']}"}])


@pytest.fixture
def talk(bench: Bench, provider: OpenAITwin) -> Callable[..., Any]:
    """``await talk(replies…, limits={}, check=None)`` -> the result, with one tool ``read_rows``."""

    async def hold(*replies: Fault, declared: Any = None, check: Any = None) -> Pick:
        provider.script(*replies)
        bench.run.limits = declared or {}
        context = Context(
            bench.run,
            "find",
            "me",
            limits.parse(bench.run.limits),
            60,
            threading.Event(),
            threading.Event(),
            Bell(""),
            "",
        )
        sut = {"model": "driver-1", "provider": "vllm", "base_url": provider.url, "params": {}}
        bound = BoundSut(sut, {"kind": "none"})
        async with Asker(str(bench.run.id), gateway_keys.DRIVER, bound, 1, bench.gateway.socket) as asker:
            tool = Tool("read_rows", "some rows", {"start": "index"}, rows)
            return await Talk(context, asker, -1, Pick, [tool], check).hold("You choose a benchmark.", "Run MMLU")

    return hold


async def test_it_uses_tools_and_ends_with_a_result(talk: Any, provider: OpenAITwin) -> None:
    found = await talk(uses("read_rows", start=3), says('Here you are:\n```json\n{"result": {"choice": "mmlu"}}\n```'))
    assert found.choice == "mmlu"
    told = provider.requests[1].body["messages"]
    assert [message["role"] for message in told] == ["system", "user", "assistant", "user"]
    assert "row 3" in told[-1]["content"]
    assert provider.requests[0].body["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (says("I think it is MMLU."), "no JSON object"),
        (says("<think>so many benchmarks"), "empty"),
        (says({"result": {"reason": "none"}}), "result.choice"),
        (uses("delete_everything"), "no tool 'delete_everything'"),
        (uses("read_rows", start="first"), "whole number"),
        (says({"result": {"choice": "mmlu"}}, extra={"choices": [{"message": {"refusal": "no"}}]}), "refused"),
        (says("{" * 4000), "no JSON object"),
        (says('{"result": {"choice": "a\\ud800"}}'), "can't be stored"),
    ],
)
async def test_d30_what_cannot_be_used_is_told_back_and_it_goes_on(
    talk: Any, provider: OpenAITwin, reply: Fault, words: str
) -> None:
    assert (await talk(reply, PICKED)).choice == "mmlu"
    assert words in provider.requests[1].body["messages"][-1]["content"]


async def test_d30_garbage_ends_the_phase_with_the_reason(talk: Any, provider: OpenAITwin) -> None:
    with pytest.raises(PhaseError, match="no JSON object") as caught:
        await talk(*[says(f"garbage {number}") for number in range(9)])
    assert caught.value.code == "phase_failed"
    assert len(provider.requests) == FAULTS


async def test_d30_a_loop_is_seen(talk: Any, provider: OpenAITwin) -> None:
    with pytest.raises(PhaseError, match="same args"):
        await talk(*[uses("read_rows", start=1)] * 9)
    assert len(provider.requests) == REPEATS + 1


async def test_d30_it_does_not_talk_for_ever(talk: Any, provider: OpenAITwin) -> None:
    with pytest.raises(PhaseError, match="no result"):
        await talk(*[uses("read_rows", start=number) for number in range(99)])
    assert len(provider.requests) == ROUNDS


async def test_a_result_is_repaired_as_the_check_says(talk: Any, provider: OpenAITwin) -> None:
    async def check(found: Pick) -> str | None:
        return None if found.choice == "mmlu" else "choose one of: mmlu, gpqa"

    assert (await talk(says({"result": {"choice": "mmmlu"}}), PICKED, check=check)).choice == "mmlu"
    assert "choose one of" in provider.requests[1].body["messages"][-1]["content"]


async def test_a_provider_without_schemas_is_asked_without(talk: Any, provider: OpenAITwin) -> None:
    assert (await talk(Fault(400), PICKED)).choice == "mmlu"
    assert provider.requests[1].body["response_format"] == {"type": "text"}


async def test_a_provider_that_fails_is_named(talk: Any, provider: OpenAITwin) -> None:
    with pytest.raises(PhaseError, match="driver-1 at vllm") as caught:
        await talk(Fault(401))
    assert "401" in caught.value.message


async def test_it_stops_at_a_ceiling(talk: Any, provider: OpenAITwin) -> None:
    used = {"prompt_tokens": 900, "completion_tokens": 200, "total_tokens": 1100}
    replies = [says({"tool": "read_rows", "args": {"start": n}}, usage=used) for n in range(9)]
    with pytest.raises(CeilingReached, match=r"phase\.tokens"):
        await talk(*replies, declared={"phase": {"find": {"tokens": 2000}}})
    assert len(provider.requests) == 2


@pytest.fixture
def asking(bench: Bench, provider: OpenAITwin) -> Callable[..., Any]:
    """``await asking(work, replies…)``: what ``work(context, asker)`` comes to."""

    async def go(work: Callable[[Context, Asker], Any], *replies: Fault) -> Any:
        provider.script(*replies)
        stop = threading.Event()
        context = Context(bench.run, "analyze", "me", limits.parse({}), 60, stop, stop, Bell(""), "")
        sut = {"model": "driver-1", "provider": "vllm", "base_url": provider.url, "params": {}}
        bound = BoundSut(sut, {"kind": "none"})
        async with Asker(str(bench.run.id), gateway_keys.DRIVER, bound, 1, bench.gateway.socket) as asker:
            return await work(context, asker)

    return go


COLUMNS = [{"name": "q", "examples": ["2+2?"]}, {"name": "gold", "examples": ["4"]}, {"name": "nr", "examples": ["1"]}]


async def test_it_maps_columns_that_there_are(asking: Any, provider: OpenAITwin) -> None:
    wrong = {"can": "yes", "question": "question", "expected": "gold"}
    right = {"can": "yes", "question": "q", "expected": "gold", "task_id": "nr"}
    hints = await asking(
        lambda context, asker: map_columns(context, asker, -2, "Run my rows", COLUMNS),
        says({"result": wrong}), says({"result": right}),
    )  # fmt: skip
    assert asked_for(hints, ["q", "gold", "nr"]) == {"input": "q", "expected": "gold", "task_id": "nr"}
    assert "no column 'question'" in provider.requests[1].body["messages"][-1]["content"]


async def test_it_may_say_that_rows_are_no_tasks(asking: Any) -> None:
    no = says({"result": {"can": "no"}})
    assert await asking(lambda context, asker: map_columns(context, asker, -2, "Run", COLUMNS), no) == []
