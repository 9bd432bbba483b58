"""Reads of host policies and of the record of blocked hosts."""

from django.db.models import CharField, Value

from secrets_vault.host_policy.deciding import ALLOW, BLOCK, Policy
from secrets_vault.models import HostDefault, HostEntry


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
