"""How a run ends: completed, halted or failed. Every planned cell has an outcome before the state moves."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from kernel import ids, money, strict_json
from kernel.faults import fault
from kernel.secret_signs import redact
from runs import events, limits, publishing, queries, states
from runs.artifacts import records
from runs.models import Phase, Run, Shard

# Shards first, then the run's row: the same order as the hot statement, so that the two never wait for each other.
_FENCE = "UPDATE runs_shard SET status = 'done', attempt_no = attempt_no + 1 WHERE run_id = %s AND status <> 'done'"

_LEFT = """
SELECT o.ordinal, t.position, t.task_id, o.ordinal %% %(trials)s
FROM generate_series(0, %(planned)s - 1) AS o (ordinal)
JOIN registry_task t ON t.subset_id = %(subset)s
 AND t.position = coalesce((%(positions)s::int[])[o.ordinal / %(trials)s + 1], o.ordinal / %(trials)s)
LEFT JOIN runs_taskresult r ON r.run_id = %(run)s AND r.ordinal = o.ordinal AND r.live
WHERE r.id IS NULL ORDER BY 1
"""

_FILL = """
WITH filled AS (
    INSERT INTO runs_taskresult (id, run_id, ordinal, position, task_id, kind, trial, attempt, version, live, outcome,
        error_class, error_message, output_preview, duration_ms, model_ms, tokens_in, tokens_out, cost, calls, reused)
    SELECT u.id, %(run)s, u.ordinal, u.position, u.task_id, '', u.trial, 0, 1, true, %(outcome)s,
        %(error_class)s, %(message)s, '', 0, 0, 0, 0, 0, 0, false
    FROM unnest(%(ids)s::text[], %(ordinals)s::int[], %(positions)s::int[], %(task_ids)s::text[], %(trials)s::int[])
      AS u (id, ordinal, position, task_id, trial)
    ON CONFLICT DO NOTHING RETURNING 1
)
UPDATE runs_run SET skipped = skipped + CASE WHEN %(outcome)s = 'skipped' THEN (SELECT count(*) FROM filled) ELSE 0 END,
                    errored = errored + CASE WHEN %(outcome)s = 'errored' THEN (SELECT count(*) FROM filled) ELSE 0 END
WHERE id = %(run)s
"""

# That a cell was handed to solve stands in an event: it tells what was under way from what had not begun.
_BEGUN = """
UPDATE runs_taskresult r SET attempt = begun.times
FROM (
    SELECT (data->>'ordinal')::int AS ordinal, count(*) AS times FROM runs_runevent
    WHERE run_id = %(run)s AND type = 'MaterializeTaskStarted' GROUP BY 1
) AS begun
WHERE r.run_id = %(run)s AND r.live AND r.attempt = 0 AND r.ordinal = begun.ordinal
"""

_SETTLE = """
UPDATE runs_run SET
    cost_model = greatest(cost_model, journal.cost), cost_driver = greatest(cost_driver, journal.beside),
    unpriced_calls = journal.unpriced, unpriced_beside = journal.unpriced_beside,
    estimated_calls = journal.estimated, served = journal.served,
    tokens_in = greatest(runs_run.tokens_in, journal.tokens_in),
    tokens_out = greatest(runs_run.tokens_out, journal.tokens_out)
