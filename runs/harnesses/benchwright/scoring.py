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

    def __init__(
        self,
        ended: Callable[[Cell, dict[str, Any]], None],
        asked: Callable[[Cell, dict[str, Any] | None], None] | None = None,
    ) -> None:
        """``asked(cell, question)``, where the scorer has a judge: somebody asks it and calls ``answered``."""
        self._ended, self._asked = ended, asked
        self.asking: dict[int, Cell] = {}  # their judge has the floor
        self.role: Role | None = None
        self.ready: deque[Cell] = deque()
        self._suspects: deque[Cell] = deque()
        self.running: dict[int, Cell] = {}
        self.since = 0.0  # loop time of the last sign of life

    @property
    def empty(self) -> bool:
        return not (self.ready or self._suspects or self.running or self.asking)

    @property
    def waiting(self) -> int:
        return len(self.ready) + len(self._suspects)

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
            self.role.send([self._wanted(cell) for cell in cells])
        except RoleDead:
            return

    def _wanted(self, cell: Cell) -> dict[str, Any]:
        """What the role is to do with a cell: score it, say what its judge is asked, or score it with the verdict."""
        message = {
            "op": "score",
            "cell": cell.ordinal,
            "attempt": cell.attempt,
            "index": cell.index,
            "output": cell.output,
            "expected": cell.expected,
        }
        if self._asked is None:
            return message
        return {**message, "op": "judged", "verdict": cell.verdict} if cell.judged else {**message, "op": "question"}

    def answered(self, cell: Cell, verdict: Any) -> None:
        """The judge's word on a cell: it is scored with that."""
        if self.asking.pop(cell.ordinal, None) is cell:
            cell.judged, cell.verdict = True, verdict
            self.ready.append(cell)

    def given_up(self, cell: Cell) -> bool:
        """The judge gave no word on a cell; False where it is no longer ours."""
        return self.asking.pop(cell.ordinal, None) is cell

    def take(self, messages: list[dict[str, Any]], now: float) -> None:
        self.since = now
        for message in messages:
            cell = self.running.pop(message["cell"], None)
            if cell is None:
                continue
            if message["op"] == "asking" and self._asked is not None and not cell.judged:
                self.asking[cell.ordinal] = cell
                self._asked(cell, message["question"])
            else:
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
        self.asking = {ordinal: cell for ordinal, cell in self.asking.items() if cell.shard != shard}
