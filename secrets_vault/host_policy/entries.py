"""Acts on a host policy: entries and the default. A change holds for the next request, also of runs under way."""

from typing import NamedTuple

from django.db import transaction

from accounts.models import User
from accounts.principal import Principal
from kernel import addresses, ids
from kernel.errors import DomainError, invalid
from secrets_vault.host_policy import builtin, queries
from secrets_vault.host_policy.blocked import REST
from secrets_vault.host_policy.deciding import ALLOW, BLOCK, MODES, covering
from secrets_vault.models import BlockedHost, HostDefault, HostEntry
from secrets_vault.queries import lock_account
from secrets_vault.rules import normal_pattern

MOST_ENTRIES = 1000


class Added(NamedTuple):
    """``new``: it was not there before. ``against``: the pattern of an entry that blocks it all the same."""

    entry: HostEntry
    new: bool
    against: str = ""


def add(principal: Principal, host_pattern: str, mode: str = ALLOW) -> Added:
    """Allow or block a host (exact, or ``*.suffix``). The same again is the same entry.

    DomainError ``validation_failed``: no such mode, no host, a suffix of many owners, an address that no run may
    reach, or too many entries.
    """
    _check_mode(mode)
    pattern = _checked(host_pattern, mode)
    with transaction.atomic():
        entry, new = _kept(lock_account(principal), pattern, mode)
    return Added(entry, new, _against(principal, pattern) if mode == ALLOW else "")


def _checked(host_pattern: str, mode: str) -> str:
    """The pattern as an entry keeps it. DomainError ``validation_failed``."""
    try:
        pattern = normal_pattern(host_pattern)
    except ValueError as why:
        raise invalid(["body", "host_pattern"], str(why)) from None
    kind = _out_of_reach(pattern) if mode == ALLOW else ""
    if kind:
        raise invalid(["body", "host_pattern"], f"{pattern} is {kind}: no run may reach it, whatever a policy says.")
    return pattern


def _out_of_reach(pattern: str) -> str:
    """What kind of address or name it is where no run is ever connected to it; "" for any other."""
    if f".{pattern}".endswith(".localhost"):
        return "this machine's own name"
    kind = addresses.refusal(pattern)
    return kind if kind and kind != addresses.NO_ADDRESS else ""


def shut(met: BlockedHost) -> str:
    """Why no entry can open a host that no policy opens, as a sentence; "" where one can, and for other reasons."""
    if met.reason != "host_blocked" or met.host == REST:
        return ""
    try:
        _checked(met.host, ALLOW)
    except DomainError as refusal:
        return refusal.detail
    return ""


def openable(met: BlockedHost) -> bool:
    """Whether an entry would let the next request to a blocked host pass."""
    return met.reason == "host_blocked" and met.host != REST and not shut(met)


def remove(principal: Principal, entry_id: str) -> None:
    """DomainError ``not_found`` where the account has no such entry."""
    queries.entry(principal, entry_id).delete()


def set_default(principal: Principal, mode: str) -> HostDefault:
    """What happens to hosts that no entry names: ``allow`` the usual ones, or ``block`` all. ``validation_failed``."""
    _check_mode(mode)
    return HostDefault.objects.update_or_create(owner=principal.account, defaults={"mode": mode})[0]


def add_starter_pack(principal: Principal) -> list[Added]:
    """Allow every host of the built-in set by an entry of its own: for all methods, in all phases."""
    with transaction.atomic():
        owner = lock_account(principal)
        kept = [_kept(owner, host, ALLOW) for host in sorted(builtin.HOSTS)]
    return [Added(entry, new, _against(principal, entry.host_pattern)) for entry, new in kept]


def _check_mode(mode: str) -> None:
    if mode not in MODES:
        raise invalid(["body", "mode"], f"mode is {' or '.join(MODES)}.")


def _kept(owner: User, pattern: str, mode: str) -> tuple[HostEntry, bool]:
    mine = HostEntry.objects.filter(owner=owner)
    found = mine.filter(host_pattern=pattern, mode=mode).first()
    if found is not None:
        return found, False
    if mine.count() >= MOST_ENTRIES:
        words = f"A host policy has at most {MOST_ENTRIES:,} entries. Delete some, or name a domain as *.example.com."
        raise invalid(["body", "host_pattern"], words)
    return HostEntry.objects.create(id=ids.prefixed_ulid("hp"), owner=owner, host_pattern=pattern, mode=mode), True


def _against(principal: Principal, pattern: str) -> str:
    """The pattern that blocks all of ``pattern``: block beats allow."""
    blocks = HostEntry.objects.filter(owner=principal.account, mode=BLOCK)
    return covering(blocks.values_list("host_pattern", flat=True), pattern)
