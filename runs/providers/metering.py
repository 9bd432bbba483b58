"""What a call used and what it cost. Everything here takes a provider's word as it comes and believes no shape."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import orjson

from kernel.money import from_dollars
from runs.providers import SNAPSHOT
from runs.providers.data import PROVIDERS, Provider
from runs.providers.prices import PRICES, VERSION, Price

_MOST_TOKENS = 1 << 31


class Usage(NamedTuple):
    """Tokens of one call. ``cached`` is part of ``tokens_in``, ``reasoning`` of ``tokens_out``."""

    tokens_in: int
    tokens_out: int
    cached: int
    reasoning: int
    reported: int | None  # micro-cents, by the provider
    estimated: bool


class Names(NamedTuple):
    """What an endpoint calls the tokens in its usage. ``tokens_out`` "" = it has none."""

    tokens_in: str
    tokens_out: str
    in_details: str
    out_details: str


CHAT = Names("prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details")
EMBEDDINGS = Names("prompt_tokens", "", "", "")
RESPONSES = Names("input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details")


def usage_of(told: Any, provider: Provider, sent: bytes | int, received: bytes | int, names: Names = CHAT) -> Usage:
    """From an answer's usage, as it came; without one, an estimate from the bodies (see ``estimate``)."""
    if not isinstance(told, dict):
        return estimate(sent, received, names)
    tokens_in = _count(told.get(names.tokens_in))
    tokens_out = _count(told.get(names.tokens_out)) if names.tokens_out else 0
    if not tokens_in and not tokens_out:
        return estimate(sent, received, names)
    cached = min(
        tokens_in,
        _detail(told, names.in_details, "cached_tokens") or _count(told.get("prompt_cache_hit_tokens")),
    )
    reasoning = _detail(told, names.out_details, "reasoning_tokens")
    total = _count(told.get("total_tokens"))
    if reasoning and total == tokens_in + tokens_out + reasoning:
        tokens_out = min(
            tokens_out + reasoning, _MOST_TOKENS - 1
        )  # some count thinking beside the answer instead of in it
    return Usage(tokens_in, tokens_out, cached, reasoning, _reported(told, provider), False)


def estimate(sent: bytes | int, received: bytes | int, names: Names = CHAT) -> Usage:
    """Four bytes of text a token, never nothing: by accident no call is free.

    ``sent`` and ``received`` are bodies, of which only what was said counts; or the bytes of text themselves.
    """
    tokens_out = max(1, -(-_said(received) // 4)) if names.tokens_out else 0
    return Usage(max(1, _said(sent) // 4), tokens_out, 0, 0, None, True)


_SPOKEN = frozenset({
    "content", "text", "thinking", "reasoning", "reasoning_content", "refusal", "arguments",
    "input", "prompt", "system", "instructions",
})  # fmt: skip


def _said(body: bytes | int) -> int:
    """Bytes of text in a JSON body: what models read and write, without the names and numbers around it."""
    if isinstance(body, int):
        return body
    try:
        waiting: list[tuple[Any, bool]] = [(orjson.loads(body), False)]
    except ValueError:
        return len(body)
    total = 0
    while waiting:
        value, spoken = waiting.pop()
        if isinstance(value, str):
            total += len(value.encode("utf-8", "replace")) if spoken else 0
        elif isinstance(value, list):
            waiting += [(item, spoken) for item in value]
        elif isinstance(value, dict):
            waiting += [(item, name in _SPOKEN) for name, item in value.items()]
    return total


def cost_of(
    usage: Usage,
    provider: Provider,
    asked: str,
    served: str | None,
    agreed: Mapping[str, Mapping[str, int]] | None = None,
) -> tuple[int | None, str | None]:
    """``(micro-cents or None = unpriced, by what)``. Rounded half to even once.

    ``agreed``: a connection's own prices, micro-cents per 1M tokens by model or "*": {input, output, cached_input}.
    """
    price = _agreed(agreed, asked, served) if agreed else None
    if price is not None:
        return _sum(usage, price), "connection"
    if provider.free:
        return 0, "free"
    if usage.reported is not None:
        return usage.reported, "reported"
    price = _find(provider.name, served or asked) or _find(provider.name, asked)
    return (None, None) if price is None else (_sum(usage, price), VERSION)


def priceable(provider: Provider, model: str, agreed: Mapping[str, Mapping[str, int]] | None = None) -> bool:
    """Whether calls of the model will have a cost: agreed, reported, listed, or nothing on one's own machine."""
    return bool(
        (agreed and _agreed(agreed, model, None))
        or provider.free
        or provider.reports_cost
        or _find(provider.name, model)
    )


def is_free(name: str, model: str, agreed: Mapping[str, Mapping[str, int]] | None = None) -> bool:
    """Whether no call of the model at the provider ``name`` can cost anything, as far as prices are known.

    ``model`` "": not said yet, so only where no price that was agreed on is more than nothing.
    """
    provider = PROVIDERS.get(name)
    if provider is None:
        return False
    if not model and any(any(each.values()) for each in (agreed or {}).values()):
        return False
    found = _agreed(agreed, model, None) if agreed else None
    if found is not None:
        return not (found.tokens_in or found.tokens_out or found.cached)
    return provider.free


def _sum(usage: Usage, price: Price) -> int:
    plain = usage.tokens_in - usage.cached
    total = plain * price.tokens_in + usage.cached * price.cached + usage.tokens_out * price.tokens_out
    whole, rest = divmod(total, 1_000_000)
    return whole + (rest > 500_000 or (rest == 500_000 and whole % 2 == 1))


def _agreed(prices: Mapping[str, Mapping[str, int]], asked: str, served: str | None) -> Price | None:
    for name in (asked, served or "", SNAPSHOT.sub("", asked.lower()), "*"):
        found = prices.get(name.lower())
        if found is not None:
            return Price(found["input"], found["output"], found["cached_input"])
    return None


def _find(provider: str, model: str) -> Price | None:
    table = PRICES.get(provider, {})
    name = model.lower().removeprefix("models/")
    return table.get(name) or table.get(SNAPSHOT.sub("", name))


def _reported(told: dict[str, Any], provider: Provider) -> int | None:
    cost = told.get("cost")
    if not provider.reports_cost or isinstance(cost, bool) or not isinstance(cost, int | float | str):
        return None
    try:
        amount = Decimal(str(cost))
        return from_dollars(amount) if 0 <= amount < 1_000_000 else None
    except InvalidOperation:
        return None


def _detail(told: dict[str, Any], group: str, name: str) -> int:
    details = told.get(group)
    return _count(details.get(name)) if isinstance(details, dict) else 0


def _count(value: Any) -> int:
    if type(value) is int:
        return value if 0 <= value < _MOST_TOKENS else 0
    if type(value) is not float or not 0 <= value < _MOST_TOKENS:
        return 0
    return int(value)
