"""Whose key would pay for a launch, and what it may cost."""

from collections.abc import Mapping
from dataclasses import dataclass

from accounts.principal import Principal
from kernel.errors import DomainError
from kernel.money import MICRO_CENTS_PER_DOLLAR
from runs import providers, queries, suts
from runs.connections import setting_up
from runs.models import Run
from runs.pages import words
from runs.pages.launch.form import Form
from runs.providers import metering
from runs.schemas import Sut
from runs.states import TERMINAL
from secrets_vault import queries as vault
from secrets_vault.connections import queries as connections


@dataclass(frozen=True)
class Key:
    """Who pays at a provider. ``state``: secret, none (needs no key), missing, elsewhere (cannot be reached here)."""

    state: str
    provider: str = ""
    host: str = ""
    name: str = ""
    preview: str = ""
    said: str = ""


def key_for(principal: Principal, target: Mapping[str, str]) -> Key:
    """Whose key would pay at a provider or over a connection; ``target`` as ``Form.target`` gives it."""
    over = connections.named(principal, target["connection"]) if "connection" in target else None
    name = over.provider if over else target.get("provider", "")
    if name not in providers.PROVIDERS:
        return Key("unknown")
    host = setting_up.key_host(name, over.base_url if over else "")
    try:
        bound = suts.bind(principal, Sut.model_validate({"model": "any", **target})).key
    except DomainError as refusal:
        state = "missing" if refusal.code == "missing_secret" else "elsewhere"
        return Key(state, name, host, said=refusal.detail)
    if bound["kind"] != "secret":
        return Key("none", name, host)
    secret = vault.secret(principal, bound["secret"])
    return Key("secret", name, host, secret.name, secret.preview)


def price(principal: Principal, form: Form, draft: Run | None, likely: str) -> str:
    """What the button says: nothing to pay, the ceiling, what it will likely cost, or that nobody knows."""
    if _costs_nothing(principal, form, draft):
        return "free"
    if form["cost"] and "cost" not in form.errors:
        return f"at most ${form['cost'].removeprefix('$')}"
    return f"{likely}, no ceiling" if likely else f"{words.UNKNOWN}, no ceiling"


def _costs_nothing(principal: Principal, form: Form, draft: Run | None) -> bool:
    """Whether no call of the run can cost anything: neither of the model nor of the scorer's judge."""
    target = form.target()
    over = connections.named(principal, target["connection"]) if "connection" in target else None
    name = over.provider if over else target.get("provider", "")
    judge = suts.judge(draft.impl.judge, {}) if draft is not None and draft.impl is not None else None
    return metering.is_free(name, form["model"], over.prices if over else None) and (
        judge is None or metering.is_free(judge.provider or "", judge.model)
    )


def likely(principal: Principal, form: Form, draft: Run | None, parent: Run | None) -> str:
    """What it will cost: judged by the run to replay, else by the newest of this model with this scorer; "" if unknown.

    A replay that asks another model than its parent is judged as any other launch.
    """
    if draft is None or draft.impl is None:
        return ""
    target = form.target()
    if parent is not None and {"model": form["model"], **target}.items() <= parent.sut.items():
        told = estimate(parent, draft.planned) if "connection" in target or not parent.sut.get("connection") else ""
        if told:
            return told
    asked = {f"sut__{name}": value for name, value in target.items()}
    same = {"impl": draft.impl, "sut__model": form["model"], **asked}
    last = queries.own(principal).filter(**same, status__in=TERMINAL, unpriced_calls=0, cost_model__gt=0)
    run = last.order_by("-created_at").first()
    return estimate(run, draft.planned) if run else ""


def estimate(run: Run, planned: int) -> str:
    """What ``planned`` cells cost at what each ended one of ``run`` did: ``≈ $0.38``; "" where that is not known."""
    ended = run.passed + run.failed + run.unscored + run.errored
    if run.unpriced_calls or not run.cost_model or not ended:
        return ""
    dollars = run.cost_model / ended * planned / MICRO_CENTS_PER_DOLLAR
    return f"≈ ${dollars:,.2f}" if dollars >= 0.01 else "under $0.01"
