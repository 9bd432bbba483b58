"""Leases: which secrets a run may use, in which version and under which rules, as they were at its launch.

Rotating a secret or changing its rules spares the runs that hold it; deleting it takes it from them at once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from accounts.models import User
from kernel.errors import DomainError, invalid
from secrets_vault.models import Secret, SecretLease
from secrets_vault.rules import Rule, most_specific


@dataclass(frozen=True)
class Held:
    """One leased secret, as a proxy asks for it. ``revoked``: it was deleted meanwhile and must not be used."""

    account: int
    secret: str
    name: str
    version: int
    rules: tuple[Rule, ...]
    revoked: bool


def grant(owner: User, reference: str, *, own_impl: bool, names: Sequence[str]) -> list[SecretLease]:
    """Freeze what the run ``reference`` may use. Call it in the transaction that writes the run.

    A run of the account's own scorer leases every live secret of the account; one of somebody else's code only
    ``names``. DomainError ``validation_failed`` where the account has no secret of such a name.
    """
    live = list(Secret.objects.filter(owner=owner, deleted_at=None).prefetch_related("rules").order_by("id"))
    known = {secret.name for secret in live}
    for at, name in enumerate(names):
        if name not in known:
            raise unknown(at, name)
    return SecretLease.objects.bulk_create(
        SecretLease(reference=reference, owner=owner, secret=secret, version=secret.version, rules=_frozen(secret))
        for secret in live
        if own_impl or secret.name in names
    )


def unknown(at: int, name: str) -> DomainError:
    return invalid(
        ["body", "secrets", at],
        f"You have no secret named {name!r}. GET /v1/secrets lists yours; a replay takes its parent's names over "
        "unless it sends its own.",
    )


def held(reference: str) -> list[Held]:
    """What a run holds, deleted secrets included and marked."""
    rows = SecretLease.objects.filter(reference=reference).select_related("secret").order_by("secret_id")
    return [
        Held(
            account=row.owner_id,
            secret=row.secret_id,
            name=row.secret.name,
            version=row.version,
            rules=tuple(Rule(**rule) for rule in row.rules),
            revoked=row.secret.deleted_at is not None,
        )
        for row in rows
    ]


def answering(leases: Iterable[Held], host: str) -> tuple[Held, Rule] | None:
    """The lease and the rule that answer for ``host`` (normalised, no port): the most specific one, never two."""
    by_pattern = {rule.host_pattern: (lease, rule) for lease in leases for rule in lease.rules}
    best = most_specific(by_pattern, host)
    return by_pattern[best] if best is not None else None


def names(references: Iterable[str]) -> dict[str, list[str]]:
    """The names of the secrets that each run holds, in one query; runs without any are left out."""
    found: dict[str, list[str]] = {}
    rows = SecretLease.objects.filter(reference__in=list(references)).order_by("secret__name")
    for reference, name in rows.values_list("reference", "secret__name"):
        found.setdefault(reference, []).append(name)
    return found


def release(reference: str) -> None:
    """Forget what a run held: nothing of it is left to run."""
    SecretLease.objects.filter(reference=reference).delete()


def _frozen(secret: Secret) -> list[dict[str, str]]:
    return [
        {"host_pattern": rule.host_pattern, "inject_kind": rule.inject_kind, "inject_target": rule.inject_target}
        for rule in sorted(secret.rules.all(), key=lambda rule: rule.host_pattern)
    ]
