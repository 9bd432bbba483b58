"""The form that forks a run: what to change in the scorer, and what is graded with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from accounts.pages import once
from accounts.principal import Principal
from kernel.errors import DomainError
from registry import queries as registry
from runs import queries
from runs.forking import making, reuse
from runs.models import Run
from runs.pages.lineage.naming import title
from runs.schemas import ForkBody

FIELDS = ("description", "impl", "mode")
SCORERS = 100  # in the list


@dataclass
class Form:
    """What was typed; ``errors`` by field, "" for what no field can mend."""

    values: dict[str, str]
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, posted: Mapping[str, str]) -> "Form":
        values = {name: posted.get(name, "").strip() for name in FIELDS}
        values["mode"] = values["mode"] if values["mode"] in ("rerun", "rescore") else "rescore"
        return cls(values)

    def body(self) -> ForkBody:
        """Raises ValidationError: the words are too long."""
        return ForkBody.model_validate({name: value for name, value in self.values.items() if value})

    def refuse(self, refusal: DomainError) -> None:
        """The refusal beside the field that it is about."""
        names = [error["loc"][-1] for error in refusal.errors]
        self.errors[next((name for name in names if name in FIELDS), "")] = refusal.detail


def begin(principal: Principal, again: str) -> Form:
    """The form as it is first shown: what ``again``, a fork of one's own, was to change; else empty."""
    filled = Form.of({})
    try:
        before = queries.run(principal, again, write=True) if again else None
    except DomainError:
        before = None
    if before is not None and before.mode == "fork":
        filled.values |= {"description": before.description, "mode": before.fork_mode or filled.values["mode"]}
    return filled


def fork_once(principal: Principal, parent: Run, form: Form, mark: str) -> str | None:
    """Fork as the form says and give the fork's id; the same for a form that was sent before.

    None where it can't be, and then ``form.errors`` tell why.
    """
    return once.act(principal, mark, form.errors, lambda: _forked(principal, parent, form))


def _forked(principal: Principal, parent: Run, form: Form) -> str | None:
    try:
        return str(making.fork(principal, str(parent.id), form.body()).id)
    except ValidationError:
        form.errors["description"] = "Say it in at most 20,000 characters."
    except DomainError as refusal:
        form.refuse(refusal)
    return None


def page(principal: Principal, parent: Run, form: Form) -> dict[str, Any]:
    """What the page shows."""
    scorers = registry.registrations(principal, parent.subset_id) if parent.subset_id else None
    others = scorers.exclude(impl=parent.impl_id).order_by("-created_at")[:SCORERS] if scorers is not None else []
    return {
        "run": parent,
        "title": title(parent, mine=parent.owner_id == principal.account.pk),
        "form": form.values,
        "errors": form.errors,
        "scorers": others,
        "stored": reuse.any_output(parent.id),
        "shut": making.refusal(parent),
        "mark": once.fresh(),
    }
