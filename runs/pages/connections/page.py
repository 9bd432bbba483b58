"""What the pages of connections show, and what is done on them."""

import shlex
from datetime import datetime
from typing import Any

from accounts.principal import Principal
from kernel.errors import DomainError
from runs import providers
from runs.connections import setting_up, trying
from runs.models import Run
from runs.pages.connections.form import ConnectionForm
from runs.states import ACTIVE
from secrets_vault import queries as vault
from secrets_vault.connections import acts, queries
from secrets_vault.models import Connection

MODELS, COMPUTE = "ai_model", "compute"
BACKENDS = {"e2b": "E2B", "sandbox0": "sandbox0"}


def page(principal: Principal, kind: str, form: ConnectionForm | None = None, **filled: str) -> dict[str, Any]:
    """All connections of a kind and the form of a new one; ``form``: a refused one, ``filled``: fields of a new one."""
    found = list(queries.visible(principal).filter(kind=kind).order_by("name"))
    fresh = form or ConnectionForm.of(filled, kind)
    return {"connections": [_listed(row) for row in found], **_choices(principal, kind), **fresh.shown()}


def one(
    principal: Principal, connection_id: str, form: ConnectionForm | None = None, asked: str = ""
) -> dict[str, Any]:
    """One connection to edit and to try; ``asked``: the model of the last test. DomainError ``not_found``."""
    found = queries.connection(principal, connection_id)
    usual = asked or str(found.metadata.get("model") or next((each for each in found.prices if each != "*"), ""))
    under_way = Run.objects.filter(owner=principal.account, status__in=ACTIVE, destroyed_at=None)
    return {
        **_choices(principal, found.kind),
        **(form or ConnectionForm.of_connection(found)).shown(),
        "connection": found,
        "provider": _label(found),
        "where": _where(found),
        "routes": found.kind == MODELS and "routes" in providers.get(found.provider).quirks,
        "going": under_way.filter(sut__connection=found.pk).count(),
        "seen": found.updated_at.isoformat(),
        "command": f"benchwright run --benchmark bm_… --connection {found.pk} --model {shlex.quote(usual or 'MODEL')}",
        "usual": usual,
    }


def _choices(principal: Principal, kind: str) -> dict[str, Any]:
    labels = BACKENDS if kind == COMPUTE else {name: each.label for name, each in providers.PROVIDERS.items()}
    return {
        "providers": list(labels.items()),
        "secrets": vault.visible(principal).order_by("name"),
        "compute": kind == COMPUTE,
    }


def _label(found: Connection) -> str:
    if found.kind == COMPUTE:
        return BACKENDS.get(found.provider, found.provider)
    return providers.get(found.provider).label


def _where(found: Connection) -> str:
    """Where its calls go."""
    return found.base_url or (providers.base_url(found.provider) if found.kind == MODELS else "")


def _listed(found: Connection) -> dict[str, Any]:
    secret = found.secret if found.secret is not None and found.secret.deleted_at is None else None
    cap = found.metadata.get("limits", {}).get("run", {}).get("model_cost")
    return {
        "row": found,
        "provider": _label(found),
        "where": _where(found),
        "secret": secret,
        "lost": found.secret is not None and secret is None,
        "cap": "" if cap is None else f"${cap:,.2f}" if cap >= 0.01 else f"${cap:g}",
    }


# -- acts ----------------------------------------------------------------------------------------------------------
def add(principal: Principal, form: ConnectionForm) -> Connection | None:
    """The new connection; None where it can't be, and then the form tells why."""
    try:
        return setting_up.create(principal, form["name"], form.wanted(), form["secret"] or None)
    except DomainError as refusal:
        form.refuse(refusal)
        return None


def edit(principal: Principal, connection_id: str, form: ConnectionForm, seen: str) -> Connection | None:
    """Everything but kind and provider; None where it can't be, and then the form tells why."""
    found = queries.connection(principal, connection_id)
    form.keeping(found)
    try:
        if seen != found.updated_at.isoformat():
            raise DomainError(
                "precondition_failed", "It was changed elsewhere since you opened this page. Look again, then edit."
            )
        wanted = form.wanted()
        changes: dict[str, Any] = {"name": form["name"], "base_url": wanted.base_url, "secret": form["secret"] or None}
        changes |= {"metadata": wanted.metadata}
        if found.kind == MODELS:
            changes |= {"prices": wanted.prices, "routing": wanted.routing}
        return setting_up.update(principal, found, changes, datetime.fromisoformat(seen))
    except DomainError as refusal:
        form.refuse(refusal)
        return None


def tried(principal: Principal, connection_id: str, model: str) -> dict[str, Any]:
    """What one tiny call told: ``result``, or ``test_error`` where there was none. DomainError ``not_found``."""
    found = queries.connection(principal, connection_id)
    try:
        return {"result": trying.try_out(principal, found, model or None)}
    except DomainError as refusal:
        return {"test_error": refusal.detail, "test_code": refusal.code}


def delete(principal: Principal, connection_id: str) -> Connection:
    """The connection that is gone. DomainError ``not_found``."""
    found = queries.connection(principal, connection_id)
    acts.delete(principal, found)
    return found
