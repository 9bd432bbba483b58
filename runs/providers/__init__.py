"""Providers of models. They are data: see ``data.py`` for the providers and ``prices.py`` for what they ask."""

import os
import re
from urllib.parse import urlsplit

from runs.providers.data import PROVIDERS, Provider

__all__ = ["PROVIDERS", "Provider", "base_url", "get", "host", "is_overridden", "names", "same_model"]

# gpt-4o-2024-08-06, claude-sonnet-4-20250514, mistral-large-2411, gemini-2.0-flash-001, …-latest
SNAPSHOT = re.compile(r"(?:[-@:](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|\d{3}|latest|preview-\d{2}-\d{2,4}))$")


def names() -> list[str]:
    return sorted(PROVIDERS)


def get(name: str) -> Provider:
    """The provider of that name; KeyError that lists the known names otherwise."""
    try:
        return PROVIDERS[name]
    except KeyError:
        raise KeyError(f"no provider {name!r}; known: {', '.join(names())}") from None


def _override(name: str) -> str:
    return os.environ.get(f"BW_PROVIDER_{name.upper()}_BASE_URL", "").rstrip("/")


def is_overridden(name: str) -> bool:
    """True when the operator's environment sets this provider's base URL. Such a URL is trusted."""
    return bool(_override(name))


def base_url(name: str) -> str:
    """Where the provider's OpenAI-compatible API lives, without a slash at the end. "" where each user has their own.

    ``BW_PROVIDER_<NAME>_BASE_URL`` goes before the shipped one. KeyError for an unknown name.
    """
    return get(name).base_url if not _override(name) else _override(name)


def host(name: str) -> str:
    """The host that a provider's key belongs to, in lower case; "" where there is none.

    The provider's own, even where the operator sends its calls elsewhere: users' rules name the provider, and the
    operator's base URL is trusted with the key. Self-hosted providers and azure live where the base URL says.
    """
    provider = get(name)
    own = base_url(name) if provider.free or not provider.base_url else provider.base_url
    return (urlsplit(own).hostname or "").lower()


def same_model(provider: str, asked: str, served: str) -> bool:
    """Whether what was served is what was asked for: itself, its alias, or a dated snapshot of it."""
    return _plain(provider, asked) == _plain(provider, served)


def _plain(provider: str, model: str) -> str:
    model = model.lower().removeprefix("models/").removeprefix(f"{provider}/")
    found = PROVIDERS.get(provider)
    if found is not None:
        model = found.aliases.get(model, model)
    return SNAPSHOT.sub("", model)
