"""Try a connection: one tiny call through the gateway, which alone can open the key."""

import asyncio
from typing import Any

from accounts.principal import Principal
from kernel import money
from kernel.errors import DomainError, invalid
from runs import providers, suts
from runs.gateway_client import GatewayClient, GatewayLost, LeaseRefused
from runs.providers import metering
from runs.schemas import Sut
from secrets_vault.models import Connection

SECONDS = 45.0


def try_out(principal: Principal, found: Connection, model: str | None) -> dict[str, Any]:
    """What one call of ``model`` over the connection tells: latency, served model, price, what a cap would do.

    A provider that refuses is an answer (``ok`` false). DomainError: ``validation_failed`` (no model connection, no
    model), ``missing_secret``, ``unavailable`` (the gateway is away).
    """
    model = model or _usual_model(found)
    if found.kind != "ai_model":
        raise invalid(["body"], f"{found.name} is a {found.kind} connection: there is no model to call.")
    bound = suts.bind(principal, Sut(model=model, connection=found.pk))
    try:
        facts = asyncio.run(_ask(principal.account.pk, bound))
    except (GatewayLost, TimeoutError):
        raise DomainError(
            "unavailable",
            "The gateway, which alone can open keys, does not answer, so nothing was tried. Try again in a moment; "
            "`manage.py doctor` on the server tells what is wrong.",
        ) from None
    except LeaseRefused as no:
        facts = {"answered": False, "code": no.code, "trouble": no.detail}
    return _told(found, bound, model, facts)


def _usual_model(found: Connection) -> str:
    told = found.metadata.get("model")
    model = told if isinstance(told, str) else next((name for name in found.prices if name != "*"), None)
    if not model:
        raise invalid(["body", "model"], "Name a model to call; metadata.model of the connection is the usual one.")
    return model


async def _ask(account: int, bound: suts.BoundSut) -> dict[str, Any]:
    client = GatewayClient()
    async with asyncio.timeout(SECONDS):
        await client.connect(timeout=2.0)
        try:
            return await client.attempt(account, bound.sut, bound.key)
        finally:
            await client.close()


def _told(found: Connection, bound: suts.BoundSut, model: str, facts: dict[str, Any]) -> dict[str, Any]:
    ok = facts["answered"]
    served, cost = facts.get("served"), facts.get("cost")
    return {
        "object": "connection_test",
        "connection": found.pk,
        "ok": ok,
        "model": model,
        "latency_ms": facts.get("latency_ms"),
        "served": served,
        "as_asked": providers.same_model(found.provider, model, served) if served else None,
        "upstream": facts.get("upstream"),
        "tokens_in": facts.get("tokens_in"),
        "tokens_out": facts.get("tokens_out"),
        "cost": money.shown(cost) if cost is not None else None,
        "priced_by": facts.get("priced_by"),
        "cap": _cap(bound, model, facts),
        "error": None if ok else {"code": facts.get("code", "provider_error"), "message": facts["trouble"]},
    }


def _cap(bound: suts.BoundSut, model: str, facts: dict[str, Any]) -> str:
    """What a ceiling on cost would do with this model."""
    priced = metering.priceable(providers.get(bound.sut["provider"]), model, bound.sut.get("prices"))
    if (facts["answered"] and facts.get("cost") is None) or not priced:
        return (
            f"No price of {model} is known, so a launch with a ceiling on cost is refused. Give the connection "
            "its prices, or limit tokens."
        )
    limit = bound.sut.get("limits", {}).get("run", {}).get("model_cost")
    by = {"free": "it costs nothing here", "reported": "the provider tells what each call cost"}.get(
        str(facts.get("priced_by")), "its price is known"
    )
    if limit is not None:
        return f"Ceilings on cost work: {by}. Each run over this connection stops at ${limit:g} of model spend."
    return f"Ceilings on cost work: {by}."