FROM (
    SELECT coalesce(sum(cost), 0)::bigint AS cost, coalesce(sum(unpriced), 0)::int AS unpriced,
           coalesce(sum(beside), 0)::bigint AS beside,
           coalesce(sum(unpriced_beside), 0)::int AS unpriced_beside,
           coalesce(sum(estimated), 0)::int AS estimated,
           coalesce(sum(tokens_in), 0)::bigint AS tokens_in, coalesce(sum(tokens_out), 0)::bigint AS tokens_out,
           coalesce(jsonb_object_agg(name, calls) FILTER (WHERE name IS NOT NULL), '{}') AS served
    FROM (
        SELECT sum(cost) FILTER (WHERE ordinal >= 0) AS cost, sum(cost) FILTER (WHERE ordinal < 0) AS beside,
               count(*) FILTER (WHERE cost IS NULL AND status = 'settled' AND ordinal >= 0) AS unpriced,
               count(*) FILTER (WHERE cost IS NULL AND status = 'settled' AND ordinal < 0) AS unpriced_beside,
               CASE WHEN ordinal >= 0 THEN model_served || coalesce(' via ' || upstream, '') END AS name,
               count(*) AS calls,
               count(*) FILTER (WHERE usage_estimated AND status = 'settled' AND ordinal >= 0) AS estimated,
               sum(tokens_in) FILTER (WHERE ordinal >= 0) AS tokens_in,
               sum(tokens_out) FILTER (WHERE ordinal >= 0) AS tokens_out
        FROM runs_modelcall WHERE run_id = %s GROUP BY 5
    ) AS by_name
) AS journal WHERE id = %s
"""


def settle(run_id: UUID | str) -> None:
    """Take cost, tokens and served models from the journal: it holds every call, also of workers that were lost."""
    with connection.cursor() as cursor:
        cursor.execute(_SETTLE, [str(run_id), str(run_id)])


_LATE = """
SELECT r.id FROM runs_run r
WHERE r.finished_at > clock_timestamp() - interval '15 minutes' AND r.destroyed_at IS NULL
  AND EXISTS (
    SELECT 1 FROM runs_modelcall c WHERE c.run_id = r.id
    HAVING coalesce(sum(c.cost) FILTER (WHERE c.ordinal >= 0), 0) > r.cost_model
        OR coalesce(sum(c.tokens_in) FILTER (WHERE c.ordinal >= 0), 0) > r.tokens_in
        OR coalesce(sum(c.tokens_out) FILTER (WHERE c.ordinal >= 0), 0) > r.tokens_out
        OR count(*) FILTER (WHERE c.status IN ('sent', 'unknown')) < (r.summary->>'unknown_calls')::int)
