"""What the API answers about a connection."""

from typing import Any

from kernel.clock import stamp
from kernel.money import to_dollars
from secrets_vault.models import Connection


def connection_object(found: Connection) -> dict[str, Any]:
    secret = found.secret if found.secret is not None and found.secret.deleted_at is None else None
    return {
        "object": "connection",
        "id": found.pk,
        "name": found.name,
        "kind": found.kind,
        "provider": found.provider,
        "base_url": found.base_url or None,
        "secret": {"id": secret.pk, "name": secret.name} if secret else None,
        "prices": in_dollars(found.prices),
        "routing": found.routing,
        "metadata": found.metadata,
        "created_at": stamp(found.created_at),
        "updated_at": stamp(found.updated_at),
    }


def in_dollars(prices: dict[str, dict[str, int]]) -> dict[str, dict[str, float]]:
    """Prices as people write them: dollars per million tokens."""
    return {model: {what: float(to_dollars(amount)) for what, amount in each.items()} for model, each in prices.items()}
