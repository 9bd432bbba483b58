"""A model as driver, end to end: it writes the scorer, the scorer proves itself, the run is scored with it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from runs.models import Artifact, ModelCall, Phase, Run
from tests.factories import planned
from tests.factories.processes import GatewayProcess, Model
from tests.pipeline.test_whole_runs import whole
from tests.twins.openai_twin import Fault, Seen

pytestmark = pytest.mark.django_db(transaction=True)
PLANNED = {"find": {}, "analyze": {"kind": "math", "chance": 0.0}}
DRIVER = {"model": "driver-1", "provider": "vllm"}
GOOD = """
from bench_task import BenchTask, chat, read_number, same_number


class Task(BenchTask):
    async def solve(self, index, input):
        reply = await chat([{"role": "user", "content": input}])
        return reply["choices"][0]["message"]["content"]

    def score(self, index, output, expected):
        got = read_number(output)
        return 1.0 if got is not None and same_number(got, float(expected)) else 0.0
"""
FOOLED = GOOD.replace("got is not None and same_number(got, float(expected))", "True")


class Drafts:
    """A driver that replies as scripted, and the model under test beside it."""

    def __init__(self, model: Model, *replies: Any, name: str = DRIVER["model"]) -> None:
        self.name = name
        self.replies = [reply if isinstance(reply, str) else json.dumps(reply) for reply in replies]
        self.asked: list[Seen] = []
        self._answer = model.twin.always
        model.twin.always = self.always

    def always(self, seen: Seen) -> Fault | None:
        if seen.body["model"] != self.name:
            return self._answer(seen) if self._answer else None
        self.asked.append(seen)
        return Fault(text=self.replies[min(len(self.asked), len(self.replies)) - 1])


def code(text: str) -> dict[str, Any]:
    return {"result": {"code": text, "what_changed": "reads the last number"}}


@pytest.fixture
def authored(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Run, Drafts]]:
    """``authored(*replies)`` carries a run with a model as driver from Atomize to its end."""
    monkeypatch.setenv("BW_PROVIDER_VLLM_BASE_URL", model.url)

    def go(*replies: Any, **fields: Any) -> tuple[Run, Drafts]:
        drafts = Drafts(model, *replies)
        sut = {"model": "twin-1", "provider": "vllm", "base_url": model.url, "params": {}, "connection": None}
        made = planned.run(
            alice, planned.sums(6), plan=["atomize", "materialize", "report"], sut=sut, driver=DRIVER,
            **{"findings": PLANNED, "mode": "request", "request": "Run my sums", "impl": None, **fields},
        )  # fmt: skip
        return work(made), drafts

    return go


def test_it_writes_a_scorer_that_proves_itself_and_the_run_is_scored_with_it(authored: Any) -> None:
    run, drafts = authored({"tool": "read_rows", "args": {"start": 2}}, code(FOOLED), code(GOOD))
    assert run.status == "ok", run.error
    whole(run)
    assert (run.passed, run.failed) == (6, 0)
    assert run.impl is not None
    assert run.impl.code == GOOD
    assert run.impl.verdict["badge"] == "proven"
    assert run.findings["atomize"]["what_changed"] == "reads the last number"
    assert len(drafts.asked) == 3
    told = [seen.body["messages"][-1]["content"] for seen in drafts.asked]
    assert "2 + 1" in told[1]
    assert "did not prove itself" in told[2]
    assert Artifact.objects.filter(run=run, type="verdict").exists()
    assert ModelCall.objects.filter(run=run, ordinal__lt=0).count() == 3
    phase = Phase.objects.get(run=run, name="atomize")
    assert phase.tokens > 0
    assert set(run.served) == {"twin-1 via vllm"}


def test_it_may_hand_in_a_grader(authored: Any) -> None:
    run, _ = authored({"result": {"grader": {"kind": "numeric"}}})
    assert (run.status, run.passed) == ("ok", 6)
    assert run.impl.grader["kind"] == "numeric"


def test_d30_a_scorer_that_never_proves_itself_stops_the_run_before_it_spends(authored: Any, model: Model) -> None:
    run, _ = authored(*[code(FOOLED + f"# {number}\n") for number in range(9)])
    assert run.status == "failed"
    assert run.error["phase"] == "atomize"
    assert run.error["code"] == "phase_failed"
    assert "prove" in run.error["message"]
    assert all(seen.body["model"] == DRIVER["model"] for seen in model.twin.requests), "no paid call of the SUT"
    assert run.impl_id is None


def test_d30_a_driver_that_says_it_cannot_fails_the_run_with_its_words(authored: Any) -> None:
    run, _ = authored({"result": {"cannot": "these rows have no right answers"}}, description="grade the style")
    assert (run.status, run.error["code"]) == ("failed", "cannot_apply")
    assert "no right answers" in run.error["message"]


def test_a_forks_description_reaches_the_driver(authored: Any) -> None:
    run, drafts = authored({"result": {"grader": {"kind": "numeric"}}}, description="accept numbers in words")
    assert run.status == "ok"
    assert "accept numbers in words" in drafts.asked[0].body["messages"][1]["content"]


def test_a_scorer_that_stays_as_it_was_is_no_change(authored: Any, alice: User) -> None:
    same, other = ({"result": {"grader": {"kind": kind}}} for kind in ("exact", "numeric"))
    first, _ = authored(same)
    assert first.status == "ok", first.error
    on = {"subset": first.subset, "benchmark": first.benchmark, "parent": first, "relation": "fork"}
    run, drafts = authored(same, other, description="accept numbers in words", **on)
    assert (run.status, run.impl.grader["kind"]) == ("ok", "numeric")
    assert "as it was" in drafts.asked[1].body["messages"][-1]["content"]


def test_rules_come_first_and_then_no_model_is_asked(authored: Any) -> None:
    plan = {"kind": "math", "chance": 0.0, "grader": {"kind": "numeric"}}
    run, drafts = authored("never asked", findings={"find": {}, "analyze": plan})
    assert (run.status, run.passed) == ("ok", 6)
    assert drafts.asked == []
