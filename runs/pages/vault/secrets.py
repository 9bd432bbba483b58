"""The page of secrets: all of them, one with its uses, and what is done to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, Q, QuerySet

from accounts.principal import Principal
from kernel.errors import DomainError
from runs.models import Run
from runs.pages.lineage.naming import title
from runs.pages.vault.paging import Paged, paged
from runs.pages.vault.presets import preset, presets
from runs.pages.vault.secret_form import SecretForm
from runs.states import ACTIVE
from secrets_vault import queries, vault
from secrets_vault.models import Secret, SecretLease, SecretUse
from secrets_vault.rules import warnings

SHOWN = 20  # runs that a deletion would cut off, by name; the others are counted


@dataclass(frozen=True)
class Listed:
    """A secret with when and by how many runs it was used."""

    row: Secret
    last_at: datetime | None
    runs: int


def page(principal: Principal, params: Mapping[str, str], form: SecretForm | None = None) -> dict[str, Any]:
    """Everything the list shows; ``form``: a refused one. ``params``: ``for`` names a provider to fill in."""
    rows = list(queries.visible(principal).prefetch_related("rules").order_by("name"))
    used = {
        found["secret"]: found
        for found in SecretUse.objects.filter(secret__in=rows)
        .values("secret")
        .annotate(last=Max("last_at"), runs=Count("reference", distinct=True))
    }
    chosen = preset(params.get("for", ""))
    fresh = form or SecretForm.filled_for(chosen)
    none: dict[str, Any] = {"last": None, "runs": 0}
    return {
        "secrets": [Listed(row, used.get(row.pk, none)["last"], used.get(row.pk, none)["runs"]) for row in rows],
        "presets": presets(),
        "chosen": chosen,
        **fresh.shown(),
    }


def one(principal: Principal, secret_id: str, params: Mapping[str, str]) -> dict[str, Any]:
    """One secret: its rules to edit, its value to rotate, what it was used for."""
    secret = queries.secret(principal, secret_id)
    return {
        "secret": secret,
        "uses": uses(principal, secret_id, params),
        "going": using(secret).count(),
        "seen": secret.updated_at.isoformat(),
        **SecretForm.of_secret(secret).shown(),
    }


def uses(principal: Principal, secret_id: str, params: Mapping[str, str]) -> Paged[SecretUse]:
    rows = queries.uses(principal, secret_id).order_by("-last_at", "-pk")
    return paged(rows, params)


def using(secret: Secret) -> QuerySet[Run]:
    """The runs under way that a deletion would cut off: those that hold a lease, or pay with it."""
    held = [
        UUID(reference) for reference in SecretLease.objects.filter(secret=secret).values_list("reference", flat=True)
    ]
    under_way = Run.objects.filter(owner=secret.owner_id, status__in=ACTIVE, destroyed_at=None)
    return under_way.filter(Q(sut_key__secret=secret.pk) | Q(id__in=held)).order_by("-created_at")


def doomed(principal: Principal, secret_id: str) -> dict[str, Any]:
    """What a deletion would take with it."""
    secret = queries.secret(principal, secret_id)
    found = using(secret).select_related("benchmark")
    count = found.count()
    runs = [{"run": run, "title": title(run, mine=True)} for run in found[:SHOWN]]
    return {"secret": secret, "runs": runs, "count": count, "more": count - len(runs)}


# -- acts ----------------------------------------------------------------------------------------------------------
def add(principal: Principal, form: SecretForm, value: str) -> tuple[Secret, list[str]] | None:
    """The new secret with what is to be said of its value; None where it can't be, and then the form tells why."""
    try:
        form.check()
        return vault.create(principal, form.name, value, form.rules(), form.description), warnings(value)
    except DomainError as refusal:
        form.refuse(refusal)
        return None


def rotate(principal: Principal, secret_id: str, value: str) -> tuple[Secret, list[str]]:
    """DomainError ``validation_failed`` where the value can't be taken."""
    return vault.rotate(principal, queries.secret(principal, secret_id), value), warnings(value)


def edit(principal: Principal, secret_id: str, form: SecretForm, *, seen: str, value: str) -> Secret | None:
    """Name, description and rules; ``value`` only where the new rules ask for it. None where it can't be."""
    secret = queries.secret(principal, secret_id)
    try:
        form.check()
        if seen != secret.updated_at.isoformat():
            raise DomainError(
                "precondition_failed", "It was changed elsewhere since you opened this page. Look again, then edit."
            )
        return vault.update(
            principal,
            secret,
            name=form.name,
            description=form.description,
            rules=form.rules(),
            value=value or None,
            seen=secret.updated_at,
        )
    except DomainError as refusal:
        form.refuse(refusal)
        return None


def delete(principal: Principal, secret_id: str, typed: str) -> str | None:
    """The name of the secret that is gone; None where ``typed`` is not its name."""
    secret = queries.secret(principal, secret_id)
    if typed.strip() != secret.name:
        return None
    vault.delete(principal, secret)
    return secret.name
