"""Connections as launches need them: what may be set up, and what a run takes over from one.

The vault keeps the row; what a provider is, only runs know.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from accounts.principal import Principal
from kernel import addresses, secret_signs
from kernel.errors import invalid
from kernel.money import from_dollars
from runs import limits, providers
from runs.providers import Provider
from secrets_vault import rules
from secrets_vault.connections import acts
from secrets_vault.models import Connection, Secret

KINDS = ("ai_model", "compute")
BACKENDS = ("e2b", "sandbox0")  # of compute connections
PRICED = ("input", "output", "cached_input")
ROUTING = ("upstream", "quantization")
MOST_PRICES = 200
EVERY_MODEL = "*"  # in prices


@dataclass(frozen=True)
class Wanted:
    """A connection as somebody asks for it: names and dollars, nothing checked yet."""

    kind: str
    provider: str
    base_url: str
    prices: Mapping[str, Any]
    routing: Mapping[str, Any]
    metadata: Mapping[str, Any]


def create(principal: Principal, name: str, wanted: Wanted, secret: str | None) -> Connection:
    """Check and keep a connection. ``secret``: id or name of one of the account's.

    DomainError ``validation_failed``, ``name_taken``, ``secret_in_payload``.
    """
    _refuse_secrets(name, wanted)
    fields = {**checked(wanted), "name": name, "kind": wanted.kind, "provider": wanted.provider}
    fields["secret"] = _secret(principal, wanted.provider, secret)
    _refuse_in_the_clear(fields["secret"], wanted.provider, fields["base_url"])
    return acts.create(principal, fields, key_host(wanted.provider, fields["base_url"]))


def update(
    principal: Principal, found: Connection, changes: Mapping[str, Any], seen: datetime | None = None
) -> Connection:
    """Edit anything but kind and provider. DomainError as ``create`` raises, and ``precondition_failed``."""
    wanted = Wanted(
        found.kind,
        found.provider,
        changes.get("base_url", found.base_url),
        changes.get("prices", {}),  # the kept ones are in micro-cents already
        changes.get("routing", found.routing),
        changes.get("metadata", found.metadata),
    )
    _refuse_secrets(changes.get("name", ""), wanted)
    fields = checked(wanted)
    edits = {name: fields.get(name, value) for name, value in changes.items()}
    if "secret" in changes:
        edits["secret"] = _secret(principal, found.provider, changes["secret"])
    _refuse_in_the_clear(edits.get("secret", found.secret), found.provider, fields["base_url"])
    host = key_host(found.provider, fields["base_url"])
    return acts.update(principal, found, edits, host, seen)


def _secret(principal: Principal, provider: str, reference: str | None) -> Secret | None:
    """The account's secret of that id or name; None for none. DomainError ``validation_failed``."""
    if reference and provider == "simulated":
        raise invalid(["body", "secret"], "The simulated model needs no key: leave secret out.")
    return acts.owned_secret(principal, reference) if reference else None


def in_the_clear(provider: str, base: str) -> bool:
    """Whether a key sent to a connection's base URL would travel over plain http, as the gateway never lets it.

    The address that the operator's environment sets for a provider is trusted with the key.
    """
    known = provider in providers.PROVIDERS
    trusted = known and providers.is_overridden(provider) and base in ("", providers.base_url(provider))
    where = base or (providers.base_url(provider) if known else "")
    return where.startswith("http:") and not trusted


def _refuse_in_the_clear(secret: Secret | None, provider: str, base: str) -> None:
    if secret is not None and in_the_clear(provider, base):
        raise invalid(
            ["body", "base_url"],
            "A key is never sent over plain http: give an https base_url, or leave the secret out if the endpoint "
            "needs no key.",
        )


def _refuse_secrets(name: str, wanted: Wanted) -> None:
    """A key belongs in a secret, where nobody can read it back."""
    texts = {"name": name, "base_url": wanted.base_url, "routing": wanted.routing, "metadata": wanted.metadata}
    secret_signs.refuse(texts, "body")


def checked(wanted: Wanted) -> dict[str, Any]:
    """The columns of a connection that can be used. DomainError ``validation_failed`` that names the field."""
    if wanted.kind not in KINDS:
        raise invalid(["body", "kind"], f"kind is one of {', '.join(KINDS)}.")
    if wanted.kind == "compute":
        return _compute(wanted)
    if wanted.provider not in providers.PROVIDERS:
        near = limits.nearest(wanted.provider, tuple(providers.names()))
        raise invalid(["body", "provider"], f"There is no provider {wanted.provider!r}: {near}")
    provider = providers.get(wanted.provider)
    if provider.name == "simulated":
        _refuse_for_simulated(wanted)
    base = base_url(wanted.base_url, provider)
    if not base and not providers.base_url(provider.name) and provider.name != "simulated":
        raise invalid(["body", "base_url"], f"{provider.label} lives where you say: give its base_url.")
    return {
        "base_url": base,
        "prices": prices(wanted.prices),
        "routing": routing(wanted.routing, provider),
        "metadata": metadata(wanted.metadata),
    }


def _refuse_for_simulated(wanted: Wanted) -> None:
    """It is answered inside the gateway: there is no address to go to, and nothing to pay."""
    for name, given in (("base_url", wanted.base_url), ("prices", wanted.prices)):
        if given:
            raise invalid(["body", name], f"The simulated model is answered inside, for free: leave {name} out.")


