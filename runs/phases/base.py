"""What a phase is. It claims its shards, does them, and may be run again at any time by anybody."""

from collections.abc import Sequence
from typing import Protocol

from runs.context import Context
from runs.models import Run


class Phase(Protocol):
    def shards(self, run: Run) -> Sequence[tuple[int, int]]:
        """The pieces that workers lease: task ranges [start, stop) of the run's list; at least one."""
        ...

    async def work(self, context: Context) -> None:
        """Claim free shards and do them until none is free.

        Raises PhaseError (the run fails), LeaseLost (another worker has taken over).
        """
        ...
