"""Acts on secrets: create, edit, rotate, delete. Values come in, are sealed, and are never read here again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from accounts.principal import Principal
from kernel import ids, secret_signs
from kernel.clock import now
from kernel.errors import DomainError, invalid
from secrets_vault import queries, sealing
from secrets_vault.models import Secret, SecretRule, SecretVersion
from secrets_vault.rules import (
    HEADER_KINDS,
    Rule,
    check_name,
    check_rules,
    check_value,
    conflict,
    preview,
    refuse_told,
)

Rules = Sequence[Mapping[str, object]]


@sensitive_variables("value", "raw")
def create(principal: Principal, name: str, value: str, rules: Rules, description: str = "") -> Secret:
    """Seal and keep a new secret.

    DomainError ``validation_failed``, ``secret_in_payload``, ``name_taken``, ``secret_rule_conflict``, or
    ``unavailable`` (no vault key).
    """
    refuse_told(value, _asked(rules), _told(name, description, rules))
    check_name(name)
    secret_signs.refuse({"name": name, "description": description}, "body")
    checked = check_rules(rules)
    raw = check_value(value, _kinds(checked))
    with transaction.atomic():
        queries.lock_account(principal)
        _refuse_taken_name(principal, name)
        _refuse_conflicts(principal, checked)
        secret = Secret(
            id=ids.prefixed_ulid("sec"),
            owner=principal.account,
            name=name,
            description=description,
            preview=preview(value),
        )
        secret.save(force_insert=True)
        _seal_version(secret, raw)
        _write_rules(secret, checked)
    return secret


@sensitive_variables("value", "raw")
def update(
    principal: Principal,
    secret: Secret,
    *,
    value: str | None = None,
    rules: Rules | None = None,
    name: str | None = None,
    description: str | None = None,
    seen: datetime | None = None,
) -> Secret:
    """Edit a secret; ``value`` rotates it. ``seen``: the ``updated_at`` the caller read (412 if it moved since).

    A value that is sent is looked for in the name, description and rules; one that is sealed can't be.
    """
    secret_signs.refuse({"name": name, "description": description}, "body")
    with transaction.atomic():
        queries.lock_account(principal)
        secret = _locked(principal, secret, seen)
        if value is not None:
            after = rules if rules is not None else [asdict(rule) for rule in current_rules(secret)]
            shown = (secret.name if name is None else name, secret.description if description is None else description)
            refuse_told(value, _asked(after), _told(*shown, after))
        checked = check_rules(rules) if rules is not None else current_rules(secret)
        if value is not None:
            raw = check_value(value, _kinds(checked))
            secret.version += 1
            secret.preview = preview(value)
            _seal_version(secret, raw)
        elif rules is not None:
            _refuse_stricter_kinds(secret, checked)
        if rules is not None:
            _refuse_conflicts(principal, checked, besides=secret)
            secret.rules.all().delete()
            _write_rules(secret, checked)
        _rename(principal, secret, name)
        if description is not None:
            secret.description = description
        secret.save()
    return secret


@sensitive_variables("value")
def rotate(principal: Principal, secret: Secret, value: str) -> Secret:
    """A new value. Runs under way keep the version they were launched with."""
    return update(principal, secret, value=value)


def delete(principal: Principal, secret: Secret) -> None:
    """Hide the secret and wipe every sealed version: runs that use it are cut off."""
    with transaction.atomic():
        secret = _locked(principal, secret, None)
        secret.deleted_at = now()
        secret.save()
        secret.versions.update(sealed=b"")
        secret.rules.all().delete()


def current_rules(secret: Secret) -> list[Rule]:
    return sorted(Rule(r.host_pattern, r.inject_kind, r.inject_target) for r in secret.rules.all())


def _asked(rules: Rules) -> set[str]:
    """The kinds that rules ask for before they are checked."""
    return {str(rule.get("inject_kind") or "") for rule in rules}


def _told(name: str, description: str, rules: Rules) -> Iterator[tuple[list[str | int], str]]:
    """(place, text) of what is shown beside a value."""
    yield ["body", "name"], name
    yield ["body", "description"], description
    for at, rule in enumerate(rules):
        for part in ("host_pattern", "inject_target"):
            yield ["body", "rules", at, part], str(rule.get(part) or "")


def _kinds(checked: Sequence[Rule]) -> set[str]:
    return {rule.inject_kind for rule in checked}


def _locked(principal: Principal, secret: Secret, seen: datetime | None) -> Secret:
    fresh = queries.visible(principal).select_for_update(of=("self",)).filter(pk=secret.pk).first()
    if fresh is None:
        raise queries.missing()
    if seen is not None and fresh.updated_at != seen:
        raise DomainError("precondition_failed")
    return fresh


def _refuse_taken_name(principal: Principal, name: str) -> None:
    if queries.visible(principal).filter(name=name).exists():
        raise DomainError(
            "name_taken",
            f"A secret named {name} exists. Rotate it (PATCH its value) or choose another name.",
            errors=[{"loc": ["body", "name"], "msg": "taken"}],
        )


def _rename(principal: Principal, secret: Secret, name: str | None) -> None:
    if name is not None and name != secret.name:
        _refuse_taken_name(principal, check_name(name))
        secret.name = name


def _refuse_conflicts(principal: Principal, checked: Sequence[Rule], besides: Secret | None = None) -> None:
    others = SecretRule.objects.filter(
        secret__owner=principal.account, secret__deleted_at=None, host_pattern__in=[r.host_pattern for r in checked]
    ).select_related("secret")
    if besides is not None:
        others = others.exclude(secret=besides)
    rival = others.first()
    if rival is not None:
        raise conflict(rival.host_pattern, rival.secret.name)


def _refuse_stricter_kinds(secret: Secret, checked: Sequence[Rule]) -> None:
    """The sealed value can't be read here, so a kind with stricter demands needs it said again."""
    before, after = _kinds(current_rules(secret)), _kinds(checked)
    stricter = ("basic" in after and "basic" not in before) or (
        bool(after & HEADER_KINDS) and not before & HEADER_KINDS
    )
    if stricter:
        raise invalid(["body", "value"], "These rules ask more of the value than the old ones did: send it along.")


def _seal_version(secret: Secret, raw: bytes) -> None:
    sealed = sealing.seal(raw, sealing.aad_for(secret.owner_id, secret.id, secret.version))
    SecretVersion.objects.create(secret=secret, version=secret.version, sealed=sealed.data, key_id=sealed.key_id)


def _write_rules(secret: Secret, checked: Sequence[Rule]) -> None:
    SecretRule.objects.bulk_create(
        SecretRule(
            secret=secret,
            host_pattern=rule.host_pattern,
            inject_kind=rule.inject_kind,
            inject_target=rule.inject_target,
        )
        for rule in checked
    )
