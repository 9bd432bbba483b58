"""What may change after launch, and the wish to stop."""

from typing import Any

from django.db import transaction
from django.db.models import F

from accounts.principal import Principal
from kernel import secret_signs
from runs import halting, publishing, queries, states
from runs.models import Run


def edit(run: Run, changes: dict[str, Any]) -> None:
    """Set visibility and metadata; the revision counts the edits."""
    if changes:
        if changes.get("visibility") == "public" and run.status not in states.TERMINAL:
            changes = {
                **changes,
                "scan_state": publishing.LATER,
            }  # it was looked through so far, and will be at its end
        with transaction.atomic():
            Run.objects.filter(id=run.id).update(**changes, revision=F("revision") + 1)
            publishing.follow(run)
        run.refresh_from_db()


def halt(principal: Principal, run_id: str, note: str = "") -> Run:
    """Stop a run; asking twice, or after its end, changes nothing. Raises not_found, gone."""
    run = queries.run(principal, run_id, write=True)
    secret_signs.refuse(note, "body", "reason")
    halting.request_halt(run.id, "user", note)
    return queries.run(principal, run_id, write=True)


def hide_found() -> int:
    """Hide the public runs in which something was found. Called by the sweeper; returns how many."""
    public = list(Run.objects.filter(scan_state=publishing.FOUND, visibility="public", destroyed_at=None)[:50])
    for run in public:
        edit(run, {"visibility": "private"})
    return len(public)
