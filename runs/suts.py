"""The model under test and whose key pays for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accounts.principal import Principal
from kernel import strict_json
from kernel.errors import DomainError, invalid
from runs import limits, providers
from runs.connections import setting_up
from runs.providers import Provider, metering
from runs.schemas import Sut
from secrets_vault import leases, rules
from secrets_vault import queries as vault
from secrets_vault.connections import queries as connections
from secrets_vault.models import Connection, SecretRule

PARAMS_BYTES = 16 << 10


@dataclass(frozen=True)
class BoundSut:
    """What `Run.sut` and `Run.sut_key` record."""

    sut: dict[str, Any]
    key: dict[str, Any]


def bind(principal: Principal, asked: Sut) -> BoundSut:
    """Provider, base URL and key of what was asked.

    Raises DomainError: validation_failed (unknown provider or connection, params too large, a key over http),
    not_available (no base URL), missing_secret (no key for the host).
    """
    if len(strict_json.dumps(asked.params)) > PARAMS_BYTES:
        raise invalid(["body", "sut", "params"], f"sut.params may hold {PARAMS_BYTES} bytes")
    connection = _connection(principal, asked)
    provider = _provider(connection.provider if connection else asked.provider)
    base_url = (connection.base_url if connection else "") or providers.base_url(provider.name)
    if not base_url and provider.name != "simulated":
        raise DomainError(
            "not_available",
            f"{provider.label} has no base URL here. The operator sets BW_PROVIDER_{provider.name.upper()}_BASE_URL, "
            "or you set up a connection with a base URL and name it in sut.connection.",
            errors=[{"loc": ["body", "sut", "provider"], "msg": "no base URL"}],
        )
    sut = {
        "model": asked.model,
        "provider": provider.name,
        "base_url": base_url,
        "params": asked.params,
        "connection": None,
    }
    if connection is None:
        return _kept_from_the_clear(BoundSut(sut, _key(principal, provider, providers.host(provider.name))))
    sut |= {"connection": connection.pk, "connection_name": connection.name}
    sut |= {"params": _pinned(asked.params, connection)}
    if connection.prices:
        sut["prices"] = connection.prices
    if "limits" in connection.metadata:
        sut["limits"] = connection.metadata["limits"]
    host = setting_up.key_host(provider.name, connection.base_url)
    return _kept_from_the_clear(BoundSut(sut, _own_key(connection, host) or _key(principal, provider, host)))


def _kept_from_the_clear(bound: BoundSut) -> BoundSut:
    """Raise validation_failed where the key would have to travel over plain http: the gateway would end the run."""
    if bound.key.get("kind") == "secret" and setting_up.in_the_clear(bound.sut["provider"], bound.sut["base_url"]):
        raise invalid(
            ["body", "sut", "connection" if bound.sut["connection"] else "provider"],
            f"A key is never sent over plain http, and {bound.sut['base_url']} is that. Give the connection an https "
            f"base_url; if the endpoint needs no key, take the secret off the connection, and {bound.key['host']} off "
            "the secret's rules.",
        )
    return bound


def _connection(principal: Principal, asked: Sut) -> Connection | None:
    if asked.connection is None:
        return None
    loc = ["body", "sut", "connection"]
    found = connections.named(principal, asked.connection)
    if found is None:
        raise invalid(loc, f"You have no connection {asked.connection!r}; GET /v1/connections lists yours")
    if found.kind != "ai_model":
        raise invalid(loc, f"{found.name} is a {found.kind} connection; a model needs one of kind ai_model")
    if asked.provider not in (None, found.provider):
        raise invalid(loc, f"{found.name} leads to {found.provider}, not to {asked.provider}: leave sut.provider out")
    return found


def _pinned(params: Mapping[str, Any], connection: Connection) -> dict[str, Any]:
    """The parameters sent with each call, a pinned router's included: no other upstream steps in.

    Raises validation_failed where the parameters say something else of the upstream than the connection does.
    """
    routing: Mapping[str, str] = connection.routing
    if not routing:
        return dict(params)
    said: dict[str, Any] = {"allow_fallbacks": False}
    if "upstream" in routing:
        said["order"] = [routing["upstream"]]
    if "quantization" in routing:
        said["quantizations"] = [routing["quantization"]]
    if params.get("provider", said) != said:
        raise invalid(
            ["body", "sut", "params", "provider"],
            f"The connection {connection.name} is pinned to {' '.join(routing.values())}, and these parameters choose "
            "an upstream too. Leave provider out of sut.params, or name a connection without routing.",
        )
    return {**params, "provider": said}


def _own_key(connection: Connection, host: str) -> dict[str, Any] | None:
    """The connection's own secret, as its rule for the host says. None where it names none.

    Raises DomainError missing_secret where that secret is gone, or is for other hosts by now.
    """
    secret = connection.secret
    if secret is None:
        return None
    matching = {rule.host_pattern: rule for rule in secret.rules.all()} if secret.deleted_at is None else {}
    best = rules.most_specific(matching, host)
    if best is None:
        raise DomainError(
            "missing_secret",
            f"The secret of the connection {connection.name} was deleted or has no rule for {host} any more. Give the "
            f"connection another secret: PATCH /v1/connections/{connection.pk}.",
            errors=[{"loc": ["body", "sut", "connection"], "msg": f"its secret can't be sent to {host}"}],
        )
    return _sealed(matching[best], host)


def check_priced(bound: BoundSut, ceilings: limits.Ceilings) -> None:
    """Raise validation_failed where a ceiling on cost could not be kept, since nobody knows what the model costs."""
    ceilings = limits.narrowed(ceilings, bound.sut.get("limits"))
    sut = bound.sut
    if ceilings.of_money() and not metering.priceable(providers.get(sut["provider"]), sut["model"], sut.get("prices")):
        raise invalid(
            ["body", "limits"],
            f"{sut['model']} at {sut['provider']} has no known price, so a ceiling on cost would never be reached. "
            "Put its price into a connection (prices) and name that in sut.connection, or limit tokens (run.tokens).",
        )


def judge(declared: Mapping[str, Any] | None, phase_models: Mapping[str, Any]) -> Sut | None:
    """The model that judges: the launch's ``phase_models.judge``, else the scorer's own; None where it asks none.

    ``declared``: the impl's judge.
    """
    if declared is None:
        return None
    chosen = phase_models.get("judge")
    named = {"model": chosen["model"], "provider": chosen["provider"]} if chosen else dict(declared)
    return Sut(model=named["model"], provider=named["provider"], params=declared.get("params") or {})


def check_judge(principal: Principal, declared: Mapping[str, Any] | None, phase_models: Mapping[str, Any]) -> None:
    """Raise what ``bind`` raises, in words about the judge, where the scorer's judge could not be asked."""
    asked = judge(declared, phase_models)
    if asked is None:
        return
    try:
        bind(principal, asked)
    except DomainError as refusal:
        raise DomainError(
            refusal.code,
            f"This scorer asks the judge {asked.model} at {asked.provider}. {refusal.detail} Or name another judge: "
            'phase_models {"judge": {"model", "provider"}}.',
            errors=[{"loc": ["body", "phase_models", "judge"], "msg": refusal.detail}],
        ) from None


