"""The first cells run before the others: they are ordinary cells, and what they cost and take is told.

Which they are follows from the run's plan, what they tell from their stored results: a worker that takes over comes to
the same. The estimate is stored once, under the fence of the shard that holds them.
"""

import asyncio
from collections.abc import Collection, Iterable
from typing import Any

from kernel import strict_json
from kernel.faults import fault
from runs.context import Context
from runs.forking.reuse import rescores
from runs.harnesses.benchwright.cells import Cell
from runs.harnesses.benchwright.probing import measuring
from runs.harnesses.benchwright.probing.duration import Took
from runs.harnesses.benchwright.probing.measuring import Seen, SoFar
from runs.leases import Lease
from runs.models import Run

PROBES = 5  # tasks, in their first trial
ENOUGH = 3  # of them end, and the others have had PATIENCE more: then nobody waits for a straggler
PATIENCE = 20.0  # seconds
SHARD = 0  # where they are

_WANTED = """
SELECT NOT r.findings ? 'materialize' AND EXISTS (
    SELECT 1 FROM runs_shard s WHERE s.run_id = r.id AND s.phase = %s AND s.number = %s AND s.status <> 'done')
FROM runs_run r WHERE r.id = %s
"""
_SEEN = """
SELECT CASE WHEN unpriced = 0 THEN cost END, tokens_in + tokens_out, duration_ms / 1000.0::float8,
       extract(epoch FROM created_at)::float8
FROM runs_taskresult
WHERE run_id = %s AND ordinal = ANY(%s) AND live AND attempt > 0 AND outcome IN ('passed', 'failed', 'unscored')
ORDER BY ordinal
"""
# What driver and judge cost stands in one sum; the phases know the driver's part.
_SO_FAR = """
SELECT r.cost_model + r.cost_driver, r.cost_model,
       greatest(0, r.cost_driver - (SELECT coalesce(sum(cost), 0) FROM runs_phase WHERE run_id = r.id))::bigint,
       r.tokens_in + r.tokens_out,
       extract(epoch FROM clock_timestamp() - r.started_at)::float8,
       extract(epoch FROM clock_timestamp() - p.started_at)::float8,
       r.passed + r.failed + r.unscored + r.errored + r.skipped, r.planned
FROM runs_run r JOIN runs_phase p ON p.run_id = r.id AND p.name = %s WHERE r.id = %s
"""
_STORE = """
WITH fence AS MATERIALIZED (
    SELECT 1 FROM runs_shard
    WHERE run_id = %(run)s AND phase = %(phase)s AND number = %(shard)s AND attempt_no = %(fence)s
      AND status = 'leased' FOR SHARE
), kept AS (
    UPDATE runs_run SET findings = findings || %(found)s::jsonb, last_seq = last_seq + %(count)s
    WHERE id = %(run)s AND NOT findings ? 'materialize' AND EXISTS (SELECT 1 FROM fence)
    RETURNING last_seq
), told AS (
    INSERT INTO runs_runevent (run_id, seq, type, data)
    SELECT %(run)s, kept.last_seq - %(count)s + item.ord, item.type, item.data::jsonb
    FROM kept, unnest(%(types)s::text[], %(data)s::text[]) WITH ORDINALITY AS item (type, data, ord)
)
SELECT EXISTS (SELECT 1 FROM fence)
"""


def come_first(run: Run) -> bool:
    """Whether the run's first cells are probes: its scorer was authored for it, and it asks a model."""
    return "atomize" in run.plan and not rescores(run)


