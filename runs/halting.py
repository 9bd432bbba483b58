"""Stopping a run. The flag is set here; whoever works on the run sees it, and the pipeline ends it."""

from uuid import UUID

from django.db import transaction

from kernel.faults import fault
from kernel.jobs import enqueue
from runs import states
from runs.models import Run


def request_halt(run_id: UUID | str, reason: str, note: str = "") -> bool:
    """Ask for a halt with ``halt_reason`` = reason and a person's own words. The first to ask is kept.

    False where the run has already ended.
    """
    with transaction.atomic():
        asked = Run.objects.filter(id=run_id, status__in=states.ACTIVE, halt_requested=None).update(
            halt_requested=reason, halt_note=note
        )
        enqueue("runs.advance", str(run_id))
    fault("H1")
    return bool(asked) or Run.objects.filter(id=run_id, status__in=states.ACTIVE).exists()
