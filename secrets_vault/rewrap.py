"""Changing the master key: every stored value is sealed anew, one row at a time, for the key in service.

Old and new key lie side by side meanwhile, so each row opens before and after its turn, whenever this is cut off.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.db.models import QuerySet
from django.views.decorators.debug import sensitive_variables

from kernel.errors import DomainError
from kernel.faults import fault
from secrets_vault import sealing
from secrets_vault.models import SecretVersion

SETTLE_SECONDS = 60  # whoever had read the old public key has sealed and stored by then
_BATCH = 100


@dataclass
class Done:
    """How it went: rows sealed anew, and those whose bytes no key here opens."""

    sealed: int = 0
    broken: list[str] = field(default_factory=list)


def pending(current: str) -> QuerySet[SecretVersion]:
    """Versions that are not sealed for the key ``current``; those whose bytes were wiped are nobody's."""
    return SecretVersion.objects.exclude(key_id=current).exclude(sealed=b"")


def rewrap(folder: Path) -> Done:
    """Seal every version anew for the key in service. May be killed at any row, run again, and run twice at once.

    ``folder`` holds the private keys. DomainError ``unavailable`` where the new private key is not among them.
    """
    opener, current = _opener(folder), sealing.current_key_id(folder)
    if current not in opener.key_ids:
        raise DomainError("unavailable", f"The private key {current}, which is in service, is not in {folder}.")
    done = Done()
    for row in _rows(current):
        try:
            done.sealed += _seal_anew(row, opener)
        except sealing.SealBroken:
            done.broken.append(str(row))
        fault("W1")
    SecretVersion.objects.filter(sealed=b"").exclude(key_id=current).update(key_id=current)
    return done


def _rows(current: str) -> Iterator[SecretVersion]:
    last = 0
    while True:
        rows = list(pending(current).filter(pk__gt=last).select_related("secret").order_by("pk")[:_BATCH])
        if not rows:
            return
        yield from rows
        last = rows[-1].pk


@sensitive_variables("value")
def _seal_anew(row: SecretVersion, opener: sealing.Opener) -> int:
    """1 where the row was changed; 0 where somebody else had changed or wiped it meanwhile."""
    aad = sealing.aad_for(row.secret.owner_id, row.secret_id, row.version)
    old = bytes(row.sealed)
    value = opener.open(sealing.Sealed(old, row.key_id), aad)
    made = sealing.seal(value, aad)
    if opener.open(made, aad) != value:
        raise sealing.SealBroken("what was sealed anew does not open")
    same = SecretVersion.objects.filter(pk=row.pk, sealed=old)
    return same.update(sealed=made.data, key_id=made.key_id)


def drop_old_keys(folder: Path) -> list[str]:
    """Remove the private keys that nothing is sealed for any more; their ids.

    DomainError ``in_use`` while a version needs one, or while somebody may still be sealing for one.
    """
    current = sealing.current_key_id(folder)
    left = pending(current).count()
    if left:
        raise DomainError("in_use", f"{left} stored values are still sealed for an older key. Seal them anew first.")
    if time.time() - (folder / sealing.PUBLIC_NAME).stat().st_mtime < SETTLE_SECONDS:
        raise DomainError("in_use", f"The new key is younger than {SETTLE_SECONDS} s. Wait, seal anew, then drop.")
    return sealing.drop_old_keys(folder)


def _opener(folder: Path) -> sealing.Opener:
    try:
        return sealing.Opener(folder / sealing.PRIVATE_NAME)
    except FileNotFoundError:
        raise DomainError(
            "unavailable", f"There is no private key in {folder}: run this where the gateway is."
        ) from None
