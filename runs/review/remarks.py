"""Saying something to a flag: the run's owner comments; the benchmark's owner or staff settle it for the board."""

from typing import Any

from django.db import transaction
from django.db.models import F

from accounts.principal import Principal
from kernel import secret_signs
from kernel.errors import DomainError, invalid
from runs import queries
from runs.models import ReviewFlag, ReviewRemark, Run

SETTLEMENTS = ("accepted", "rejected")
MOST = 200  # remarks on a flag


def may_settle(run: Run, principal: Principal) -> bool:
    """The benchmark's owner, and staff."""
    account = principal.account
    return account.is_staff or (run.benchmark is not None and run.benchmark.owner_id == account.pk)


def run_for(principal: Principal, run_id: str) -> Run:
    """The run whose flags this account may speak to: its own, and a public one that it may settle.

    Raises not_found, gone.
    """
    found = queries.run(principal, run_id)
    if found.owner_id != principal.account.pk and not may_settle(found, principal):
        return queries.run(principal, run_id, write=True)  # says that there is none
    return found


def add(principal: Principal, run: Run, said: dict[str, Any]) -> None:
    """Add a remark; nothing is ever changed or taken away.

    ``said``: {"code", "note", "settlement"?}. Raises validation_failed: no such flag, nothing said, a settlement by
    somebody who may only comment; secret_in_payload.
    """
    note, settlement = str(said.get("note") or "").strip(), said.get("settlement") or ""
    secret_signs.refuse(note, "body", "review_resolution", "note")
    if settlement and not may_settle(run, principal):
        raise _refused("settlement", "Only the owner of the benchmark, or staff, settle a flag. You can comment on it.")
    if not note and not settlement:
        raise _refused("note", "Say something: a note, or a settlement.")
    with transaction.atomic():
        flag = ReviewFlag.objects.select_for_update().filter(run=run, code=said["code"]).first()
        if flag is None:
            known = ", ".join(ReviewFlag.objects.filter(run=run).values_list("code", flat=True)) or "none"
            raise _refused("code", f"Run {run.id} has no flag {said['code']!r}. Its flags: {known}.")
        if flag.remarks.count() >= MOST:
            raise _refused("note", f"This flag has {MOST} remarks, which is the most.")
        ReviewRemark.objects.create(flag=flag, author=principal.account, settlement=settlement, note=note)
        Run.objects.filter(id=run.id).update(revision=F("revision") + 1)


def _refused(field: str, msg: str) -> DomainError:
    return invalid(["body", "review_resolution", field], msg)
