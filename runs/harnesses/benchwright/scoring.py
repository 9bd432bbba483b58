"""The score side: stored outputs go in, verdicts come out. Its sandbox's death costs the cell that caused it only."""

from collections import deque
from collections.abc import Callable
from typing import Any

from runs.compute.base import Death, Role, RoleDead
from runs.harnesses.benchwright.cells import Cell

WINDOW = 400
METRICS_LIMIT = 64 << 10


def checked(message: dict[str, Any]) -> dict[str, Any]:
    """The verdict, believed only as far as it can be: anything but a number from 0 to 1 is no score."""
    if message["op"] == "unscored":
        return message
    score = message.get("score")
    good = isinstance(score, int | float) and not isinstance(score, bool) and 0 <= score <= 1  # no for NaN too
    if good:
        return message
    told = f"score() returned {score!r}; it must return a number from 0 to 1"
    return {**message, "op": "unscored", "error": {"class": "invalid_score", "message": told[:500]}}


class Scoring:
    """Cells between "output is stored" and "verdict is in"; ``ended(cell, verdict)`` gets each."""

    def __init__(self, ended: Callable[[Cell, dict[str, Any]], None]) -> None:
        self._ended = ended
        self.role: Role | None = None
        self.ready: deque[Cell] = deque()
        self._suspects: deque[Cell] = deque()
        self.running: dict[int, Cell] = {}
        self.since = 0.0  # loop time of the last sign of life

    @property
    def empty(self) -> bool:
        return not (self.ready or self._suspects or self.running)

    def feed(self, now: float) -> None:
        if self.role is None:
            return
        if self._suspects:
            if not self.running:
                self._send([self._suspects.popleft()], now)
            return
        room = min(WINDOW - len(self.running), len(self.ready))
        if room > 0:
            self._send([self.ready.popleft() for _ in range(room)], now)

    def _send(self, cells: list[Cell], now: float) -> None:
        if not self.running:
            self.since = now
        self.running.update((cell.ordinal, cell) for cell in cells)
        try:
            assert self.role is not None
            self.role.send(
                [
                    {
                        "op": "score",
                        "cell": cell.ordinal,
                        "attempt": cell.attempt,
                        "index": cell.index,
                        "output": cell.output,
                        "expected": cell.expected,
                    }
                    for cell in cells
                ]
            )
        except RoleDead:
            return

    def take(self, messages: list[dict[str, Any]], now: float) -> None:
        self.since = now
        for message in messages:
            cell = self.running.pop(message["cell"], None)
            if cell is not None:
                self._ended(cell, checked(message))

    def died(self, death: Death) -> None:
        self.role = None
        lost, self.running = list(self.running.values()), {}
        if len(lost) == 1:
            told = f"score() ended its sandbox ({death.reason}): {death.detail}"[:500]
            self._ended(lost[0], {"op": "unscored", "error": {"class": "scorer_exception", "message": told}})
        else:
            self._suspects.extend(lost)

    def drop(self, shard: int) -> None:
        self.ready = deque(cell for cell in self.ready if cell.shard != shard)
        self._suspects = deque(cell for cell in self._suspects if cell.shard != shard)
        self.running = {ordinal: cell for ordinal, cell in self.running.items() if cell.shard != shard}
