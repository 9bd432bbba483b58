"""A run in words runs its first cells before the others, keeps them, and says from them what the whole will cost."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from runs.harnesses.benchwright.probing import probes
from runs.models import ModelCall, Run, RunEvent, TaskResult
from tests.factories import planned
from tests.factories.processes import ASK, GatewayProcess, Model
from tests.pipeline.test_whole_runs import whole
from tests.twins.openai_twin import Fault

pytestmark = pytest.mark.django_db(transaction=True)
PRICES = {"*": {"input": 100_000_000, "output": 400_000_000, "cached_input": 100_000_000}}  # $1 and $4 for 1M tokens
FOUND = {"find": {}, "analyze": {"kind": "math", "chance": 0.0, "grader": {"kind": "numeric"}}}
Start = Callable[..., Run]


def told(question: str, tokens_out: int = 20) -> Fault:
    """The right answer, and what it used."""
    usage = {"prompt_tokens": 100, "completion_tokens": tokens_out, "total_tokens": 100 + tokens_out}
    return Fault(text=str(int(question.split("+")[0]) + 1), usage=usage)


@pytest.fixture
def start(alice: User, gateway: GatewayProcess, model: Model) -> Start:
    """``start(rows=30)``: a run in words that is about to author its scorer."""
    model.rule = told

    def go(rows: int = 30, **fields: Any) -> Run:
        sut = {"model": "twin-1", "provider": "vllm", "base_url": model.url, "params": {}, "connection": None}
        return planned.run(
            alice, planned.sums(rows),
            **{"sut": {**sut, "prices": PRICES}, "plan": ["atomize", "materialize", "report"], "findings": FOUND,
               "mode": "request", "request": "Run my sums", "impl": None, **fields},
        )  # fmt: skip

    return go


def events(run: Run, kind: str, **data: Any) -> list[RunEvent]:
    return list(RunEvent.objects.filter(run=run, type=kind, **data).order_by("seq"))


def estimated(run: Run) -> RunEvent:
    [event] = events(run, "PhaseProgress", data__has_key="estimate")
    return event


def test_the_first_cells_come_first_stay_and_are_what_the_estimate_is_made_of(
    start: Start, model: Model, work: Callable[..., Run]
) -> None:
    run = work(start())
    assert (run.status, run.passed) == ("ok", 30), run.error
    whole(run)
    assert model.calls == ModelCall.objects.filter(run=run).count() == 30, "no call but those of the cells"
    said = estimated(run)
    begun = events(run, "MaterializeTaskStarted")
    assert {event.data["ordinal"] for event in begun if event.seq < said.seq} == {0, 1, 2, 3, 4}
    found = run.findings["materialize"]
    assert found["probes"] == {"asked": 5, "measured": 5}
    assert said.data["estimate"] == found["estimate"]
    assert found["exceeds"] == []
    # Each call used the same, so what was measured is what it came to.
    estimate = found["estimate"]
    assert estimate["tokens"] == run.tokens_in + run.tokens_out == 30 * 120
    assert estimate["cost_micro_cents"] == run.cost_model == 30 * (100 * 100 + 20 * 400)
    low, high = estimate["range"]["cost_micro_cents"]
    assert 0.7 * run.cost_model < low < run.cost_model < high < 1.4 * run.cost_model, (
        "five alike don't say that all are"
    )
    assert estimate["seconds"] > 0
    assert estimate["basis"].startswith("Measured: 5 cells of 30 ran first, and stay. The whole run comes to about $")
    assert run.findings["analyze"] == FOUND["analyze"], "the guess stays what it was"


@pytest.mark.long
def test_unlike_cells_make_a_range(start: Start, model: Model, work: Callable[..., Run]) -> None:
    model.rule = lambda question: told(question, 10 * (1 + int(question.split("+")[0]) % 5))
    run = work(start())
    low, high = run.findings["materialize"]["estimate"]["range"]["cost_micro_cents"]
    assert low < run.cost_model < high
    assert "90% interval" in run.findings["materialize"]["estimate"]["basis"]


def test_probes_are_first_trials_of_different_tasks(start: Start, work: Callable[..., Run]) -> None:
    run = work(start(8, trials=3, planned=24))
    assert (run.status, run.passed) == ("ok", 24), run.error
    whole(run)
    said = estimated(run)
    begun = {event.data["ordinal"] for event in events(run, "MaterializeTaskStarted") if event.seq < said.seq}
    assert begun == {0, 3, 6, 9, 12}


@pytest.mark.long
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_a_run_of_few_cells_is_all_probes(start: Start, work: Callable[..., Run], rows: int) -> None:
    run = work(start(rows))
    assert (run.status, run.passed) == ("ok", rows), run.error
    estimate = run.findings["materialize"]["estimate"]
    assert (estimate["probes"], estimate["tokens"]) == (rows, run.tokens_in + run.tokens_out)
    assert estimate["range"]["tokens"] == [120 * rows] * 2, "nothing is left to be estimated"


def test_a_ceiling_that_it_comes_to_is_told_and_only_the_ceiling_halts(start: Start, work: Callable[..., Run]) -> None:
    run = work(start(40, concurrency=2, limits={"run": {"tokens": 2000}}))
    assert (run.status, run.halt_reason) == ("halted", "limit_exceeded:run.tokens")
    assert run.passed >= 16, "it went on until it was there"
    [exceeded] = run.findings["materialize"]["exceeds"]
    assert (exceeded["limit"], exceeded["likely"]) == ("run.tokens", True)
    [warning] = events(run, "LimitWarning")
    assert warning.data == {"limit": "run.tokens", "message": exceeded["words"]}
    assert warning.seq == estimated(run).seq + 1
    assert "2000" not in exceeded["words"], "whoever sees the run sees its events, and not its ceilings"


@pytest.mark.long
def test_probes_without_an_answer_tell_nothing(start: Start, model: Model, work: Callable[..., Run]) -> None:
    broken = {"0 + 1", "1 + 1"}
    model.rule = lambda question: Fault(400) if question in broken else told(question)
    run = work(start(12))
    assert (run.passed, run.errored) == (10, 2)
    assert run.findings["materialize"]["probes"] == {"asked": 5, "measured": 3}
    model.rule = lambda question: Fault(400) if int(question.split("+")[0]) < 5 else told(question)
    run = work(start(12))
    assert (run.passed, run.errored) == (7, 5)
    assert run.findings["materialize"] == {"probes": {"asked": 5, "measured": 0}, "estimate": None, "exceeds": []}


@pytest.mark.long
def test_a_straggler_holds_nobody_up_for_long(
    start: Start, model: Model, work: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "PATIENCE", 0.2)

    def rule(question: str) -> Fault:
        answer = told(question)
        answer.delay = 5.0 if question == "1 + 1" else 0.0
        return answer

    model.rule = rule
    run = work(start(12))
    assert (run.status, run.passed) == ("ok", 12), run.error
    assert run.findings["materialize"]["probes"] == {"asked": 5, "measured": 4}
    last = TaskResult.objects.filter(run=run).order_by("-created_at").values_list("ordinal", flat=True).first()
    assert last == 1


def test_a_run_without_words_has_no_probes(alice: User, gateway: GatewayProcess, model: Model, work: Any) -> None:
    sut = {"model": "twin-1", "provider": "vllm", "base_url": model.url, "params": {}, "connection": None}
    run = work(planned.run(alice, planned.sums(12), code=ASK, sut=sut))
    assert (run.status, run.findings) == ("ok", {})
    assert not events(run, "PhaseProgress", data__has_key="estimate")