"""


def settle_late() -> int:
    """Calls that were under way when their run was cut short end later, and are paid: count them too."""
    with connection.cursor() as cursor:
        cursor.execute(_LATE)
        late = [row[0] for row in cursor.fetchall()]
    for run_id in late:
        settle(run_id)
        run = Run.objects.get(id=run_id)
        if run.summary is not None:
            unpriced = run.unpriced_calls
            spent = {
                "cost": money.known(run.cost_model, unpriced),
                "unpriced": unpriced > 0,
                "unpriced_calls": unpriced,
                "estimated_calls": run.estimated_calls,
                "unknown_calls": queries.unknown_calls([run.id], over=True),
                "tokens": {"in": run.tokens_in, "out": run.tokens_out, "total": run.tokens_in + run.tokens_out},
            }
            Run.objects.filter(id=run_id).update(summary={**run.summary, **spent})
            keep_summary(run_id, {**run.summary, **spent})
    return len(late)


def keep_summary(run_id: UUID, summary: dict[str, Any]) -> None:
    """The same as an artifact, to be taken away with the others."""
    records.put(run_id, "summary", "summary.json", strict_json.dumps(summary))


def _end_cells(run: Run, outcome: str, error_class: str, message: str) -> None:
    """Shut out whoever still works on the run, then give each cell without a result this one."""
    with connection.cursor() as cursor:
        cursor.execute(_FENCE, [str(run.id)])
        cursor.execute(
            _LEFT,
            {
                "run": str(run.id),
                "trials": run.trials,
                "planned": run.planned,
                "subset": run.subset_id,
                "positions": run.task_positions,
            },
        )
        left = cursor.fetchall()
        if left:
            cursor.execute(
                _FILL,
                {
                    "run": str(run.id),
                    "outcome": outcome,
                    "error_class": error_class,
                    "message": message,
                    "ids": [ids.prefixed_ulid("tsk") for _ in left],
                    "ordinals": [row[0] for row in left],
                    "positions": [row[1] for row in left],
                    "task_ids": [row[2] for row in left],
                    "trials": [row[3] for row in left],
                },
            )
            cursor.execute(_BEGUN, {"run": str(run.id)})
    settle(run.id)


def _close_phases(run: Run, status: str) -> None:
    Phase.objects.filter(run=run, status="running").update(status=status, finished_at=_now())


def _now() -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]


def complete(run: Run) -> None:
    """All phases are done. A run in which nothing could be scored has failed; it says why."""
    fault("F1")
    summary = queries.live_summary(Run.objects.get(id=run.id), over=True)
    if run.planned and not (summary["passed"] or summary["failed"] or summary["unscored"]):
        return _nothing_scored(run, summary)
    keep_summary(run.id, summary)
    with transaction.atomic():
        states.move(
            run.id, "ok", events_after=[("RunCompleted", {"summary": summary})], summary=summary, finished_at=_now()
        )
        _follow(run)
    fault("F2")


def _nothing_scored(run: Run, summary: dict[str, Any]) -> None:
    worst = run.results.filter(live=True).order_by("ordinal").first()
    error = {
        "phase": "materialize",
        "code": worst.error_class if worst else "provider_error",
        "message": f"No task could be scored. The first one says: {worst.error_message if worst else ''}"[:1000],
        "hint": "Mend the cause, then replay this run with replay.only_errored.",
    }
    keep_summary(run.id, summary)
    with transaction.atomic():
        states.move(
            run.id, "failed", events_after=[("RunFailed", {"error": error})], error=error, summary=summary,
            finished_at=_now(),
        )  # fmt: skip
        _follow(run)
    fault("F2")


def halt(run: Run) -> None:
    """The run was asked to stop: what has a result keeps it, the rest is skipped."""
    reason = run.halt_requested or "user"
    kind = "halted" if reason == "user" else "budget"
    with transaction.atomic():
        _end_cells(run, "skipped", kind, f"The run was halted before this task ended: {reason}")
        _close_phases(run, "halted")
        summary = queries.live_summary(Run.objects.get(id=run.id), over=True)
        keep_summary(run.id, summary)
        fault("F1")
        states.move(
            run.id,
            "halted",
            events_after=[("RunHalted", {"halt_reason": reason})],
            halt_reason=reason,
            halt_note=run.halt_note or limits.note(reason, run.limits, run.sut),
            summary=summary,
            finished_at=_now(),
        )
        _follow(run)
    fault("F2")


def fail(
    run: Run, phase: str, code: str, message: str, hint: str, choices: Sequence[Mapping[str, Any]] = (),
    model: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """A phase can't go on. Cells without a result are errored where a key is missing, else skipped.

    ``choices``: what the phase would have let its owner choose from: [{"id", "name", "reason", …}]. ``model``: the one
    that was asked for, where the run could not be given it.
    """
    message = redact(message)
    error: dict[str, Any] = {"phase": phase, "code": code, "message": message, "hint": hint}
    if choices:
        error["choices"] = [{name: str(one.get(name) or "") for name in ("id", "name", "reason")} for one in choices]
    if model:
        error["model"] = dict(model)
    told = events.told_error(error, mine=False)  # whoever may see the run sees its events
    with transaction.atomic():
        missing = code in {"missing_secret", "secret_revoked", "secret_unavailable"}
        outcome, kind = ("errored", "missing_secret") if missing else ("skipped", "halted")
        _end_cells(run, outcome, kind, str((told or {})["message"])[:2000])
        _close_phases(run, "failed")
        summary = queries.live_summary(Run.objects.get(id=run.id), over=True)
        keep_summary(run.id, summary)
        fault("F1")
        states.move(
            run.id,
            "failed",
            events_after=[("PhaseFailed", {"phase": phase, "error": told}), ("RunFailed", {"error": told})],
            error=error,
            summary=summary,
            finished_at=_now(),
        )
        _follow(run)
    fault("F2")


def _follow(run: Run) -> None:
    """The benchmark of a public run is shown with its result, and not for a run that has none."""
    if Run.objects.filter(id=run.id, visibility="public").exists():
        publishing.follow(run)


def unfinished(run: Run, phase: str) -> int:
    """Shards of a phase that are not done."""
    return Shard.objects.filter(run=run, phase=phase).exclude(status="done").count()
