"""A phase that one worker does alone: claim, keep the lease, store what was found under its fence."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import sql

from kernel import strict_json
from runs import halting
from runs.context import CeilingReached, Context, LeaseLost, PhaseError
from runs.driver.base import Asks
from runs.models import Run

BEATS = 4  # per lease
MOST_TRIES = 8  # of a phase that ends without a word: a worker that is killed, or breaks

_STORE = """
UPDATE runs_run SET {columns} WHERE id = {run} AND EXISTS (
    SELECT 1 FROM runs_shard
    WHERE run_id = {run} AND phase = {phase} AND number = 0 AND attempt_no = {fence} AND status = 'leased' FOR SHARE
)
"""


@dataclass(frozen=True)
class Done:
    """What a phase found (kept as ``findings[phase]``) and the run's columns that it settles."""

    doc: dict[str, Any]
    columns: Mapping[str, Any] = field(default_factory=dict)


class Solo:
    """``do`` is the phase's work. It may be called again after a crash and must then come to the same."""

    def shards(self, run: Run) -> Sequence[tuple[int, int]]:
        return [(0, 0)]

    async def do(self, context: Context) -> Done:
        """Raises PhaseError, Asks, LeaseLost."""
        raise NotImplementedError

    async def work(self, context: Context) -> None:
        for lease in await context.leases.claim(1):
            if lease.attempt_no > MOST_TRIES:
                raise PhaseError(
                    "phase_failed",
                    f"The {context.phase} phase ended {MOST_TRIES} times without a word: each worker that began it was "
                    "lost or broke.",
                    "The workers' logs tell what broke them, `manage.py doctor` what is missing. Then launch anew.",
                )
            working = asyncio.create_task(self.do(context))
            try:
                if not await _beating(context, working):
                    return
                await store(context, lease.attempt_no, working.result())
                await context.leases.finish(lease.number)
            except Asks:
                await context.leases.release()  # whoever comes after the answer begins anew
                raise
            except CeilingReached as ceiling:
                await context.orm(halting.request_halt, context.run.id, f"limit_exceeded:{ceiling}")
                await context.leases.release()


async def _beating(context: Context, working: "asyncio.Task[Done]") -> bool:
    """Keep the lease while the work goes on. False where it was broken off, since the run halts or this worker stops.

    Raises LeaseLost, and what the work raises.
    """
    begun = time.monotonic()
    try:
        while not working.done():
            await asyncio.wait([working], timeout=context.lease_seconds / BEATS)
            if breach := context.ceilings.breach("phase", {"duration": time.monotonic() - begun}, context.phase):
                raise CeilingReached(breach)
            if context.stopping.is_set() or context.halting.is_set():
                await context.leases.release()
                return False
            if await context.leases.renew():
                raise LeaseLost(f"{context.phase} was taken over")
        working.result()
        return True
    finally:
        working.cancel()
        await asyncio.wait([working])


async def store(context: Context, fence: int, done: Done) -> None:
    """Write it if the shard is still ours. LeaseLost otherwise."""
    found = sql.Literal(strict_json.dumps({context.phase: done.doc}).decode())
    columns = [sql.SQL("findings = findings || {}::jsonb").format(found)]
    columns += [
        sql.SQL("{} = {}").format(sql.Identifier(name), sql.Literal(_plain(value)))
        for name, value in done.columns.items()
    ]
    query = sql.SQL(_STORE).format(
        columns=sql.SQL(", ").join(columns),
        run=sql.Literal(str(context.run.id)),
        phase=sql.Literal(context.phase),
        fence=sql.Literal(fence),
    )
    written = await context.control.execute(query)
    if written.rowcount != 1:
        raise LeaseLost(f"{context.phase} was taken over")


def _plain(value: Any) -> Any:
    return strict_json.dumps(value).decode() if isinstance(value, dict) else value
