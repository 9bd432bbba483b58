"""How many runs one account may have under way at a time."""

from django.conf import settings
from django.db import connection

from accounts.models import User
from kernel.errors import DomainError
from runs import states
from runs.models import Run

# Counting is not atomic by itself: this close to the cap the account's launches go one after another.
_NEAR = 64


def admit(account: User) -> None:
    """In the transaction that writes the run. Raises DomainError ``too_many_runs`` where the account has no room."""
    cap = settings.MAX_ACTIVE_RUNS
    if cap == 0:
        return
    going = _going(account)
    if going >= cap - _NEAR and going < cap:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('runs.crowding', %s))", [account.pk])
        going = _going(account)
    if going >= cap:
        raise DomainError(
            "too_many_runs",
            f"{going:,} runs of this account are queued or running; {cap:,} may be. Wait until some have ended, or "
            "halt some, then launch again.",
            headers={"Retry-After": "10"},
            limit=cap,
        )


def _going(account: User) -> int:
    return Run.objects.filter(owner=account, status__in=states.ACTIVE, destroyed_at=None).count()
