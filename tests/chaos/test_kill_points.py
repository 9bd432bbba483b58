"""kill -9 at every named point: each cell once, no second call for a settled one, and a terminal state."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts.models import User
from tests.chaos.rig import Rig, check, processes_of
from tests.factories import planned
from tests.factories.processes import GatewayProcess, Model, launch

pytestmark = pytest.mark.django_db(transaction=True)

WORKER_POINTS = ("P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "F1", "F2")
GATEWAY_POINTS = ("M1", "M2", "M4", "M5")
SEEDS = (1, 2, 5)


def counts(points: tuple[str, ...]) -> list[object]:
    """The first passing of each point in every test run, later ones in `make chaos`."""
    return [
        pytest.param(point, count, marks=[pytest.mark.chaos] if count > 1 else [], id=f"{point}-{count}")
        for point in points
        for count in SEEDS
        if count == 1 or point in {"P5", "P6", "M1", "M2", "M4", "M5"}
    ]


@pytest.fixture
def rig(alice: User, gateway: GatewayProcess, model: Model, tmp_path: Path) -> Iterator[Rig]:
    made = Rig(launch(alice, model, rows=planned.sums(12)), gateway, tmp_path)
    yield made
    made.stop()


@pytest.mark.parametrize(("point", "count"), counts(WORKER_POINTS))
def test_d01_d02_d03_a_worker_killed_here_costs_nothing(rig: Rig, model: Model, point: str, count: int) -> None:
    armed = rig.armed(point, count)
    rig.worker(BENCHWRIGHT_FAULT=armed)
    run = rig.until_terminal(BENCHWRIGHT_FAULT=armed)
    assert rig.once.exists(), f"{point} was never reached"
    assert (run.status, run.passed) == ("ok", 12)
    check(run, model)
    rig.stop()
    assert processes_of(run) == []


@pytest.mark.parametrize(("point", "count"), counts(GATEWAY_POINTS))
def test_d02_a_gateway_killed_here_costs_nothing(rig: Rig, model: Model, point: str, count: int) -> None:
    armed = rig.armed(point, count)
    rig.gateway.stop()
    rig.gateway.socket.unlink(missing_ok=True)
    rig.gateway.start(BENCHWRIGHT_FAULT=armed)
    run = rig.until_terminal()
    assert rig.once.exists(), f"{point} was never reached"
    assert rig.deaths["gateway"] == 1
    assert (run.status, run.passed) == ("ok", 12)
    check(run, model, calls_in_doubt=12)
