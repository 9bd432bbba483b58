"""The outputs that a rescored run grades: its parent's, taken over shard by shard before they are scored.

A copy, so that the fork stands by itself when its parent is destroyed. What an output cost was paid by the parent.
"""

from typing import Any
from uuid import UUID

from kernel.faults import fault
from runs.context import Context, LeaseLost, PhaseError
from runs.hot import ResultRow
from runs.leases import Lease
from runs.models import Output, Run

# The cells of the shard whose output is graded anew; also where it was the judge that gave no answer.
# ON CONFLICT: an earlier worker has taken some over already.
_TAKE_OVER = """
WITH fence AS MATERIALIZED (
    SELECT 1 FROM runs_shard
    WHERE run_id = %(run)s AND phase = %(phase)s AND number = %(number)s AND attempt_no = %(fence)s
      AND status = 'leased' FOR SHARE
), taken AS (
    INSERT INTO runs_output (run_id, ordinal, attempt, output, fault, facts, duration_ms)
    SELECT %(run)s, o.ordinal, o.attempt, o.output, o.fault,
           o.facts || '{"cost": 0, "cost_reused": 0, "unpriced": 0}', o.duration_ms
    FROM runs_output o
    JOIN runs_taskresult r ON r.run_id = o.run_id AND r.ordinal = o.ordinal AND r.attempt = o.attempt AND r.live
    WHERE o.run_id = %(parent)s AND o.ordinal >= %(start)s AND o.ordinal < %(stop)s
      AND (r.outcome IN ('passed', 'failed', 'unscored') OR r.error_class = 'judge_error')
      AND EXISTS (SELECT 1 FROM fence)
    ON CONFLICT DO NOTHING
)
SELECT EXISTS (SELECT 1 FROM fence)
"""

# The others: what was errored or skipped stays so, and what had no output can't be graded.
_KEPT = """
SELECT r.ordinal, r.position, r.task_id, r.kind, r.trial, r.attempt, r.outcome, r.score, r.error_class,
       r.error_message, r.output_preview, r.explanation, r.metrics, r.duration_ms,
       json_build_object('model_ms', r.model_ms, 'tokens_in', r.tokens_in, 'tokens_out', r.tokens_out,
                         'calls', r.calls, 'stop_reason', r.stop_reason)
FROM runs_taskresult r
LEFT JOIN runs_output o ON o.run_id = r.run_id AND o.ordinal = r.ordinal AND o.attempt = r.attempt
WHERE r.run_id = %(parent)s AND r.live AND r.ordinal >= %(start)s AND r.ordinal < %(stop)s
  AND (o.id IS NULL OR (r.outcome IN ('errored', 'skipped') AND r.error_class IS DISTINCT FROM 'judge_error'))
"""


def missing(ordinal: int) -> PhaseError:
    """The parent has nothing left of a cell."""
    return PhaseError(
        "parent_gone",
        f"The run that this one grades anew has nothing stored for cell {ordinal}: it was destroyed meanwhile.",
        "Launch the benchmark again with the new scorer.",
    )


def rescores(run: Run) -> bool:
    """Whether the run grades stored outputs instead of asking a model."""
    return run.fork_mode == "rescore"


def any_output(run_id: UUID) -> bool:
    return Output.objects.filter(run=run_id, fault__isnull=True).exists()


async def take_over(context: Context, lease: Lease) -> dict[int, ResultRow]:
    """Copy the shard's outputs to this run; returns the results that stay as they were, by ordinal.

    May be called again after a crash. Raises LeaseLost, PhaseError (the parent is gone).
    """
    run = context.run
    asked = {
        "run": str(run.id),
        "parent": str(run.parent_id),
        "phase": context.phase,
        "number": lease.number,
        "fence": lease.attempt_no,
        "start": lease.start * run.trials,
        "stop": lease.stop * run.trials,
    }
    if run.parent_id is None:
        raise missing(lease.start * run.trials)
    held = await (await context.control.execute(_TAKE_OVER, asked)).fetchone()
    if held is None or not held[0]:
        raise LeaseLost(f"{context.phase} was taken over")
    fault("R1")
    rows = await (await context.control.execute(_KEPT, asked)).fetchall()
    return {row[0]: _as_it_was(lease.number, row) for row in rows}


def _as_it_was(shard: int, row: tuple[Any, ...]) -> ResultRow:
    made = ResultRow(shard, *row)
    made.reused = True
    return made