def check_drivers(principal: Principal, driver: Mapping[str, Any] | None, phase_models: Mapping[str, Any]) -> None:
    """Raise what ``bind`` raises, in words about the driver, where a model that authors could not be asked."""
    chosen = {"driver": driver, **{name: each for name, each in phase_models.items() if name != "judge"}}
    for name, each in chosen.items():
        if not each:
            continue
        try:
            bind(principal, Sut(model=each["model"], provider=each["provider"]))
        except DomainError as refusal:
            loc = ["body", "driver"] if name == "driver" else ["body", "phase_models", name]
            raise DomainError(
                refusal.code,
                f"The driver {each['model']} at {each['provider']} can't be asked. {refusal.detail} Or leave it out: "
                "the builtin driver needs no model.",
                errors=[{"loc": loc, "msg": refusal.detail}],
            ) from None


def check_names(principal: Principal, secrets: Sequence[str]) -> None:
    """Raise validation_failed for a name in ``secrets`` that the account has no secret of."""
    for at, name in enumerate(secrets):
        if vault.secret_named(principal, name) is None:
            raise leases.unknown(at, name)


def _provider(name: str | None) -> Provider:
    if name is None:
        raise invalid(
            ["body", "sut", "provider"], "Name the model's provider, or one of your connections (sut.connection)"
        )
    if name not in providers.PROVIDERS:
        near = limits.nearest(name, tuple(providers.names()))
        raise invalid(["body", "sut", "provider"], f"There is no provider {name!r}: {near}")
    return providers.get(name)


def _key(principal: Principal, provider: Provider, host: str) -> dict[str, Any]:
    """The account's secret for the host, else nothing where the provider needs no key."""
    rule = None if provider.auth == "none" or not host else vault.rule_for_host(principal.account, host)
    if rule is not None:
        return _sealed(rule, host)
    if not provider.needs_key:
        return {"kind": "none"}
    raise DomainError(
        "missing_secret",
        f"You have no secret for {host}, where {provider.label} is reached. Add one: POST /v1/secrets with "
        f'rules [{{"host_pattern": "{host}", "inject_kind": "bearer"}}], or '
        f"`benchwright secrets add NAME KEY --rule {host}:bearer:Authorization`.",
        errors=[{"loc": ["body", "sut", "provider"], "msg": f"no secret whose rule matches {host}"}],
    )


def _sealed(rule: SecretRule, host: str) -> dict[str, Any]:
    return {
        "kind": "secret",
        "secret": rule.secret_id,
        "version": rule.secret.version,
        "inject_kind": rule.inject_kind,
        "inject_target": rule.inject_target,
        "host": host,
    }