def _compute(wanted: Wanted) -> dict[str, Any]:
    if wanted.provider not in BACKENDS:
        raise invalid(["body", "provider"], f"A compute connection's provider is one of {', '.join(BACKENDS)}.")
    for name in ("prices", "routing"):
        if getattr(wanted, name):
            raise invalid(["body", name], f"{name} belongs to connections of kind ai_model.")
    if "limits" in wanted.metadata:
        raise invalid(["body", "metadata", "limits"], "limits belong to connections of kind ai_model.")
    return {"base_url": base_url(wanted.base_url, None), "prices": {}, "routing": {}, "metadata": dict(wanted.metadata)}


def base_url(text: str, provider: Provider | None) -> str:
    """The URL without its last slash. DomainError ``validation_failed`` for one that no key may go to."""
    loc = ["body", "base_url"]
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise invalid(loc, "The base URL can't be read.") from None
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise invalid(loc, "A base URL begins with https:// and a host, such as https://api.example.com/v1.")
    if parts.username or parts.password or parts.fragment:
        raise invalid(loc, "A base URL holds no user, password or fragment: the key belongs in a secret.")
    if parts.query and not (provider and "deployments" in provider.quirks):
        raise invalid(loc, "A base URL has no query.")
    host = _host(parts.hostname, loc)
    if not settings.SINGLE_USER:
        _refuse_private(host, parts.scheme, loc)
    shown = f"[{host}]" if ":" in host else host
    place = f"{shown}:{port}" if port else shown
    return parts._replace(netloc=place).geturl().rstrip("/")


def _host(host: str, loc: list[str]) -> str:
    try:
        return rules.normal_host(host)
    except ValueError as why:
        raise invalid(loc, f"The base URL's host can't be used. {why}") from None


def _refuse_private(host: str, scheme: str, loc: list[str]) -> None:
    """What can be told without asking the DNS; the address is looked at once more where it is dialled."""
    if scheme != "https":
        raise invalid(loc, "A base URL is https here: keys and prompts never travel in the clear.")
    try:
        address = ip_address(host)
    except ValueError:
        if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
            raise invalid(loc, f"{host} is a name of this network, not of a public host.") from None
        return
    kind = addresses.refusal(address.compressed)
    if kind is not None:
        raise invalid(loc, f"{host} is no public address ({kind}). Calls from here may not go there.")


def key_host(provider: str, base: str) -> str:
    """The host that the key of a connection is sent to; "" where none is known."""
    if base:
        return (urlsplit(base).hostname or "").lower()
    return providers.host(provider) if provider in providers.PROVIDERS else ""


def prices(declared: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """``{model or "*": {input, output, cached_input}}``: dollars per million tokens in, micro-cents out."""
    if len(declared) > MOST_PRICES:
        raise invalid(["body", "prices"], f"At most {MOST_PRICES} models have prices in one connection.")
    found = {}
    for model, each in declared.items():
        loc = ["body", "prices", model]
        if not isinstance(each, Mapping) or not {"input", "output"} <= set(each) <= set(PRICED):
            raise invalid(
                loc, 'A price is {"input": dollars, "output": dollars, "cached_input": dollars} per million tokens.'
            )
        amounts = {name: _price(value, [*loc, name]) for name, value in each.items()}
        found[model.lower()] = {"cached_input": amounts["input"], **amounts}
    return found


def _price(value: Any, loc: list[str]) -> int:
    if value == 0 and not isinstance(value, bool):
        return 0
    return from_dollars(limits.decimal(value, loc, "dollars"))


def routing(declared: Mapping[str, Any], provider: Provider) -> dict[str, str]:
    """What a router is pinned to. DomainError ``validation_failed``."""
    if declared and "routes" not in provider.quirks:
        raise invalid(
            ["body", "routing"], f"{provider.label} routes to nobody: routing is for routers such as OpenRouter."
        )
    for name, value in declared.items():
        if name not in ROUTING:
            raise invalid(["body", "routing", name], f"Unknown {name!r}: {limits.nearest(name, ROUTING)}")
        if not isinstance(value, str) or not 1 <= len(value) <= 80:
            raise invalid(
                ["body", "routing", name], f"routing.{name} is the router's own word for it, such as deepinfra or fp8."
            )
    return dict(declared)


def metadata(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Free, but for ``limits``: only ``run.model_cost``, what this connection's key may spend in one run."""
    declared_limits = declared.get("limits")
    if declared_limits is None:
        return dict(declared)
    loc = ["body", "metadata", "limits"]
    if not isinstance(declared_limits, Mapping):
        raise invalid(loc, 'metadata.limits is an object: {"run": {"model_cost": 5}}.')
    for level, quantities in declared_limits.items():
        for name in quantities if isinstance(quantities, Mapping) else [""]:
            if (level, name) != ("run", "model_cost"):
                raise invalid([*loc, level, name], _why_not(level, name))
    limits.parse(declared_limits)
    return dict(declared)


def _why_not(level: str, name: str) -> str:
    if (level, name) == ("run", "cost"):
        return (
            "A connection can't limit run.cost: that would bound our sandbox and driver spend too, money that this key "
            "has nothing to do with. Use run.model_cost, or limits.run.cost at the launch."
        )
    return f"{level}.{name} can't be limited by a connection; only run.model_cost, what its key may spend in one run."
