"""kill -9 at every named point: each cell once, no second call for a settled one, and a terminal state."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings

from accounts.models import User
from benchmarks.chaos.world import STREAMED
from runs import states
from runs.models import Artifact, Run, RunEvent, Shard, TaskResult
from tests.chaos.rig import Rig, check
from tests.factories import planned
from tests.factories.processes import ASK, ROOT, GatewayProcess, Model, launch
from tests.twins.openai_twin import Fault

pytestmark = pytest.mark.django_db(transaction=True)

WORKER_POINTS = ("P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "A1", "A2", "F1", "F2")
GATEWAY_POINTS = ("M1", "M2", "M3", "M4", "M5")
OFTEN = ("P5", *GATEWAY_POINTS)  # passed with every batch or call of a run; P6 with every shard
PASSINGS = {**dict.fromkeys(OFTEN, (1, 2, 5)), **dict.fromkeys(("P6", "A1", "A2"), (1, 2))}
HALT = "import sys, django; django.setup(); from runs.halting import request_halt; request_halt(sys.argv[1], 'user')"


def counts(points: tuple[str, ...], *first: pytest.MarkDecorator) -> list[object]:
    """The first passing of each third point in every test run (``first``: its marks), of all among the longest,

    and later passings in `make chaos`.
    """
    return [
        pytest.param(point, count, marks=_marks(at, count, first), id=f"{point}-{count}")
        for at, point in enumerate(points)
        for count in PASSINGS.get(point, (1,))
    ]


def _marks(at: int, count: int, first: tuple[pytest.MarkDecorator, ...]) -> list[pytest.MarkDecorator]:
    if count > 1:
        return [pytest.mark.chaos]
    return [*first, *([pytest.mark.long] if at % 3 else [])]


def seeds(*values: int) -> list[object]:
    return [pytest.param(value, marks=[pytest.mark.chaos] if at else []) for at, value in enumerate(values)]


@pytest.fixture
def rigged(
    alice: User, gateway: GatewayProcess, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Rig]]:
    made: list[Rig] = []
    monkeypatch.setattr(settings, "ARTIFACTS_DIR", tmp_path / "artifacts")  # what is there already is not stored again

    def make(cells: int = 12, code: str = ASK, **fields: object) -> Rig:
        made.append(Rig(launch(alice, model, code, rows=planned.sums(cells), **fields), gateway, tmp_path))
        return made[-1]

    yield make
    for rig in made:
        rig.stop()


def slowly(question: str, seconds: float) -> Fault:
    """The right answer, after a while."""
    return Fault(text=str(int(question.split("+")[0]) + 1), delay=seconds)


@pytest.fixture
def slow(model: Model) -> None:
    """Answers take a while, so that calls are under way whenever something happens."""
    model.rule = lambda question: slowly(question, 0.3)


@pytest.mark.parametrize(("point", "count"), counts(WORKER_POINTS))
def test_d01_d02_d03_a_worker_killed_here_costs_nothing(
    rigged: Callable[..., Rig], model: Model, point: str, count: int
) -> None:
    rig = rigged(concurrency=16 if count == 1 else 2)
    if count > 1:  # few at once, each after a while, make many batches
        model.rule = lambda question: slowly(question, 0.05)
    armed = rig.armed(point, count)
    rig.worker(BENCHWRIGHT_FAULT=armed)
    run = rig.until_terminal(BENCHWRIGHT_FAULT=armed)
    assert rig.once.exists(), f"{point} was never reached"
    assert (run.status, run.passed) == ("ok", 12)
    check(run, model)
    assert set(Artifact.objects.filter(run=run).values_list("type", flat=True)) >= {"code", "summary", "report_json"}
    assert rig.left() == []


def folded(run: Run) -> tuple[object, ...]:
    """What a run came to: each cell, the tallies, the tokens, and the state that its events tell."""
    cells = TaskResult.objects.filter(run=run, live=True).order_by("ordinal")
    told = RunEvent.objects.filter(run=run).order_by("seq")
    results = {event.data["ordinal"]: event.data["outcome"] for event in told.filter(type="MaterializeTaskResult")}
    return (
        list(cells.values_list("ordinal", "task_id", "outcome", "score", "output_preview")),
        (run.passed, run.failed, run.errored, run.skipped, run.unscored),
        (run.tokens_in, run.tokens_out, run.cost_model),
        results,
        told.last().type,  # type: ignore[union-attr]
        run.status,
    )


def ordinals(rig: Rig, kind: str) -> set[int]:
    return set(RunEvent.objects.filter(run=rig.run, type=kind).values_list("data__ordinal", flat=True))


def ended(rig: Rig, hit: set[int]) -> bool:
    """Whether these cells have results, and some others are under way."""
    done = ordinals(rig, "MaterializeTaskResult")
    return hit <= done and bool(ordinals(rig, "MaterializeTaskStarted") - done)


@pytest.mark.long
@pytest.mark.parametrize(
    ("cells", "least", "seed"),
    [(16, 2, 0), *(pytest.param(200, 12, seed, marks=pytest.mark.chaos) for seed in (1, 2, 3, 4))],
)
def test_d04_a_run_killed_again_and_again_comes_to_the_same(
    rigged: Callable[..., Rig], model: Model, cells: int, least: int, seed: int
) -> None:
    """At random points for as long as it goes: some fifty kills over all seeds."""
    moments = random.Random(seed)
    model.rule = lambda question: Fault(text="no idea") if question.startswith("7 ") else slowly(question, 0.4)
    whole = rigged(cells).until_terminal()
    before = model.calls
    rig = rigged(cells, concurrency=1)
    rig.environment["BENCHWRIGHT_LEASE_SECONDS"] = "1"
    hit: set[int] = set()
    while True:
        victim = rig.worker()
        # Three workers lost under one task are that task's end, so what the last kill hit comes through first.
        rig.until(lambda hit=hit: ended(rig, hit) or rig.status() in states.TERMINAL)
        if rig.status() in states.TERMINAL:
            break
        time.sleep(moments.uniform(0, 0.4))
        victim.kill()
        victim.wait(10)
        rig.workers.remove(victim)
        rig.killed += 1
        hit = ordinals(rig, "MaterializeTaskStarted") - ordinals(rig, "MaterializeTaskResult")
    run = rig.until_terminal(300)
    for killed, unkilled in zip(folded(run), folded(whole), strict=True):
        assert killed == unkilled
    assert model.calls == before + cells, "no call was made twice"
    assert rig.killed >= least
    assert rig.left() == []


@pytest.mark.parametrize(("point", "count"), counts(GATEWAY_POINTS))
def test_d02_a_gateway_killed_here_costs_nothing(
    rigged: Callable[..., Rig], model: Model, point: str, count: int
) -> None:
    rig = rigged(code=STREAMED if point == "M3" else ASK)
    armed = rig.armed(point, count)
    rig.gateway.stop()
    rig.gateway.socket.unlink(missing_ok=True)
    rig.gateway.start(BENCHWRIGHT_FAULT=armed)
    run = rig.until_terminal()
    assert rig.once.exists(), f"{point} was never reached"
    assert rig.deaths["gateway"] == 1
    assert (run.status, run.passed) == ("ok", 12)
    check(run, model, calls_in_doubt=12)
    assert rig.left() == []


@pytest.mark.parametrize("done", seeds(1, 4, 9))
@pytest.mark.usefixtures("slow")
def test_d06_a_worker_frozen_past_its_lease_writes_nothing_late(
    rigged: Callable[..., Rig], model: Model, done: int
) -> None:
    """X4: another worker takes over what the frozen one had under way, and finds its calls in the journal."""
    rig = rigged(16, concurrency=3)
    frozen = rig.worker()
    rig.until(lambda: rig.count("MaterializeTaskResult") >= done)
    os.kill(frozen.pid, signal.SIGSTOP)
    rig.worker()
    rig.until(lambda: Shard.objects.filter(run=rig.run, attempt_no__gt=1).exists())
    os.kill(frozen.pid, signal.SIGCONT)
    run = rig.until_terminal()
    assert (run.status, run.passed) == ("ok", 16)
    check(run, model)
    assert rig.left() == []


@pytest.mark.parametrize("worker_dies_too", seeds(0, 1), ids=["H1", "H1+F1"])
def test_d22_whoever_halts_a_run_may_die_of_it(rigged: Callable[..., Rig], model: Model, worker_dies_too: int) -> None:
    """H1: the flag is set and nobody was told. F1: the one who ends the run dies before that is stored."""
    model.rule = lambda question: None if int(question.split("+")[0]) < 2 else Fault(delay=60)
    rig = rigged(20, concurrency=3)
    more = {"BENCHWRIGHT_FAULT": rig.armed("F1")} if worker_dies_too else {}
    rig.worker(**more)
    rig.until(lambda: rig.count("MaterializeTaskResult") == 2)
    command = [sys.executable, "-c", HALT, str(rig.run.id)]
    asked = subprocess.run(command, env={**rig.environment, "BENCHWRIGHT_FAULT": "H1"}, cwd=ROOT)
    assert asked.returncode == -signal.SIGKILL
    run = rig.until_terminal(**more)
    assert (run.status, run.halt_reason) == ("halted", "user")
    assert (run.passed, run.skipped) == (2, 18)
    assert rig.once.exists() is bool(worker_dies_too)
    check(run, model, calls_in_doubt=18)
    assert rig.left() == []
