"""The form for a launch in words: the request, the model where the words don't name it, and who approves the plan."""

from typing import Any

from pydantic import ValidationError

from accounts.pages import once
from accounts.principal import Principal
from kernel import bodies
from kernel.errors import DomainError, invalid
from runs import launching, providers
from runs.pages.launch.form import Form
from runs.schemas import LaunchBody
from secrets_vault.connections import queries as connections

FIELDS = ("request", "model", "provider", "limit", "cost", "approve")
EXAMPLES = (
    "Run MMLU Abstract Algebra on openai/gpt-4o-mini via OpenRouter",
    "BFCL v4 parallel function calling on qwen/qwen3-32b via OpenRouter, first 50 samples",
    "GSM8K on the local model, 20 problems",
)


def form_of(sent: Any) -> Form:
    """The known fields of a query or a posted form."""
    form = Form.of(sent)
    form.values = {name: str(sent.get(name, "")).replace("\x00", "")[:20_000].strip() for name in FIELDS}
    return form


def launch_once(principal: Principal, form: Form, mark: str) -> str | None:
    """Launch and give the run's id; the same for a form sent before. None with ``form.errors`` where it can't be."""
    return once.act(principal, mark, form.errors, lambda: _launched(principal, form))


def _launched(principal: Principal, form: Form) -> str | None:
    try:
        return str(launching.launch(principal, _body(form)).id)
    except DomainError as refusal:
        _refuse(form, refusal)
        return None


def page(principal: Principal, form: Form) -> dict[str, Any]:
    """What the page shows."""
    return {
        "form": form.values,
        "errors": form.errors,
        "marked": any(form.errors),
        "examples": EXAMPLES,
        "providers": [(name, providers.get(name).label) for name in providers.names()],
        "connections": connections.visible(principal).filter(kind="ai_model").order_by("name"),
        "mark": once.fresh(),
    }


def _body(form: Form) -> LaunchBody:
    """The launch request. Raises DomainError whose errors name its fields."""
    if not form["request"]:
        raise invalid(["body", "request"], "Say what you want measured, and on which model.")
    asked: dict[str, Any] = {"request": form["request"]}
    if form["model"]:
        if not form["provider"]:
            raise invalid(["body", "sut", "provider"], "Choose where the model is asked.")
        asked["sut"] = {"model": form["model"], **form.target()}
    if run := form.ceilings():
        asked["limits"] = {"run": run}
    if form["approve"]:
        asked["metadata"] = {"autonomous": False}
    try:
        return LaunchBody.model_validate(asked)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        raise bodies.refused({**one, "loc": ("body", *one["loc"])} for one in faults) from None


def _refuse(form: Form, refusal: DomainError) -> None:
    for fault in refusal.errors:
        names = [str(part) for part in fault["loc"] if part != "body"]
        place = next((name for name in reversed(names) if name in FIELDS), "")
        place = "limit" if names[-1:] == ["tasks"] else place
        form.errors.setdefault(place, refusal.detail if len(refusal.errors) == 1 else str(fault["msg"]))
    if not form.errors:
        form.errors[""] = refusal.detail
