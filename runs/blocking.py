"""Hosts that a run did not reach: counted, and told in the run's events, once for each host."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from runs import events, states
from runs.models import Run
from secrets_vault.host_policy import blocked
from secrets_vault.host_policy.blocked import Blocked


def note_blocked(run_id: UUID | str, met: Sequence[Blocked]) -> list[Blocked]:
    """Count what the run met, and tell ``HostBlocked`` of each host that is new to it. Those hosts.

    A run that has ended is counted but tells nothing more; one that was destroyed isn't counted either. Nobody is
    woken: whoever calls this rings the doorbell, after the commit.
    """
    with transaction.atomic():
        # The row's lock comes first, as for everything that ends in an event.
        run = Run.objects.select_for_update(no_key=True).filter(id=run_id, destroyed_at=None)
        facts = run.values_list("owner_id", "status").first()
        if facts is None or not met:
            return []
        owner, status = facts
        new = blocked.record(owner, str(run_id), met)
        if new and status in states.ACTIVE:
            events.append(run_id, [("HostBlocked", _told(each)) for each in new])
    return new


def _told(each: Blocked) -> dict[str, Any]:
    return {
        "host": each.host,
        "reason": each.reason,
        "attempts": each.attempts,
        "message": blocked.sentence(each.host, each.reason),
    }
