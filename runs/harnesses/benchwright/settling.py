"""Between "solve has ended" and "what follows": the gateway's account of each attempt, asked for many at once."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from kernel.faults import fault
from runs.harnesses.benchwright.cells import Cell
from runs.harnesses.benchwright.line import Line
from runs.results import kept_out

GATHER_SECONDS = 0.01  # one question for all that end within it


class Settling:
    """``settled(cells)`` gets cells whose facts are in. ``spawn`` runs a coroutine as one of the engine's tasks."""

    def __init__(
        self,
        line: Line,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
        settled: Callable[[list[Cell]], None],
        time_limit: str,
    ) -> None:
        """``time_limit``: how long an attempt may take, in words."""
        self._line, self._spawn, self._settled, self._time_limit = line, spawn, settled, time_limit
        self._gathered: list[Cell] = []
        self.under_way = 0

    def add(self, cells: list[Cell]) -> None:
        self.under_way += len(cells)
        if not self._gathered:
            asyncio.get_running_loop().call_later(GATHER_SECONDS, self._ask)
        self._gathered += cells

    def _ask(self) -> None:
        cells, self._gathered = self._gathered, []
        self._spawn(self._settle(cells))

    async def _settle(self, cells: list[Cell]) -> None:
        try:
            accounts = await self._line.facts([(cell.ordinal, cell.attempt) for cell in cells])
        finally:
            self.under_way -= len(cells)
        fault("P5")
        for cell, account in zip(cells, accounts, strict=True):
            cell.facts = account
            cell.solve_ms = max(0, cell.solve_ms - int(account.get("waited_ms") or 0))  # our queue is not its time
            cell.solve_ms += int(account.get("reused_ms") or 0)  # what was answered from the journal took its time, too
            if (cell.fault or {}).get("infra", "timeout") == "timeout":
                cell.fault = self._infra(cell, account) or cell.fault
            if self._line.leads_out:
                cell.fault = kept_out(cell.fault) or cell.fault
        self._settled(cells)

    def _infra(self, cell: Cell, account: dict[str, Any]) -> dict[str, Any] | None:
        """The fault of ours that ended the attempt, if one did."""
        if cell.cancelled:
            kind = account.get("error_class") or "timeout"
            told = f"The attempt was stopped: it took longer than {self._time_limit}."
            return {"infra": kind, "message": told if kind == "timeout" else account.get("error_message") or told}
        if cell.lease != self._line.lease:
            # Its key died with the old gateway, so what the scorer made of that is not the model's doing.
            return {"infra": "provider_error", "message": "the gateway restarted during this attempt"}
        return None
