"""What attempts that are still going have cost. One that asks without end is never settled, and has to be stopped."""

from collections.abc import Mapping, Sequence
from typing import Any

from runs.harnesses.benchwright.cells import Cell
from runs.limits import Ceilings

Account = Mapping[str, Any]


def as_level(account: Account) -> dict[str, Any]:
    """An attempt's cost and tokens, as ceilings compare them. Micro-cents."""
    tokens = (account.get("tokens_in") or 0) + (account.get("tokens_out") or 0)
    return {"cost": account.get("cost"), "model_cost": account.get("cost"), "tokens": tokens}


class Bills:
    """``stopped``: (ordinal, attempt) -> the ceiling for which it was told to end."""

    def __init__(self, ceilings: Ceilings) -> None:
        self._ceilings = ceilings
        levels = (ceilings.run, ceilings.task, ceilings.attempt, ceilings.every_phase, *ceilings.phases.values())
        self.needed = ceilings.of_money() or any(level.tokens is not None for level in levels)
        self._before: dict[tuple[int, int], int] = {}
        self.stopped: dict[tuple[int, int], str] = {}

    def too_far(self, cells: Sequence[Cell], accounts: Sequence[Account], over: str | None) -> list[Cell]:
        """Cells that have reached a ceiling of their own, or that went on asking after the run's was reached.

        ``over``: the run's ceiling that is reached. What was asked before may end: it is paid for.
        """
        found, now = [], {}
        for cell, account in zip(cells, accounts, strict=True):
            place, level = (cell.ordinal, cell.attempt), as_level(account)
            now[place] = level["tokens"]
            breach = self._ceilings.breach("task", level) or self._ceilings.breach("attempt", level)
            if breach is None and over and level["tokens"] > self._before.get(place, level["tokens"]):
                breach = over
            if breach and not cell.cancelled:
                self.stopped[place] = breach
                found.append(cell)
        self._before = now
        return found
