"""The solve side by itself: who runs alone, who is blamed, whose time is up."""

import asyncio
from typing import Any

import pytest

from runs.compute.base import Death, RoleDead
from runs.harnesses.benchwright.cells import Cell
from runs.harnesses.benchwright.scoring import Scoring, checked
from runs.harnesses.benchwright.solving import Solving
from runs.harnesses.benchwright.works import Works


class Recorder:
    """A role that keeps what it is sent; the tests speak for the sandbox."""

    name = "solve"
    on_messages = on_death = None
    pending_bytes = 0

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.killed = False
        self.dead: Death | None = None

    def send(self, messages: Any) -> None:
        if self.dead:
            raise RoleDead
        self.sent += messages

    def kill(self, reason: str = "killed", detail: str = "") -> None:
        self.killed = True


def cell(ordinal: int) -> Cell:
    return Cell(ordinal, 0, ordinal, ordinal, f"q{ordinal}", 0, "", "in", "out")


def solving(slots: int = 2) -> tuple[Solving, Recorder, list[Cell]]:
    ended: list[Cell] = []
    side = Solving(lambda ordinal, attempt, claim: "key", lambda cell: None, ended.extend, 10.0)
    role = Recorder()
    side.role, side.slots = role, slots
    return side, role, ended


def death(reason: str = "exited") -> Death:
    return Death("solve", reason, "exit 0")


async def test_it_feeds_its_slots_and_a_little_more() -> None:
    side, role, _ = solving(slots=4)
    side.ready.extend(cell(n) for n in range(20))
    side.feed(0.0)
    assert len(role.sent) == 5
    side.take([{"op": "solved", "cell": 0, "attempt": 1, "output": "x", "ms": 5}])
    side.feed(0.0)
    assert len(side.running) == 5


async def test_a_queued_cell_has_no_deadline_yet() -> None:
    side, _, _ = solving(slots=1)
    side.ready.extend([cell(0), cell(1)])
    side.feed(100.0)
    assert [c.ordinal for c in side.overdue(111.0)] == [0]


async def test_after_a_death_each_started_cell_runs_alone() -> None:
    side, role, ended = solving(slots=2)
    side.ready.extend(cell(n) for n in range(3))
    side.feed(1.0)
    side.died(death())
    assert not ended
    side.role = role
    alone = side.feed(2.0)
    assert alone is not None
    side.start([alone], 2.0)
    assert side.feed(2.0) is None
    assert list(side.running) == [alone.ordinal]


async def test_a_cell_that_died_alone_is_blamed_and_no_other() -> None:
    side, _, ended = solving(slots=2)
    side.ready.append(cell(7))
    side.feed(1.0)
    side.died(death("memory"))
    assert [c.ordinal for c in ended] == [7]
    assert ended[0].fault == {
        "infra": "resource_exhausted:memory", "message": "the solve sandbox ended (memory): exit 0",
    }  # fmt: skip


async def test_i04_a_cell_that_does_not_stop_costs_its_own_time_only() -> None:
    side, role, ended = solving(slots=2)
    side.ready.extend([cell(0), cell(1)])
    side.feed(1.0)
    side.running[1].deadline = 99.0
    side.stop_late(side.overdue(12.0), 12.0)
    assert role.sent[-1] == {"op": "cancel", "cell": 0}
    assert not role.killed
    side.stop_late(side.overdue(15.0), 15.0)
    assert role.killed
    side.died(death("killed"))
    assert [c.ordinal for c in ended] == [0]
    assert ended[0].fault is not None
    assert ended[0].fault["infra"] == "timeout"
    assert [c.ordinal for c in side.ready] == [1]


async def test_it_ignores_a_reply_of_an_earlier_attempt() -> None:
    side, _, ended = solving()
    side.ready.append(cell(0))
    side.feed(1.0)
    side.take([{"op": "solved", "cell": 0, "attempt": 9, "output": "x"}])
    assert not ended
    assert 0 in side.running


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -0.1, 1.1, True, None, "1", [1], 10**400])
def test_i17_only_a_number_from_0_to_1_is_a_score(score: object) -> None:
    assert checked({"op": "scored", "cell": 1, "score": score})["error"]["class"] == "invalid_score"


async def test_a_score_sandbox_that_dies_with_one_cell_unscores_that_cell() -> None:
    verdicts: list[tuple[int, str]] = []
    side = Scoring(lambda cell, verdict: verdicts.append((cell.ordinal, verdict["op"])))
    role = Recorder()
    side.role = role  # type: ignore[assignment]
    side.ready.extend([cell(0), cell(1)])
    side.feed(0.0)
    side.died(death())
    assert not verdicts
    side.role = role  # type: ignore[assignment]
    side.feed(0.0)
    assert len(side.running) == 1
    side.died(death())
    assert verdicts == [(0, "unscored")]
    side.role = role  # type: ignore[assignment]
    side.feed(0.0)
    side.take([{"op": "scored", "cell": 1, "score": 1.0}], 0.0)
    assert verdicts == [(0, "unscored"), (1, "scored")]
    assert side.empty
    await asyncio.sleep(0)


async def test_nothing_begins_once_the_engine_has_ended() -> None:
    """A timer may outlive it; what that began would open a line to the gateway that nobody closes."""
    works, ran = Works(), []
    await works.close()

    async def late() -> None:
        ran.append(True)

    works.spawn(late())
    await asyncio.sleep(0.05)
    assert not ran
