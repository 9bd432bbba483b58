"""Leases on shards, by the database's clock. Each claim raises the fence; a lapsed lease is anybody's."""

import time
from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection

Connection = AsyncConnection[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Lease:
    """A shard that is ours while the fence holds: tasks [start, stop) of the run's list.

    ``lost`` = the worker before us stopped without a word, so what it had in flight is suspect.
    """

    number: int
    start: int
    stop: int
    attempt_no: int
    lost: bool


_CLAIM = """
WITH free AS (
    SELECT id, status AS was FROM runs_shard
    WHERE run_id = %(run)s AND phase = %(phase)s
      AND (status = 'pending' OR (status = 'leased' AND lease_until < clock_timestamp()))
      AND number <= coalesce(%(last)s, number)
    ORDER BY number LIMIT %(most)s FOR UPDATE SKIP LOCKED
)
UPDATE runs_shard s
SET status = 'leased', attempt_no = attempt_no + 1, lease_owner = %(owner)s,
    lease_until = clock_timestamp() + make_interval(secs => %(seconds)s)
FROM free WHERE s.id = free.id
RETURNING s.number, s.start, s.stop, s.attempt_no, free.was = 'leased'
"""

_RENEW = """
UPDATE runs_shard s SET lease_until = clock_timestamp() + make_interval(secs => %(seconds)s)
FROM unnest(%(numbers)s::int[], %(fences)s::int[]) AS mine (number, attempt_no)
WHERE s.run_id = %(run)s AND s.phase = %(phase)s AND s.number = mine.number
  AND s.attempt_no = mine.attempt_no AND s.status = 'leased'
RETURNING s.number
"""

_END = """
UPDATE runs_shard SET status = %(to)s, lease_until = NULL
WHERE run_id = %(run)s AND phase = %(phase)s AND number = %(number)s AND attempt_no = %(fence)s AND status = 'leased'
"""

_SHARE = """
SELECT count(DISTINCT lease_owner) FROM runs_shard
WHERE run_id = %(run)s AND phase = %(phase)s AND status = 'leased' AND lease_until >= clock_timestamp()
"""


class Leases:
    """The leases that one worker holds on one phase of one run."""

    def __init__(self, connection: Connection, run: str, phase: str, owner: str, seconds: float) -> None:
        self._connection = connection
        self._base = {"run": run, "phase": phase}
        self._owner = owner
        self._seconds = seconds
        self.held: dict[int, Lease] = {}
        self._asked = 0.0  # when we last asked for, or prolonged, all that we hold

    @property
    def stale(self) -> bool:
        """True where we stood still for so long that others may have what we hold: start nothing before a renewal."""
        return bool(self.held) and time.monotonic() - self._asked > self._seconds

    async def claim(self, most: int, last: int | None = None) -> list[Lease]:
        """Up to ``most`` free shards, in order; with ``last`` none after the one of that number."""
        if not self.held:
            self._asked = time.monotonic()
        rows = await self._connection.execute(
            _CLAIM, {**self._base, "most": most, "owner": self._owner, "seconds": self._seconds, "last": last}
        )
        taken = sorted((Lease(*row) for row in await rows.fetchall()), key=lambda lease: lease.number)
        self.held.update((lease.number, lease) for lease in taken)
        return taken

    async def renew(self) -> list[Lease]:
        """Prolong all that we hold; returns those that are no longer ours (and forgets them)."""
        asked = dict(self.held)  # what is claimed or finished while we wait is none of this round's business
        if not asked:
            return []
        began = time.monotonic()
        rows = await self._connection.execute(
            _RENEW,
            {
                **self._base,
                "seconds": self._seconds,
                "numbers": list(asked),
                "fences": [lease.attempt_no for lease in asked.values()],
            },
        )
        kept = {row[0] for row in await rows.fetchall()}
        self._asked = began
        gone = [lease for number, lease in asked.items() if number not in kept and self.held.get(number) is lease]
        for lease in gone:
            del self.held[lease.number]
        return gone

    async def finish(self, number: int) -> bool:
        """Mark a shard done. False where the lease was lost."""
        return await self._end(number, "done")

    async def release(self) -> None:
        """Hand back what is not done, e.g. when this worker is told to stop."""
        for number in list(self.held):
            await self._end(number, "pending")

    async def _end(self, number: int, to: str) -> bool:
        lease = self.held.pop(number)
        done = await self._connection.execute(
            _END, {**self._base, "number": number, "fence": lease.attempt_no, "to": to}
        )
        return done.rowcount == 1

    async def sharers(self) -> int:
        """How many workers hold leases on this phase now (at least 1): they share the run's concurrency."""
        row = await (await self._connection.execute(_SHARE, self._base)).fetchone()
        return max(1, row[0] if row else 1)
