"""Reads of secrets. Every one starts from what the principal owns; none returns a value."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import QuerySet

from accounts.models import User
from accounts.principal import Principal
from kernel.clock import now
from kernel.errors import DomainError
from secrets_vault import rules
from secrets_vault.models import Secret, SecretRule, SecretUse, SecretVersion


def visible(principal: Principal) -> QuerySet[Secret]:
    return Secret.objects.filter(owner=principal.account, deleted_at=None)


def lock_account(principal: Principal) -> User:
    """Names, host patterns and entries are unique over an account: one editor at a time. Call it in a transaction."""
    return User.objects.select_for_update(no_key=True).get(pk=principal.account.pk)


def missing() -> DomainError:
    return DomainError("not_found", "There is no such secret.")


def secret(principal: Principal, secret_id: str) -> Secret:
    """The account's own live secret; DomainError ``not_found`` for any other."""
    found = visible(principal).prefetch_related("rules").filter(pk=secret_id).first()
    if found is None:
        raise missing()
    return found


def uses(principal: Principal, secret_id: str) -> QuerySet[SecretUse]:
    """What a secret of the account was used for, also of a deleted one; DomainError ``not_found`` for any other."""
    if not Secret.objects.filter(owner=principal.account, pk=secret_id).exists():
        raise missing()
    return SecretUse.objects.filter(secret=secret_id)


def secret_named(principal: Principal, name: str) -> Secret | None:
    return visible(principal).filter(name=name).first()


def names_of(secret_ids: Iterable[str]) -> dict[str, str]:
    """The names of secrets by id, deleted ones too. The caller has seen to it that they are the viewer's own."""
    wanted = set(secret_ids)
    return dict(Secret.objects.filter(pk__in=wanted).values_list("id", "name")) if wanted else {}


def has_values(account: User) -> bool:
    """Whether the account keeps any secret whose value is still there."""
    # Deleting a secret wipes its values in the same transaction. The values themselves can't be looked at here.
    return SecretVersion.objects.filter(secret__owner=account, secret__deleted_at=None).exists()


def newest_value(account: User) -> datetime:
    """When the account's newest value was put in. It has one (``has_values``)."""
    times = (
        SecretVersion.objects.filter(secret__owner=account).order_by("-created_at").values_list("created_at", flat=True)
    )
    return times.first() or now()


def rule_for_host(account: User, host: str) -> SecretRule | None:
    """The most specific rule of the account's live secrets that answers for ``host`` (no port); None if none does."""
    try:
        wanted = rules.normal_host(host)
    except ValueError:
        return None
    candidates = {
        rule.host_pattern: rule
        for rule in SecretRule.objects.filter(secret__owner=account, secret__deleted_at=None)
        .filter(host_pattern__in=_patterns(wanted))
        .select_related("secret")
    }
    best = rules.most_specific(candidates, wanted)
    return candidates[best] if best is not None else None


def _patterns(host: str) -> list[str]:
    """Every pattern that could answer for ``host``."""
    labels = host.split(".")
    return [host, *("*." + ".".join(labels[start:]) for start in range(1, len(labels)))]
