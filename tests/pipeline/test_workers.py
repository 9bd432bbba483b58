"""Workers that stop, die of a task, or grow: what that costs a run."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from accounts.models import User
from runs import sweeping
from runs.models import Run, RunEvent, Shard, TaskResult
from tests.chaos.rig import Rig, check
from tests.factories import planned
from tests.factories.processes import GatewayProcess, Model, launch
from tests.twins.openai_twin import Fault

pytestmark = pytest.mark.django_db(transaction=True)
MEBI = 1 << 20
GROWTH = 48 * MEBI


@pytest.fixture
def rigged(gateway: GatewayProcess, tmp_path: Path) -> Iterator[Callable[[Run], Rig]]:
    made: list[Rig] = []

    def make(run: Run) -> Rig:
        made.append(Rig(run, gateway, tmp_path))
        return made[-1]

    yield make
    for rig in made:
        rig.stop()


@pytest.mark.long
def test_d13_a_task_that_kills_each_worker_is_errored_and_costs_no_other(
    alice: User, model: Model, rigged: Callable[[Run], Rig]
) -> None:
    rig = rigged(launch(alice, model, rows=planned.sums(6), concurrency=2))
    rig.environment["BENCHWRIGHT_LEASE_SECONDS"] = "1"

    def poison(question: str) -> Fault | None:
        if not question.startswith("3 "):
            return None
        for worker in list(rig.workers):
            worker.send_signal(signal.SIGKILL)
        return Fault(400)  # no answer that the next worker could take from the journal

    model.rule = poison
    rig.worker()
    run = rig.until_terminal()
    assert (run.status, run.passed, run.errored) == ("ok", 5, 1)
    culprit = TaskResult.objects.get(run=run, outcome="errored")
    assert (culprit.ordinal, culprit.error_class) == (3, "worker_lost")
    assert run.summary["total"] == 6
    assert run.summary["coverage"] == pytest.approx(5 / 6)
    assert rig.deaths["worker"] <= 6, "three, and those that died before its start was stored"
    assert rig.left() == []


def test_d14_a_worker_that_is_told_to_stop_hands_back_and_no_attempt_counts(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    stopping = threading.Event()

    def stop_at_the_third(question: str) -> Fault:
        if model.calls >= 3:
            stopping.set()
        return Fault(text=str(int(question.split("+")[0]) + 1), delay=0.2)

    model.rule = stop_at_the_third
    began = time.monotonic()
    run = work(launch(alice, model, rows=planned.sums(20), concurrency=2), stopping)
    assert time.monotonic() - began < 30
    assert run.status == "running"
    assert not Shard.objects.filter(run=run, status="leased").exists()
    told = model.calls
    assert run.passed == told, "what was under way came to its end and was stored"
    run = work(run)
    assert (run.status, run.passed, model.calls) == ("ok", 20, 20)
    started = RunEvent.objects.filter(run=run, type="MaterializeTaskStarted").values_list("data__attempt", flat=True)
    assert set(started) == {1}
    check(run, model)


def test_a_cell_that_is_answered_from_the_journal_took_as_long_as_its_call(
    alice: User, model: Model, rigged: Callable[[Run], Rig]
) -> None:
    rig = rigged(launch(alice, model, rows=planned.sums(4), concurrency=4))
    model.rule = lambda question: Fault(text=str(int(question.split("+")[0]) + 1), delay=0.4)
    armed = rig.armed("P5")
    rig.worker(BENCHWRIGHT_FAULT=armed)
    run = rig.until_terminal(BENCHWRIGHT_FAULT=armed)
    assert (run.passed, model.calls) == (4, 4)
    for row in TaskResult.objects.filter(run=run):
        assert row.duration_ms >= row.model_ms >= 400


def resident(pid: int) -> int:
    """Bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads memory through /proc")
@pytest.mark.long
def test_d16_a_worker_does_not_grow_with_the_tasks_it_has_done(alice: User, rigged: Callable[[Run], Rig]) -> None:
    rig = rigged(planned.run(alice, planned.sums(4000), concurrency=16))
    worker = rig.worker()
    rig.until(lambda: rig.count("MaterializeTaskResult") > 500)
    before = resident(worker.pid)
    rig.until(lambda: rig.count("MaterializeTaskResult") > 3500)
    assert resident(worker.pid) - before < GROWTH
    assert rig.until_terminal().failed == 4000  # an echo is no sum


def test_d23_the_sweeper_ends_a_run_whose_only_worker_is_dead(
    alice: User, model: Model, rigged: Callable[[Run], Rig], settings: object
) -> None:
    model.rule = lambda question: Fault(delay=60)
    rig = rigged(launch(alice, model, rows=planned.sums(4), limits={"run": {"duration": 600}}))
    rig.environment["BENCHWRIGHT_LEASE_SECONDS"] = "1"
    rig.worker()
    rig.until(lambda: model.calls)
    rig.stop()
    Run.objects.filter(id=rig.run.id).update(limits={"run": {"duration": 1}})  # however long it took to come here

    def ended() -> bool:
        sweeping.sweep()
        return rig.status() == "halted"

    rig.until(ended, 20)
    assert Run.objects.get(id=rig.run.id).halt_reason == "limit_exceeded:run.duration"
