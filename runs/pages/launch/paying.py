"""Whose key would pay for a launch, and what it may cost."""

from dataclasses import dataclass

from accounts.principal import Principal
from kernel.errors import DomainError
from kernel.money import MICRO_CENTS_PER_DOLLAR
from runs import providers, queries, suts
from runs.models import Run
from runs.pages.launch.form import Form
from runs.schemas import Sut
from runs.states import TERMINAL
from secrets_vault import queries as vault


@dataclass(frozen=True)
class Key:
    """Who pays at a provider. ``state``: secret, none (needs no key), missing, elsewhere (cannot be reached here)."""

    state: str
    host: str = ""
    name: str = ""
    preview: str = ""
    said: str = ""


def key_for(principal: Principal, name: str) -> Key:
    """Whose key would pay at the provider of this name."""
    if name not in providers.PROVIDERS:
        return Key("unknown")
    host = providers.host(name)
    try:
        bound = suts.bind(principal, Sut(model="any", provider=name)).key
    except DomainError as refusal:
        return Key("missing" if refusal.code == "missing_secret" else "elsewhere", host, said=refusal.detail)
    if bound["kind"] != "secret":
        return Key("none", host)
    secret = vault.secret(principal, bound["secret"])
    return Key("secret", host, secret.name, secret.preview)


def price(form: Form, *, free: bool) -> str:
    """What the button says that it costs at most."""
    if free:
        return "free"
    return f"at most ${form['cost'].removeprefix('$')}" if form["cost"] and "cost" not in form.errors else "no cap"


def likely(principal: Principal, form: Form, draft: Run | None) -> str:
    """What it will cost, judged by the newest run of this model with this scorer; "" where there is none."""
    if draft is None or draft.impl is None:
        return ""
    same = {"impl": draft.impl, "sut__model": form["model"], "sut__provider": form["provider"]}
    last = queries.own(principal).filter(**same, status__in=TERMINAL, unpriced_calls=0, cost_model__gt=0)
    run = last.order_by("-created_at").first()
    ended = run.passed + run.failed + run.unscored + run.errored if run else 0
    if run is None or not ended:
        return ""
    dollars = run.cost_model / ended * draft.planned / MICRO_CENTS_PER_DOLLAR
    return f"≈ ${dollars:,.2f}" if dollars >= 0.01 else "under $0.01"
