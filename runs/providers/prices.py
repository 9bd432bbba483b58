"""List prices, as integers: micro-cents (1e-8 dollar) per 1M tokens. A model that is not here is unpriced, never free.

``VERSION`` goes into each priced call, so that an old sum can be understood later: change it with any price.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from kernel.money import from_dollars

VERSION = "list-2025-12"


class Price(NamedTuple):
    """Micro-cents per 1M tokens: input, output, and input that the provider had cached."""

    tokens_in: int
    tokens_out: int
    cached: int


def _price(tokens_in: str, tokens_out: str, cached: str = "") -> Price:
    dollars = (tokens_in, tokens_out, cached or tokens_in)
    return Price(*(from_dollars(Decimal(amount)) for amount in dollars))


_OPENAI = {
    "gpt-4o": _price("2.50", "10", "1.25"),
    "gpt-4o-mini": _price("0.15", "0.60", "0.075"),
    "gpt-4.1": _price("2", "8", "0.50"),
    "gpt-4.1-mini": _price("0.40", "1.60", "0.10"),
    "gpt-4.1-nano": _price("0.10", "0.40", "0.025"),
    "gpt-5": _price("1.25", "10", "0.125"),
    "gpt-5-mini": _price("0.25", "2", "0.025"),
    "gpt-5-nano": _price("0.05", "0.40", "0.005"),
    "o3": _price("2", "8", "0.50"),
    "o3-mini": _price("1.10", "4.40", "0.55"),
    "o4-mini": _price("1.10", "4.40", "0.275"),
}

PRICES: Mapping[str, Mapping[str, Price]] = {
    "openai": _OPENAI,
    "azure": _OPENAI,
    "anthropic": {
        "claude-opus-4-5": _price("5", "25", "0.50"),
        "claude-opus-4-1": _price("15", "75", "1.50"),
        "claude-opus-4": _price("15", "75", "1.50"),
        "claude-sonnet-4-5": _price("3", "15", "0.30"),
        "claude-sonnet-4": _price("3", "15", "0.30"),
        "claude-haiku-4-5": _price("1", "5", "0.10"),
        "claude-3-5-haiku": _price("0.80", "4", "0.08"),
    },
    "google": {
        "gemini-2.5-pro": _price("1.25", "10", "0.125"),
        "gemini-2.5-flash": _price("0.30", "2.50", "0.03"),
        "gemini-2.5-flash-lite": _price("0.10", "0.40", "0.01"),
        "gemini-2.0-flash": _price("0.10", "0.40", "0.025"),
    },
    "groq": {
        "llama-3.3-70b-versatile": _price("0.59", "0.79"),
        "llama-3.1-8b-instant": _price("0.05", "0.08"),
    },
    "together": {"meta-llama/llama-3.3-70b-instruct-turbo": _price("0.88", "0.88")},
    "mistral": {
        "mistral-large": _price("2", "6"),
        "mistral-small": _price("0.10", "0.30"),
        "codestral": _price("0.30", "0.90"),
    },
    "deepseek": {
        "deepseek-chat": _price("0.28", "0.42", "0.028"),
        "deepseek-reasoner": _price("0.28", "0.42", "0.028"),
    },
    "fireworks": {"accounts/fireworks/models/llama-v3p3-70b-instruct": _price("0.90", "0.90")},
}
