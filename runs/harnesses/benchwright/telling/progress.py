"""How a phase is getting on, for its PhaseProgress events: rates, what is in flight, what it waits for."""

import asyncio
from collections.abc import Mapping
from typing import Any

from runs.harnesses.benchwright.cells import Cell
from runs.harnesses.benchwright.line import Line
from runs.harnesses.benchwright.solving import Solving
from runs.harnesses.benchwright.telling.pulse import Pulse
from runs.harnesses.benchwright.telling.waits import Waits

PROGRESS_SECONDS = 2.0
MOST_ASKED = 50  # attempts whose waits are looked up


class Progress:
    """``sut``: the run's, for the words."""

    def __init__(self, line: Line, pulse: Pulse, solving: Solving, sut: Mapping[str, Any]) -> None:
        self._line, self._pulse, self._solving, self._sut = line, pulse, solving, sut
        self._waits = Waits()

    def note(self, notice: dict[str, Any]) -> None:
        """The gateway backs off for one of our cells."""
        self._waits.note(notice, asyncio.get_running_loop().time())

    def ended(self, cell: Cell) -> None:
        self._waits.ended(cell)

    async def look(self) -> dict[str, Any]:
        """The event's data."""
        now = asyncio.get_running_loop().time()
        waiting = await self._line.held() or self._waits.sentence(now) or await self._slot_wait()
        return self._pulse.progress(len(self._solving.running), waiting)

    async def _slot_wait(self) -> str | None:
        running = [cell for cell in self._solving.running.values() if cell.started][:MOST_ASKED]
        waited = await self._line.waited([(cell.ordinal, cell.attempt) for cell in running]) if running else []
        who = f"{self._sut.get('provider', 'the provider')} ({self._sut.get('model')})"
        return self._waits.queued(running, waited, who)
