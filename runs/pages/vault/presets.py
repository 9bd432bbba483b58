"""What the form of a new secret fills in for a provider that we know."""

from dataclasses import dataclass

from runs import providers
from runs.providers import PROVIDERS


@dataclass(frozen=True)
class Preset:
    """``host`` is "" where each customer has their own."""

    provider: str
    label: str
    name: str
    host: str
    kind: str
    target: str


def presets() -> list[Preset]:
    """One for each shipped provider that needs a key."""
    return [_preset(name) for name, provider in PROVIDERS.items() if provider.needs_key]


def preset(name: str) -> Preset | None:
    return _preset(name) if name in PROVIDERS and PROVIDERS[name].needs_key else None


def _preset(name: str) -> Preset:
    provider = providers.get(name)
    kind, _, target = provider.auth.partition(":")
    return Preset(
        provider=name,
        label=provider.label,
        name=f"{name.upper()}_API_KEY",
        host=providers.host(name),
        kind=kind,
        target=target or "Authorization",
    )
