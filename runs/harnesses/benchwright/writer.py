"""Batches on their way to the database: at most one statement in flight, at most one in 50 ms unless it is full."""

import asyncio
from collections import deque
from collections.abc import Callable

from runs.context import Context
from runs.hot import Batch, EventRow, OutputRow, ResultRow

TICK_SECONDS = 0.05
MOST_ROWS = 500
MOST_BYTES = 4 << 20
BACKLOG_ROWS = 4_000
BACKLOG_BYTES = 32 << 20

Row = OutputRow | ResultRow | EventRow


def _size(row: Row) -> int:
    if isinstance(row, OutputRow):
        return 200 + len(row.output or "")
    if isinstance(row, ResultRow):
        return 400 + len(row.explanation or "")
    return 200


class Writer:
    """``written`` is called with each batch once it is committed, and with the shards that were still ours."""

    def __init__(self, context: Context, written: Callable[[Batch, set[int]], None]) -> None:
        self._context = context
        self._written = written
        self._rows: deque[tuple[Row, int]] = deque()
        self._bytes = 0
        self._some = asyncio.Event()
        self._busy = False

    def add(self, row: Row) -> None:
        size = _size(row)
        self._rows.append((row, size))
        self._bytes += size
        self._some.set()

    @property
    def full(self) -> bool:
        """True where the database can't keep up and no new work should begin."""
        return len(self._rows) > BACKLOG_ROWS or self._bytes > BACKLOG_BYTES

    @property
    def idle(self) -> bool:
        return not self._rows and not self._busy

    async def drain(self) -> None:
        """Wait until everything that was added is stored."""
        while not self.idle:  # noqa: ASYNC110 (rare: before a suspect, or at the end)
            await asyncio.sleep(0.005)

    def _take(self) -> tuple[Batch, bool]:
        batch, rows, size = Batch(), 0, 0
        while self._rows and rows < MOST_ROWS and size < MOST_BYTES:
            row, weight = self._rows.popleft()
            if isinstance(row, OutputRow):
                batch.outputs.append(row)
            elif isinstance(row, ResultRow):
                batch.results.append(row)
            else:
                batch.events.append(row)
            rows, size = rows + 1, size + weight
        self._bytes -= size
        return batch, bool(self._rows)

    async def run(self) -> None:
        """Write until cancelled. Raises LeaseLost."""
        clock = asyncio.get_running_loop().time
        while True:
            await self._some.wait()
            self._some.clear()
            began = clock()
            batch, more = self._take()
            if batch:
                self._busy = True
                try:
                    held = await self._context.write(batch)
                finally:
                    self._busy = False
                self._written(batch, held)
            if more or self._rows:
                self._some.set()
            if not more:
                await asyncio.sleep(max(0.0, TICK_SECONDS - (clock() - began)))
