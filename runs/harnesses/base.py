"""What a harness is."""

from typing import Protocol

from runs.context import Context


class Harness(Protocol):
    async def materialize(self, context: Context) -> None:
        """Claim free shards and bring every cell of them to its outcome, until none is free.

        Raises PhaseError where the run can't go on, LeaseLost where another worker has taken over.
        """
        ...
