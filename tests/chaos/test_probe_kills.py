"""kill -9 around the first cells of a run in words: each is asked once, and the estimate is told once."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings

from accounts.models import User
from runs.models import ModelCall, RunEvent
from tests.chaos.rig import Rig, check
from tests.chaos.test_kill_points import counts
from tests.factories import planned
from tests.factories.processes import GatewayProcess, Model

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
OWN = ("Q1", "Q2")
SHARED = ("P2", "P5", "P6")  # with every run
FOUND = {"find": {}, "analyze": {"kind": "math", "chance": 0.0, "grader": {"kind": "numeric"}}}


@pytest.fixture
def rig(
    alice: User, gateway: GatewayProcess, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Rig]]:
    monkeypatch.setattr(settings, "ARTIFACTS_DIR", tmp_path / "artifacts")
    made: list[Rig] = []

    def make() -> Rig:
        sut = {"model": "twin-1", "provider": "vllm", "base_url": model.url, "params": {}, "connection": None}
        run = planned.run(
            alice, planned.sums(14), plan=["atomize", "materialize", "report"], findings=FOUND, sut=sut, impl=None,
            mode="request", request="Run my sums",
        )  # fmt: skip
        made.append(Rig(run, gateway, tmp_path))
        return made[-1]

    yield make
    for each in made:
        each.stop()


@pytest.mark.parametrize(("point", "count"), [*counts(OWN), *counts(SHARED, pytest.mark.long)])
def test_d01_a_worker_killed_here_asks_no_probe_twice(
    rig: Callable[[], Rig], model: Model, point: str, count: int
) -> None:
    rigged = rig()
    armed = rigged.armed(point, count)
    rigged.worker(BENCHWRIGHT_FAULT=armed)
    run = rigged.until_terminal(BENCHWRIGHT_FAULT=armed)
    assert rigged.once.exists(), f"{point} was never reached"
    assert (run.status, run.passed) == ("ok", 14), run.error
    check(run, model)
    assert ModelCall.objects.filter(run=run).count() == 14
    [told] = RunEvent.objects.filter(run=run, type="PhaseProgress", data__has_key="estimate")
    assert told.data["estimate"] == run.findings["materialize"]["estimate"]
    assert run.findings["materialize"]["probes"] == {"asked": 5, "measured": 5}
    assert rigged.left() == []


@pytest.mark.long
def test_workers_that_join_while_it_probes_leave_the_others_alone(rig: Callable[[], Rig], model: Model) -> None:
    rigged = rig()
    for _ in range(3):
        rigged.worker()
    run = rigged.until_terminal()
    assert (run.status, run.passed) == ("ok", 14), run.error
    check(run, model)
    [told] = RunEvent.objects.filter(run=run, type="PhaseProgress", data__has_key="estimate")
    begun = RunEvent.objects.filter(run=run, type="MaterializeTaskStarted", seq__lt=told.seq)
    assert set(begun.values_list("data__ordinal", flat=True)) <= set(range(5))
    assert rigged.left() == []
