"""The sweeper: re-wakes what is due, whatever became of its message. Several may run at once without harm."""

import logging

from django.conf import settings
from django.db import connection, transaction

from kernel.jobs import enqueue
from runs import destroying, editing, finishing, halting, tidying
from runs.models import Run
from runs.reporting import storing

log = logging.getLogger(__name__)

# Due: nobody holds a live lease on it, and it was not rung lately. The ringing itself is a conditional update, so two
# sweepers ring once. Where several shards wait, several messages go out: one alone may be taken by a worker that is at
# work on the run already.
MOST_MESSAGES = 8
_FREE = """
SELECT 1 FROM runs_shard s WHERE s.run_id = r.id
  AND (s.status = 'pending' OR (s.status = 'leased' AND s.lease_until < clock_timestamp()))
"""
_DUE = f"""
UPDATE runs_run r SET woken_at = clock_timestamp()
WHERE r.status IN ('queued', 'running')
  AND coalesce(r.woken_at, r.created_at) < clock_timestamp() - make_interval(secs => %s)
  AND (r.halt_requested IS NOT NULL OR EXISTS ({_FREE})
    OR NOT EXISTS (SELECT 1 FROM runs_shard s WHERE s.run_id = r.id AND s.status <> 'done'))
RETURNING r.id, (SELECT count(*) FROM ({_FREE} LIMIT %s) free)
"""  # noqa: S608 (constants only)

_OVERDUE = """
SELECT id FROM runs_run
WHERE status = 'running' AND halt_requested IS NULL
  AND extract(epoch FROM clock_timestamp() - started_at) > (limits->'run'->>'duration')::float8
"""

# To be halted, with nobody at work who would see it: every worker may be dead.
_UNHEARD = """
SELECT r.id FROM runs_run r
WHERE r.status IN ('queued', 'running', 'needs_input') AND r.halt_requested IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM runs_shard s WHERE s.run_id = r.id AND s.status = 'leased' AND s.lease_until >= clock_timestamp())
"""

# Of accounts that were disabled: nobody is left to stop them.
_LEFT_ALONE = """
SELECT r.id FROM runs_run r JOIN accounts_user u ON u.id = r.owner_id
WHERE r.status IN ('queued', 'running', 'needs_input') AND r.halt_requested IS NULL AND NOT u.is_active
"""


def _halt_unheard() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_UNHEARD)
        unheard = [row[0] for row in cursor.fetchall()]
    for run in Run.objects.select_related("impl", "subset").filter(id__in=unheard):
        finishing.halt(run)


def sweep() -> int:
    """Wake each run that is due; returns how many."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_DUE, [settings.SWEEP_SECONDS, MOST_MESSAGES])
        due = [(str(run_id), free) for run_id, free in cursor.fetchall()]
        for run_id, free in due:
            for _ in range(max(1, free)):
                enqueue("runs.advance", run_id)
    with connection.cursor() as cursor:
        cursor.execute(_OVERDUE)
        overdue = [row[0] for row in cursor.fetchall()]
        cursor.execute(_LEFT_ALONE)
        alone = [row[0] for row in cursor.fetchall()]
    for run_id in overdue:
        halting.request_halt(run_id, "limit_exceeded:run.duration")
    for run_id in alone:
        halting.request_halt(run_id, "user")
    _halt_unheard()
    finishing.settle_late()
    editing.hide_found()
    storing.catch_up()
    destroying.purge_due()
    tidying.now_and_then()
    return len(due) + len(overdue) + len(alone)
