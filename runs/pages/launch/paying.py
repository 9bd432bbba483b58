"""Whose key would pay for a launch, and what it may cost."""

from collections.abc import Mapping
from dataclasses import dataclass

from accounts.principal import Principal
from kernel.errors import DomainError
from kernel.money import MICRO_CENTS_PER_DOLLAR
from runs import providers, queries, suts
from runs.connections import setting_up
from runs.models import Run
from runs.pages.launch.form import Form
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


def price(form: Form, *, free: bool) -> str:
    """What the button says that it costs at most."""
    if free:
        return "free"
    return f"at most ${form['cost'].removeprefix('$')}" if form["cost"] and "cost" not in form.errors else "no cap"


def likely(principal: Principal, form: Form, draft: Run | None) -> str:
    """What it will cost, judged by the newest run of this model with this scorer; "" where there is none."""
    if draft is None or draft.impl is None:
        return ""
    asked = {f"sut__{name}": value for name, value in form.target().items()}
    same = {"impl": draft.impl, "sut__model": form["model"], **asked}
    last = queries.own(principal).filter(**same, status__in=TERMINAL, unpriced_calls=0, cost_model__gt=0)
    run = last.order_by("-created_at").first()
    ended = run.passed + run.failed + run.unscored + run.errored if run else 0
    if run is None or not ended:
        return ""
    dollars = run.cost_model / ended * draft.planned / MICRO_CENTS_PER_DOLLAR
    return f"≈ ${dollars:,.2f}" if dollars >= 0.01 else "under $0.01"
