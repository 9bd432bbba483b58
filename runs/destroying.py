"""Destroying a run for good. A row stays that says so; the results go once nobody works on the run any more."""

from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from accounts.principal import Principal
from runs import halting, publishing, queries, states
from runs.artifacts import records
from runs.models import ModelCall, Output, Run, RunEvent, Shard, TaskResult
from secrets_vault import leases
from secrets_vault.host_policy import blocked

_REMOVED = (TaskResult, Output, ModelCall, RunEvent, Shard)
_BATCH = 50_000


def destroy(principal: Principal, run_id: str) -> None:
    """Destroy a run for good: a running one is stopped first. What stays is a row that says so.

    Its results go at once where it has ended, else as soon as the worker has let go. Raises not_found, gone.
    """
    run = queries.run(principal, run_id, write=True)
    with transaction.atomic():
        Run.objects.filter(id=run.id).update(
            destroyed_at=Now(),
            visibility="private",
            metadata={},
            hints=[],
            request="",
            description="",
            revision=F("revision") + 1,
        )
        publishing.follow(run)
        halting.request_halt(run.id, "user")
    purge_due(run)


def purge_due(only: Run | None = None) -> int:
    """Remove what destroyed runs left, where they have ended. Returns how many rows went.

    Called by the sweeper; each call removes a bounded number of rows, so that no transaction grows long.
    """
    due = Run.objects.filter(status__in=states.TERMINAL).exclude(destroyed_at=None).exclude(last_seq=0)
    if only is not None:
        due = due.filter(id=only.id)
    return sum(_purge(run) for run in due[:20])


def _purge(run: Run) -> int:
    """One bounded step; the row is marked as emptied once nothing is left."""
    counts = []
    for model in _REMOVED:
        rows: QuerySet[Any] = model._default_manager.filter(run=run)
        counts.append(rows.model._default_manager.filter(pk__in=rows.values("pk")[:_BATCH]).delete()[0])
    counts.append(records.remove_all(run))
    if max(counts) < _BATCH:
        leases.release(str(run.id))
        blocked.forget(str(run.id))
        Run.objects.filter(id=run.id).update(last_seq=0, summary=None, error=None)
    return sum(counts)
