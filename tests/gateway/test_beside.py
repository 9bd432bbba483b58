"""Models beside the one under test: their own key, pace and place in the journal."""

import pytest
from asgiref.sync import sync_to_async

from runs import finishing, gateway_keys
from runs.driver.asking import Asker, AskFailed
from runs.gateway_client import LeaseRefused
from runs.models import ModelCall, Run
from runs.suts import BoundSut
from tests.gateway.conftest import Bench
from tests.twins.openai_twin import Fault, OpenAITwin

PRICES = {"*": {"input": 10**8, "output": 10**8, "cached_input": 10**8}}
ASK = {"messages": [{"role": "user", "content": "Which benchmark is this?"}]}


def asker(bench: Bench, provider: OpenAITwin, role: str = gateway_keys.DRIVER, claim: int = 1) -> Asker:
    sut = {"model": "driver-1", "provider": "vllm", "base_url": provider.url, "params": {}, "prices": PRICES}
    return Asker(str(bench.run.id), role, BoundSut(sut, {"kind": "none"}), claim, bench.gateway.socket)


async def test_the_driver_is_asked_beside_the_model_under_test(bench: Bench, provider: OpenAITwin) -> None:
    provider.text = "MMLU"
    async with asker(bench, provider) as driver:
        await bench.chat("2+2?")
        answer = await driver.chat(-1, ASK)
    assert answer["choices"][0]["message"]["content"] == "MMLU"
    assert [request.body["model"] for request in provider.requests] == ["twin-1", "driver-1"]
    assert (await bench.facts())["calls"] == 1, "the cell's facts hold no call of the driver"
    rows = await bench.rows(2)
    assert sorted(row.ordinal for row in rows) == [-1, 0]
    driven = next(row for row in rows if row.ordinal < 0)
    await sync_to_async(finishing.settle)(bench.run.id)
    run = await Run.objects.aget(id=bench.run.id)
    assert run.cost_driver == driven.cost > 0
    assert run.tokens_in == next(row for row in rows if row.ordinal == 0).tokens_in
    assert all("driver-1" not in name for name in run.served)


async def test_what_was_answered_is_not_asked_again(bench: Bench, provider: OpenAITwin) -> None:
    for claim in (1, 2):
        async with asker(bench, provider, claim=claim) as driver:
            await driver.chat(-2, ASK)
    assert len(provider.requests) == 1
    async with asker(bench, provider, claim=3) as driver:
        await driver.chat(-3, ASK)
    assert len(provider.requests) == 2, "another phase asks for itself"


async def test_judge_and_cell_keep_apart(bench: Bench, provider: OpenAITwin) -> None:
    place = gateway_keys.judged(0)
    assert (gateway_keys.role_of(place), gateway_keys.judged(place)) == (gateway_keys.JUDGE, 0)
    async with asker(bench, provider, gateway_keys.JUDGE) as judge:
        await judge.chat(place, ASK)
        found = await judge.facts([(place, 1)])
    assert (found[0]["calls"], found[0]["known"]) == (1, True)
    assert await ModelCall.objects.filter(run=bench.run, ordinal=place).acount() == 1


async def test_it_says_why_there_is_no_answer(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(400))
    async with asker(bench, provider) as driver:
        with pytest.raises(AskFailed, match="400") as caught:
            await driver.chat(-1, ASK)
    assert caught.value.code == "provider_error"


async def test_an_unknown_role_gets_no_lease(bench: Bench, provider: OpenAITwin) -> None:
    with pytest.raises(LeaseRefused, match="role"):
        await asker(bench, provider, "friend").__aenter__()
