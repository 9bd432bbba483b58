"""List prices, as integers: micro-cents (1e-8 dollar) per 1M tokens. A model that is not here is unpriced, never free.

They are a snapshot that the operator should compare with ``SOURCES``; what counts is the provider's bill. ``VERSION``
goes into each priced call, so that an old sum can be understood later: change it with any price.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from kernel.money import from_dollars

VERSION = "list-2026-11"


class Price(NamedTuple):
    """Micro-cents per 1M tokens: input, output, and input that the provider had cached."""

    tokens_in: int
    tokens_out: int
    cached: int


class Source(NamedTuple):
    """Where a provider tells its prices, and the month in which ours were taken."""

    url: str
    month: str


SOURCES: Mapping[str, Source] = {
    "openai": Source("https://openai.com/api/pricing", "2026-03"),
    "azure": Source("https://azure.microsoft.com/pricing/details/cognitive-services/openai-service", "2026-03"),
    "anthropic": Source("https://claude.com/pricing", "2026-11"),
    "google": Source("https://ai.google.dev/gemini-api/docs/pricing", "2025-12"),
    "groq": Source("https://groq.com/pricing", "2025-12"),
    "together": Source("https://www.together.ai/pricing", "2025-12"),
    "mistral": Source("https://mistral.ai/pricing", "2025-12"),
    "deepseek": Source("https://api-docs.deepseek.com/quick_start/pricing", "2025-12"),
    "fireworks": Source("https://fireworks.ai/pricing", "2025-12"),
}


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
    "gpt-5.1": _price("1.25", "10", "0.125"),
    "gpt-5.2": _price("1.75", "14", "0.175"),
    "gpt-5.4": _price("2.50", "15", "0.25"),
    "gpt-5.4-mini": _price("0.75", "4.50", "0.075"),
    "o3": _price("2", "8", "0.50"),
    "o3-mini": _price("1.10", "4.40", "0.55"),
    "o4-mini": _price("1.10", "4.40", "0.275"),
    "text-embedding-3-small": _price("0.02", "0"),
    "text-embedding-3-large": _price("0.13", "0"),
    "text-embedding-ada-002": _price("0.10", "0"),
}

PRICES: Mapping[str, Mapping[str, Price]] = {
    "openai": _OPENAI,
    "azure": _OPENAI,
    "anthropic": {
        "claude-fable-5-1": _price("10", "50", "0.25"),
        "claude-fable-5": _price("10", "50", "1"),
        "claude-opus-5-5": _price("4", "20", "0.20"),
        "claude-opus-5": _price("5", "25", "0.50"),
        "claude-sonnet-5-5": _price("2", "10", "0.10"),
        "claude-sonnet-5": _price("2", "10", "0.20"),
        "claude-opus-4-8": _price("5", "25", "0.50"),
        "claude-opus-4-7": _price("5", "25", "0.50"),
        "claude-opus-4-6": _price("5", "25", "0.50"),
        "claude-sonnet-4-6": _price("3", "15", "0.30"),
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
        "gemini-embedding-001": _price("0.15", "0"),
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
        "mistral-embed": _price("0.10", "0"),
    },
    "deepseek": {
        "deepseek-chat": _price("0.28", "0.42", "0.028"),
        "deepseek-reasoner": _price("0.28", "0.42", "0.028"),
    },
    "fireworks": {"accounts/fireworks/models/llama-v3p3-70b-instruct": _price("0.90", "0.90")},
}
