"""The form for a launch in words: the request, the model where the words don't name it, and who approves the plan."""

from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from accounts.pages import once
from accounts.principal import Principal
from kernel import bodies
from kernel.errors import DomainError, invalid
from runs import launching, providers
from runs.models import Run
from runs.pages.launch import again
from runs.pages.launch.form import Form
from runs.schemas import LaunchBody
from secrets_vault.connections import queries as connections

FIELDS = ("request", "model", "provider", "limit", "cost", "approve", "hints", "choice", "again")
EXAMPLES = (
    "Run MMLU Abstract Algebra on openai/gpt-4o-mini via OpenRouter",
    "BFCL v4 parallel function calling on qwen/qwen3-32b via OpenRouter, first 50 samples",
    "GSM8K on the local model, 20 problems",
)


def form_of(sent: Any) -> Form:
    """The known fields of a query or a posted form."""
    form = Form.of(sent)
    form.values = {name: str(sent.get(name, "")).replace("\x00", "")[:20_000].strip() for name in FIELDS}
    form.values["choice"] = "\n".join(each[:300] for each in sent.getlist("choice")[:20]).replace("\x00", "")
    return form


def begin(principal: Principal, form: Form) -> Form:
    """The form as it is first shown: what the link said, then what the run that it names was launched with."""
    run = again.run_of(principal, form["again"])
    if run is None:
        return replace(form, values={**form.values, "again": ""})
    known = again.values(run)
    filled = {name: form[name] or known.get(name, "") for name in form.values}
    filled["choice"] = "\n".join(
        filter(None, dict.fromkeys([*known["choice"].split("\n"), *form["choice"].split("\n")]))
    )
    return replace(form, values=filled)


def launch_once(principal: Principal, form: Form, mark: str) -> str | None:
    """Launch and give the run's id; the same for a form sent before. None with ``form.errors`` where it can't be."""
    return once.act(principal, mark, form.errors, lambda: _launched(principal, form))


def _launched(principal: Principal, form: Form) -> str | None:
    try:
        return str(launching.launch(principal, _body(form, again.run_of(principal, form["again"]))).id)
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
        "meant": again.meant(again.run_of(principal, form["again"]), form.values),
        "providers": [(name, providers.get(name).label) for name in providers.names()],
        "connections": connections.visible(principal).filter(kind="ai_model").order_by("name"),
        "mark": once.fresh(),
    }


def _body(form: Form, before: Run | None) -> LaunchBody:
    """The launch request; ``before``: the run that it asks for once more. DomainError whose errors name its fields."""
    if not form["request"]:
        raise invalid(["body", "request"], "Say what you want measured, and on which model.")
    asked: dict[str, Any] = {**(again.kept(before) if before else {}), "request": form["request"]}
    if form["model"]:
        if not form["provider"]:
            raise invalid(["body", "sut", "provider"], "Choose where the model is asked.")
        same = before is not None and before.sut.get("model") == form["model"]
        params = {"params": before.sut.get("params") or {}} if before is not None and same else {}
        asked["sut"] = {"model": form["model"], **form.target(), **params}
    if limits := form.limits(before):
        asked["limits"] = limits
    metadata = {name: value for name, value in asked.get("metadata", {}).items() if name != "autonomous"}
    asked["metadata"] = {**metadata, **({"autonomous": False} if form["approve"] else {})}
    if hints := again.hints(form.values):
        asked["hints"] = hints
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
