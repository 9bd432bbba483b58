"""Reads of connections. Every one starts from what the principal owns."""

from django.db.models import Q, QuerySet

from accounts.principal import Principal
from kernel.errors import DomainError
from secrets_vault.models import Connection


def visible(principal: Principal) -> QuerySet[Connection]:
    return Connection.objects.filter(owner=principal.account, deleted_at=None).select_related("secret")


def missing() -> DomainError:
    return DomainError("not_found", "There is no such connection.")


def connection(principal: Principal, connection_id: str) -> Connection:
    """The account's own live connection; DomainError ``not_found`` for any other."""
    found = visible(principal).filter(pk=connection_id).first()
    if found is None:
        raise missing()
    return found


def named(principal: Principal, reference: str) -> Connection | None:
    """The account's live connection of that id or name."""
    return visible(principal).filter(Q(pk=reference) | Q(name=reference)).first()
