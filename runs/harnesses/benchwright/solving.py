"""The solve side: how many cells run at once, which run alone, whose time is up, and what a dead sandbox costs."""

import asyncio
import heapq
import random
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any

from kernel.secret_signs import redact_values
from runs.compute.base import Death, Role, RoleDead
from runs.harnesses.benchwright.cells import Cell

GRACE_SECONDS = 2.0  # between asking a late solve to stop and killing its sandbox
PREFETCH = 0.25  # cells that wait inside the sandbox so that no thread is idle between two


class Solving:
    """Cells between "may be solved" and "solve has ended".

    ``ended(cells)`` gets those that ended by themselves, by time or by the sandbox's death. After a death that several
    cells could have caused they run alone, one after the other, so that a poison task condemns nobody but itself.
    """

    def __init__(
        self,
        key: Callable[[int, int, int], str],
        started: Callable[[Cell], None],
        ended: Callable[[list[Cell]], None],
        attempt_seconds: float,
    ) -> None:
        self._key, self._started, self._ended = key, started, ended
        self.attempt_seconds = attempt_seconds
        self.slots = 1
        self.role: Role | None = None  # None while there is no sandbox
        self.ready: deque[Cell] = deque()
        self.suspects: deque[Cell] = deque()
        self._delayed: list[tuple[float, int, Cell]] = []
        self._ticket = count()
        self.running: dict[int, Cell] = {}
        self._queued: deque[Cell] = deque()
        self._active = 0

    @property
    def empty(self) -> bool:
        return not (self.ready or self.suspects or self._delayed or self.running)

    @property
    def waiting(self) -> int:
        return len(self.ready) + len(self.suspects) + len(self._delayed)

    @property
    def _most(self) -> int:
        """Cells that the sandbox is given at once."""
        return self.slots + max(1, int(self.slots * PREFETCH))

    def retry_later(self, cell: Cell) -> None:
        """Another attempt after a back-off (exponential with jitter, at most 30 s)."""
        pause = min(30.0, 2.0 ** (cell.faults - 1)) * (0.75 + random.random() / 2)  # noqa: S311 (no secret)
        due = asyncio.get_running_loop().time() + pause
        heapq.heappush(self._delayed, (due, next(self._ticket), cell))

    def feed(self, now: float) -> Cell | None:
        """Start what there is room for. Returns a suspect that may start now, alone, by ``start``."""
        while self._delayed and self._delayed[0][0] <= now:
            cell = heapq.heappop(self._delayed)[2]
            (self.suspects if cell.alone else self.ready).append(cell)
        if self.role is None:
            return None
        if self.suspects:
            return self.suspects.popleft() if not self.running else None
        room = self._most - len(self.running)
        if room > 0 and self.ready:
            self.start([self.ready.popleft() for _ in range(min(room, len(self.ready)))], now)
        return None

    def start(self, cells: list[Cell], now: float) -> None:
        messages = []
        for cell in cells:
            cell.attempt += 1
            cell.cancelled, cell.fault, cell.output, cell.started = False, None, None, 0.0
            self.running[cell.ordinal] = cell
            self._queued.append(cell)
            self._started(cell)
            messages.append(self._message(cell))
        self._promote(now)
        try:
            assert self.role is not None
            self.role.send(messages)
        except RoleDead:
            return  # on_death has told, or is about to

    def _message(self, cell: Cell) -> dict[str, Any]:
        return {
            "op": "solve",
            "cell": cell.ordinal,
            "attempt": cell.attempt,
            "index": cell.index,
            "task_id": cell.task_id,
            "trial": cell.trial,
            "input": cell.input,
            "key": self._key(cell.ordinal, cell.attempt, cell.claim),
        }

    def _promote(self, now: float) -> None:
        """An attempt's time begins when the sandbox has a place for it, not while it queues there."""
        while self._queued and self._active < self.slots:
            cell = self._queued.popleft()
            if self.running.get(cell.ordinal) is cell:
                cell.started, cell.deadline = now, now + self.attempt_seconds
                self._active += 1

    def _leave(self, cell: Cell) -> None:
        if cell.started:
            self._active -= 1

    def take(self, messages: list[dict[str, Any]]) -> None:
        """Replies of the role."""
        done = []
        for message in messages:
            cell = self.running.get(message["cell"])
            if cell is None or cell.attempt != message["attempt"]:
                continue
            del self.running[cell.ordinal]
            self._leave(cell)
            cell.solve_ms = int(message.get("ms") or 0)
            if message["op"] == "solved":
                cell.output = redact_values(message.get("output"))  # before it is stored or scored: both see the same
            else:
                cell.fault = dict(message.get("error") or {"class": "Exception", "message": ""})
            done.append(cell)
        self._promote(asyncio.get_running_loop().time())
        if done:
            self._ended(done)

    def overdue(self, now: float) -> list[Cell]:
        """Cells whose time may be up (what they waited for the provider is not counted yet)."""
        return [cell for cell in self.running.values() if cell.started and now > cell.deadline]

    def stop_late(self, late: list[Cell], now: float) -> None:
        """Ask late cells to stop; kill the sandbox where one did not."""
        if self.role is None:
            return
        fresh = [cell for cell in late if not cell.cancelled]
        for cell in fresh:
            cell.cancelled, cell.deadline = True, now + GRACE_SECONDS
        try:
            self.role.send([{"op": "cancel", "cell": cell.ordinal} for cell in fresh])
        except RoleDead:
            return
        if len(fresh) < len(late):
            self.role.kill()

    def died(self, death: Death) -> None:
        """The sandbox is gone. Late cells and a cell that ran alone are to blame; all others run again."""
        self.role = None
        lost, self.running = list(self.running.values()), {}
        self._queued.clear()
        self._active = 0
        late = [cell for cell in lost if cell.cancelled]
        others = [cell for cell in lost if not cell.cancelled]
        blamed = late
        if not late and len([cell for cell in others if cell.started]) == 1:
            blamed = [cell for cell in others if cell.started]
            others = [cell for cell in others if not cell.started]
        for cell in blamed:
            cell.alone = cell.alone or not cell.cancelled
            cell.fault = _blame(cell, death)
        for cell in reversed(others):
            if cell.started and not blamed:
                cell.alone, cell.faults = True, cell.faults + 1
                self.suspects.appendleft(cell)
            else:
                self.ready.appendleft(cell)
        if blamed:
            self._ended(blamed)

    def suspect(self, shard: int) -> None:
        """Where nothing tells which cell of a shard ended its worker, those that start first run alone."""
        if any(cell.shard == shard for cell in self.suspects):
            return
        first = [cell for cell in self.ready if cell.shard == shard][: self._most]
        self.ready = deque(cell for cell in self.ready if cell not in first)
        self.suspects.extend(first)

    def drop(self, shard: int) -> list[Cell]:
        """Forget a shard that is no longer ours; returns its cells that were running."""
        self.ready = deque(cell for cell in self.ready if cell.shard != shard)
        self.suspects = deque(cell for cell in self.suspects if cell.shard != shard)
        self._delayed = [item for item in self._delayed if item[2].shard != shard]
        heapq.heapify(self._delayed)
        return [cell for cell in self.running.values() if cell.shard == shard]


def _blame(cell: Cell, death: Death) -> dict[str, Any]:
    if cell.cancelled:
        return {"infra": "timeout", "message": "solve did not end in its time and did not stop when asked"}
    kind = f"resource_exhausted:{death.reason}" if death.reason in {"memory", "pids"} else "sandbox_dead"
    return {"infra": kind, "message": f"the solve sandbox ended ({death.reason}): {death.detail}"[:500]}
