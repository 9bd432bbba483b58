"""Reads of host policies and of the record of blocked hosts."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import CharField, Count, Max, Min, QuerySet, Sum, Value

from accounts.principal import Principal
from kernel.errors import DomainError
from secrets_vault.host_policy.deciding import ALLOW, BLOCK, Policy
from secrets_vault.models import BlockedHost, HostDefault, HostEntry


def policy_of(account_id: int) -> Policy:
    """The policy of an account as it is now, in one query. For our own steps: a run's judge asks again and again."""
    default = HostDefault.objects.filter(owner_id=account_id).annotate(
        host_pattern=Value("", output_field=CharField(max_length=255))
    )
    entries = HostEntry.objects.filter(owner_id=account_id).values_list("mode", "host_pattern")
    rows = set(entries.union(default.values_list("mode", "host_pattern"), all=True))
    return Policy(
        default=next((mode for mode, pattern in rows if not pattern), ALLOW),
        allow=frozenset(pattern for mode, pattern in rows if mode == ALLOW and pattern),
        block=frozenset(pattern for mode, pattern in rows if mode == BLOCK and pattern),
    )


def entries(principal: Principal) -> QuerySet[HostEntry]:
    return HostEntry.objects.filter(owner=principal.account)


def entry(principal: Principal, entry_id: str) -> HostEntry:
    """The account's own entry; DomainError ``not_found`` for any other."""
    found = entries(principal).filter(pk=entry_id).first()
    if found is None:
        raise DomainError("not_found", "There is no such entry in your host policy.")
    return found


def default(principal: Principal) -> str:
    """``allow`` or ``block``: what happens to hosts that no entry names."""
    return HostDefault.objects.filter(owner=principal.account).values_list("mode", flat=True).first() or ALLOW


@dataclass(frozen=True)
class Met:
    """A blocked host over all runs of an account; ``row`` is the newest of its rows."""

    row: BlockedHost
    attempts: int
    runs: int
    first_at: datetime
    last_at: datetime


def blocked(principal: Principal) -> QuerySet[BlockedHost]:
    """The newest row of each host that runs of the account did not reach; ``summed`` adds the others."""
    mine = _kept().filter(owner=principal.account)
    newest = mine.order_by("host", "-last_at", "-pk").distinct("host")
    return BlockedHost.objects.filter(pk__in=newest.values("pk"))


def summed(principal: Principal, rows: Iterable[BlockedHost]) -> list[Met]:
    """Those rows of ``blocked`` with what all runs of the account met, in their order."""
    kept = list(rows)
    mine = _kept().filter(owner=principal.account, host__in=[row.host for row in kept])
    sums = {
        found["host"]: found
        for found in mine.values("host").annotate(
            total=Sum("attempts"), runs=Count("reference"), first=Min("first_at"), last=Max("last_at")
        )
    }
    return [
        Met(row, sums[row.host]["total"], sums[row.host]["runs"], sums[row.host]["first"], sums[row.host]["last"])
        for row in kept
        if row.host in sums
    ]


def blocked_of(reference: str) -> QuerySet[BlockedHost]:
    """What one run did not reach. The caller has seen to it that the run may be read."""
    return _kept().filter(reference=reference)


def _kept() -> QuerySet[BlockedHost]:
    """An older version counted hosts here that had been reached and had sent a secret back."""
    return BlockedHost.objects.exclude(reason="secret_reflected")
