"""A cell on its way, and the shards it comes from."""

from dataclasses import dataclass, field
from typing import Any

from runs.hot import ResultRow
from runs.leases import Lease


@dataclass(slots=True, eq=False)
class Cell:
    """One (task, trial). ``attempt`` counts every time it was handed to solve; ``faults`` the infrastructure's own."""

    ordinal: int
    shard: int
    index: int  # within its shard: the same for extract, solve and score
    position: int
    task_id: str
    trial: int
    kind: str
    input: Any
    expected: Any
    claim: int = 1  # how often its shard was claimed: above 1 somebody may have begun it before us
    attempt: int = 0
    faults: int = 0
    alone: bool = False  # its sandbox died under it: from now on it runs by itself
    started: float = 0.0  # loop time when solve could begin; 0 = still queued in the role
    deadline: float = 0.0
    cancelled: bool = False
    lease: str = ""  # the gateway lease its key was minted for
    output: Any = None
    fault: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    spent: int = 0  # micro-cents of earlier attempts
    judged: bool = False  # the judge has said its word
    verdict: Any = None  # that word, as its schema has it
    solve_ms: int = 0
    reused: bool = False  # another run's output: it is scored, and never solved

    def label(self) -> dict[str, Any]:
        """What events say of it."""
        return {"task_id": self.task_id, "trial": self.trial, "ordinal": self.ordinal, "attempt": self.attempt}


@dataclass(slots=True, frozen=True)
class Stored:
    """An output that an earlier worker stored and nobody scored yet."""

    attempt: int
    output: Any
    fault: dict[str, Any] | None
    facts: dict[str, Any]
    duration_ms: int


@dataclass(slots=True)
class Past:
    """What the database already holds of a shard."""

    done: set[int] = field(default_factory=set)  # ordinals with a live result
    stored: dict[int, Stored] = field(default_factory=dict)  # newest output by ordinal
    faults: dict[int, int] = field(default_factory=dict)  # earlier attempts that ended in a fault
    started: dict[int, int] = field(default_factory=dict)  # times started, by ordinal
    kept: dict[int, ResultRow] = field(default_factory=dict)  # results that the run takes over as they are


@dataclass(slots=True)
class Piece:
    """A leased shard at work."""

    lease: Lease
    cells: list[Cell]
    left: int
