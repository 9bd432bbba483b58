"""Acts on connections: create, edit, delete. What an endpoint may be is decided above; this is the account's side."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.principal import Principal
from kernel import ids
from kernel.clock import now
from kernel.errors import DomainError, invalid
from secrets_vault.connections import queries
from secrets_vault.models import Connection, Secret
from secrets_vault.queries import lock_account
from secrets_vault.queries import visible as visible_secrets
from secrets_vault.rules import check_name, most_specific

EDITABLE = ("name", "base_url", "secret", "prices", "routing", "metadata")


def create(principal: Principal, fields: Mapping[str, Any], host: str) -> Connection:
    """Keep a new connection. ``fields``: columns, checked; ``host``: where its secret would be sent ("" = nowhere).

    DomainError ``validation_failed`` (name, secret), ``name_taken``.
    """
    check_name(fields["name"])
    with transaction.atomic():
        lock_account(principal)
        _refuse_taken(principal, fields["name"])
        made = Connection(id=ids.prefixed_ulid("con"), owner=principal.account, **fields)
        check_secret(made.secret, host)
        made.save(force_insert=True)
    return made


def update(
    principal: Principal, found: Connection, changes: Mapping[str, Any], host: str, seen: datetime | None = None
) -> Connection:
    """Edit a connection; runs under way keep what they were launched with. DomainError as ``create`` raises.

    ``seen``: the ``updated_at`` that the caller read (``precondition_failed`` if it has moved since).
    """
    with transaction.atomic():
        lock_account(principal)
        fresh = queries.visible(principal).select_for_update(of=("self",)).filter(pk=found.pk).first()
        if fresh is None:
            raise queries.missing()
        if seen is not None and fresh.updated_at != seen:
            raise DomainError("precondition_failed")
        if changes.get("name", fresh.name) != fresh.name:
            _refuse_taken(principal, check_name(changes["name"]))
        for name, value in changes.items():
            setattr(fresh, name, value)
        check_secret(fresh.secret, host)
        fresh.save()
    return fresh


def delete(principal: Principal, found: Connection) -> None:
    """Hide it: new launches can't use it, runs under way go on."""
    queries.visible(principal).filter(pk=found.pk).update(deleted_at=now(), updated_at=now())


def owned_secret(principal: Principal, reference: str) -> Secret:
    """The account's live secret of that id or name. DomainError ``validation_failed``."""
    secrets = visible_secrets(principal)
    found = secrets.filter(pk=reference).first() or secrets.filter(name=reference).first()
    if found is None:
        raise invalid(["body", "secret"], f"You have no secret {reference!r}; GET /v1/secrets lists yours.")
    return found


def check_secret(secret: Secret | None, host: str) -> None:
    """A key goes only to hosts that its own rules name. DomainError ``validation_failed``."""
    if secret is None or not host:
        return
    patterns = [rule.host_pattern for rule in secret.rules.all()]
    if most_specific(patterns, host) is None:
        raise invalid(
            ["body", "secret"],
            f"The secret {secret.name} has no rule for {host}: it is for {', '.join(sorted(patterns)) or 'no host'}. "
            f"Add a rule for {host} to it, or name another secret.",
        )


def _refuse_taken(principal: Principal, name: str) -> None:
    if queries.visible(principal).filter(name=name).exists():
        raise DomainError(
            "name_taken",
            f"A connection named {name} exists. Change it, or choose another name.",
            errors=[{"loc": ["body", "name"], "msg": "taken"}],
        )
