"""The only writer of Run.status: a conditional UPDATE with its events in the same transaction."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from runs import events
from runs.models import Run

ACTIVE = ("queued", "running", "needs_input")
TERMINAL = ("ok", "failed", "halted")
_FROM = {
    "running": ("queued", "needs_input"),
    "needs_input": ("running",),
    "ok": ("running",),
    "failed": ACTIVE,
    "halted": ACTIVE,
}


def move(
    run_id: UUID | str,
    to: str,
    *,
    events_after: Sequence[tuple[str, Mapping[str, Any]]] = (),
    **fields: Any,
) -> bool:
    """Move a run to ``to`` and set ``fields`` with it, if it is where that move may begin.

    Returns False, and changes nothing, where it is not (somebody else was first).
    """
    with transaction.atomic():
        moved = Run.objects.filter(id=run_id, status__in=_FROM[to]).update(status=to, **fields)
        if not moved:
            return False
        if events_after:
            events.append(run_id, events_after)
    return True