class Probes:
    """One worker's part in it. While probes are wanted only their shard may be claimed, and its other cells wait."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._wanted = come_first(context.run)
        self._lease: Lease | None = None
        self._all: list[int] = []
        self._left: set[int] = set()
        self._held: list[Cell] = []
        self._since: float | None = None  # when enough had ended
        self._measuring = False
        self._turn = asyncio.Lock()

    @property
    def on(self) -> bool:
        """Whether this worker runs them now."""
        return self._lease is not None

    async def wanted(self) -> bool:
        """Whether the run's first cells still have to tell. What the database says goes before what we know."""
        if self._wanted:
            context = self._context
            place = context.phase, SHARD, str(context.run.id)
            row = await (await context.control.execute(_WANTED, place)).fetchone()
            self._wanted = bool(row and row[0])
        return self._wanted

    def begin(self, lease: Lease, done: Collection[int]) -> None:
        """A shard was claimed. ``done``: its cells with a result."""
        if not self._wanted or lease.number != SHARD:
            return
        trials = self._context.run.trials
        self._all = [(lease.start + index) * trials for index in range(min(PROBES, lease.stop - lease.start))]
        self._left = set(self._all) - set(done)
        self._lease = lease

    def holds(self, cell: Cell) -> bool:
        """True where the cell waits for the probes; ``measure`` gives it back."""
        if self._lease is None or cell.ordinal in self._left:
            return False
        self._held.append(cell)
        return True

    def ended(self, ordinals: Iterable[int]) -> None:
        """These cells have stored results."""
        self._left.difference_update(ordinals)

    def due(self, now: float) -> bool:
        """Whether it is time to measure. True once."""
        if self._lease is None or self._measuring:
            return False
        if self._left:
            if len(self._all) - len(self._left) < ENOUGH:
                return False
            self._since = now if self._since is None else self._since
            if now < self._since + PATIENCE:
                return False
        self._measuring = True
        return True

    async def measure(self) -> list[Cell]:
        """Store what the probes tell, and give back the cells that waited for it: none where the lease was lost."""
        async with self._turn:
            if self._lease is None:
                return []
            fault("Q1")
            mine = await self._store(self._lease)
            fault("Q2")
            held, self._held = self._held, []
            self._lease, self._wanted = None, not mine
            return held if mine else []

    async def _store(self, lease: Lease) -> bool:
        """False where the shard is no longer ours. What is stored already stays as it is."""
        context, run = self._context, str(self._context.run.id)
        rows = await (await context.control.execute(_SEEN, (run, self._all))).fetchall()
        spent = await (await context.control.execute(_SO_FAR, (context.phase, run))).fetchone()
        if spent is None:
            return False
        told = findings([Seen(*row) for row in rows], SoFar(*spent), len(self._all), len(self._left), context)
        events = _events(told, SoFar(*spent), context.phase)
        cursor = await context.control.execute(
            _STORE,
            {
                "run": run,
                "phase": context.phase,
                "shard": lease.number,
                "fence": lease.attempt_no,
                "found": strict_json.dumps({"materialize": told}).decode(),
                "count": len(events),
                "types": [kind for kind, _ in events],
                "data": [strict_json.dumps(data).decode() for _, data in events],
            },
        )
        row = await cursor.fetchone()
        context.bell.ring(run)
        return bool(row and row[0])


def findings(seen: list[Seen], so_far: SoFar, asked: int, slow: int, context: Context) -> dict[str, Any]:
    """``findings.materialize``: the measured estimate (None where no probe came to an answer) and what it exceeds.

    ``slow``: how many of the probes that were asked still go on.
    """
    probes = {"asked": asked, "measured": len(seen)}
    if not seen:
        return {"probes": probes, "estimate": None, "exceeds": []}
    # They began with the others, and enough of the others had ended PATIENCE ago.
    last = max(seen, key=lambda cell: cell.seconds)
    straggler = Took(last.seconds + PATIENCE, last.ended + PATIENCE)
    whole = measuring.whole(seen, so_far, context.run.concurrency, [straggler] * slow)
    return {
        "probes": probes,
        "estimate": measuring.estimate(whole, len(seen), so_far),
        "exceeds": measuring.exceeds(whole, context.ceilings, context.phase),
    }


def _events(told: dict[str, Any], so_far: SoFar, phase: str) -> list[tuple[str, dict[str, Any]]]:
    """Progress with the estimate, and a warning for each ceiling."""
    progress = {"phase": phase, "done": so_far.ended, "total": so_far.planned, "in_flight": None, "waiting": None,
                "rate_per_s": None, "eta_s": None, "estimate": told["estimate"]}  # fmt: skip
    warned = [("LimitWarning", {"limit": each["limit"], "message": each["words"]}) for each in told["exceeds"]]
    return [("PhaseProgress", progress), *warned]
