"""The model under test and whose key pays for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from accounts.principal import Principal
from kernel import strict_json
from kernel.errors import DomainError, invalid
from runs import limits, providers
from runs.providers import Provider
from runs.schemas import Sut
from secrets_vault import leases
from secrets_vault import queries as vault

PARAMS_BYTES = 16 << 10


@dataclass(frozen=True)
class BoundSut:
    """What `Run.sut` and `Run.sut_key` record."""

    sut: dict[str, Any]
    key: dict[str, Any]


def bind(principal: Principal, asked: Sut) -> BoundSut:
    """Provider, base URL and key of what was asked.

    Raises DomainError: validation_failed (unknown provider, params too large), not_available (connection),
    missing_secret (no key for the provider's host).
    """
    if asked.connection is not None:
        raise DomainError(
            "not_available",
            "Connections are not available yet. Leave sut.connection out: the secret whose rule matches the "
            "provider's host is used.",
            errors=[{"loc": ["body", "sut", "connection"], "msg": "not available"}],
        )
    if len(strict_json.dumps(asked.params)) > PARAMS_BYTES:
        raise invalid(["body", "sut", "params"], f"sut.params may hold {PARAMS_BYTES} bytes")
    provider = _provider(asked.provider)
    base_url = providers.base_url(provider.name)
    if not base_url and provider.name != "simulated":
        raise DomainError(
            "not_available",
            f"{provider.label} has no base URL here. The operator sets BW_PROVIDER_{provider.name.upper()}_BASE_URL.",
            errors=[{"loc": ["body", "sut", "provider"], "msg": "no base URL"}],
        )
    sut = {
        "model": asked.model,
        "provider": provider.name,
        "base_url": base_url,
        "params": asked.params,
        "connection": None,
    }
    return BoundSut(sut, _key(principal, provider))


def check_names(principal: Principal, secrets: Sequence[str]) -> None:
    """Raise validation_failed for a name in ``secrets`` that the account has no secret of."""
    for at, name in enumerate(secrets):
        if vault.secret_named(principal, name) is None:
            raise leases.unknown(at, name)


def _provider(name: str) -> Provider:
    if name not in providers.PROVIDERS:
        near = limits.nearest(name, tuple(providers.names()))
        raise invalid(["body", "sut", "provider"], f"There is no provider {name!r}: {near}")
    return providers.get(name)


def _key(principal: Principal, provider: Provider) -> dict[str, Any]:
    """The account's secret for the provider's host, else nothing where the provider needs no key."""
    host = providers.host(provider.name)
    rule = None if provider.auth == "none" or not host else vault.rule_for_host(principal.account, host)
    if rule is not None:
        return {
            "kind": "secret",
            "secret": rule.secret_id,
            "version": rule.secret.version,
            "inject_kind": rule.inject_kind,
            "inject_target": rule.inject_target,
            "host": host,
        }
    if not provider.needs_key:
        return {"kind": "none"}
    raise DomainError(
        "missing_secret",
        f"You have no secret for {host}, where {provider.label} is reached. Add one: POST /v1/secrets with "
        f'rules [{{"host_pattern": "{host}", "inject_kind": "bearer"}}], or '
        f"`benchwright secrets add NAME KEY --rule {host}:bearer:Authorization`.",
        errors=[{"loc": ["body", "sut", "provider"], "msg": f"no secret whose rule matches {host}"}],
    )
