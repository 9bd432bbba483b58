"""One tiny call to a model outside any run, so that somebody sees that a connection works before they launch."""

import asyncio
import time
from typing import TYPE_CHECKING, Any

import orjson

from runs.gateway.answers import Failed, Redactor, Refused, refusal, unheard
from runs.gateway.apis import table
from runs.gateway.apis.base import Api, Asked
from runs.gateway.http.outbound import Pool, UpstreamError
from runs.providers import metering, simulated_apis
from runs.providers.data import Provider
from secrets_vault import uses
from secrets_vault.uses import Use

if TYPE_CHECKING:
    from runs.gateway.process import Gateway

SECONDS = 30.0
TOKENS = 16
ASK = {"messages": [{"role": "user", "content": "Reply with OK."}], "max_tokens": TOKENS}
CHAT = b"/v1/chat/completions"


async def attempt(gate: "Gateway", account: int, sut: dict[str, Any], sut_key: dict[str, Any]) -> dict[str, Any]:
    """What came of it: ``answered``, ``latency_ms``, then the model that served, tokens and cost, or the trouble.

    Raises LeaseRefused where the key can't be opened or may not go there. ``sut`` and ``sut_key`` as a run has them.
    """
    provider, _, value, pool = await gate.books.endpoint(account, sut, sut_key)
    api = table.of(provider).get(CHAT)
    if api is None:
        return {"answered": False, "trouble": f"{provider.label} has no chat to try."}
    try:
        asked = api.prepare(orjson.dumps(ASK), sut["model"], provider, sut.get("params") or {})
        begun = time.monotonic()
        try:
            raw, found = await _ask(pool, api, asked, Redactor(value), provider)
        finally:
            took = int((time.monotonic() - begun) * 1000)
    except (Failed, Refused) as bad:
        return {"answered": False, "trouble": bad.message}
    finally:
        if pool is not None:
            pool.close()
    if pool is not None and sut_key.get("kind") == "secret":
        where = pool.target.host, pool.target.paths[api.name]
        uses.note(Use(str(sut_key["secret"]), int(sut_key["version"]), "", "gateway", *where))
    told = api.told(found)
    usage = metering.usage_of(told.usage, provider, asked.payload, raw, api.names)
    cost, by = metering.cost_of(usage, provider, sut["model"], told.served, sut.get("prices"))
    return {
        "answered": True, "latency_ms": took, "served": told.served, "upstream": told.upstream,
        "tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out, "cost": cost, "priced_by": by,
    }  # fmt: skip


async def _ask(
    pool: Pool | None, api: Api, asked: Asked, redactor: Redactor, provider: Provider
) -> tuple[bytes, dict[str, Any]]:
    """The answer's bytes and object, the key taken out. No ``pool``: the simulated model's. Failed."""
    if pool is None:
        said = simulated_apis.answer(api.name, asked.body)
        return orjson.dumps(said), said
    try:
        async with asyncio.timeout(SECONDS):
            exchange, outbound = await pool.start(api.name, asked.payload)
            try:
                status = await exchange.head()
                raw = redactor.clean(await exchange.body())
            finally:
                if not exchange.done:
                    outbound.transport.abort()
    except TimeoutError:
        raise unheard(UpstreamError("timeout", f"no answer within {SECONDS:.0f} s")) from None
    except UpstreamError as bad:
        raise unheard(bad) from None
    if status != 200:
        raise refusal(status, exchange.headers, raw, provider.label)
    try:
        body, found = api.read(raw)
    except ValueError:
        raise unheard(UpstreamError("cut", "the answer is not JSON")) from None
    fault = api.fault(found, exchange.headers, provider.label)
    if fault is not None:
        raise fault
    return body, found
