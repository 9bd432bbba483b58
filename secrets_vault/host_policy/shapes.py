"""What the API answers about host policies and blocked hosts."""

from typing import Any

from kernel.clock import stamp
from secrets_vault.host_policy.blocked import REST, sentence
from secrets_vault.host_policy.deciding import ALLOW, BLOCK, Policy
from secrets_vault.host_policy.entries import Added, openable, shut
from secrets_vault.host_policy.queries import Met
from secrets_vault.models import BlockedHost, HostEntry
from secrets_vault.rules import most_specific


def entry_object(entry: HostEntry) -> dict[str, Any]:
    return {
        "object": "host_policy_entry",
        "id": entry.pk,
        "host_pattern": entry.host_pattern,
        "mode": entry.mode,
        "created_at": stamp(entry.created_at),
    }


def added_object(added: Added) -> dict[str, Any]:
    """The entry, with ``warnings`` where another one stands against it."""
    found = entry_object(added.entry)
    if added.against:
        found["warnings"] = [f"It stays blocked: the entry {added.against} blocks it, and block beats allow."]
    return found


def blocked_object(row: BlockedHost, policy: Policy | None) -> dict[str, Any]:
    """A host that a run did not reach. ``policy``: the reader's own, if the run is theirs.

    ``allowable``: whether an entry can open it.
    """
    return {
        "object": "blocked_host",
        "host": row.host,
        "reason": row.reason,
        "message": told(row),
        "attempts": row.attempts,
        "first_at": stamp(row.first_at),
        "last_at": stamp(row.last_at),
        "run": row.reference,
        "policy": standing(policy, row.host),
        "allowable": openable(row),
    }


def told(row: BlockedHost) -> str:
    """Why the host was blocked; where no entry can open it, why that is."""
    why = shut(row)
    return f"{row.host} was blocked. {why}" if why else sentence(row.host, row.reason)


def met_object(met: Met, policy: Policy) -> dict[str, Any]:
    """A host over all runs of an account: ``run`` is the last that met it."""
    return {
        **blocked_object(met.row, policy),
        "attempts": met.attempts,
        "first_at": stamp(met.first_at),
        "last_at": stamp(met.last_at),
        "runs": met.runs,
    }


def standing(policy: Policy | None, host: str) -> str | None:
    """What the entries say of a host now: allow, block, or nothing."""
    if policy is None or host == REST:
        return None
    if most_specific(policy.block, host):
        return BLOCK
    return ALLOW if most_specific(policy.allow, host) else None
