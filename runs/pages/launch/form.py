"""What somebody typed into the launch form, and the same request that the API takes made of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from kernel import bodies, strict_json
from kernel.errors import DomainError, invalid
from runs.models import Run
from runs.reporting import ceilings
from runs.schemas import LaunchBody

FIELDS = (
    "benchmark", "subset", "impl", "replay", "only",
    "model", "provider", "params", "trials", "limit", "concurrency", "cost",
)  # fmt: skip
ONLY = ("", "only_failed", "only_errored")
_LONGEST = 20_000
# Where a fault of the request is shown: the longest beginning counts.
_PLACES = {
    ("benchmark",): "benchmark",
    ("subset",): "subset",
    ("impl",): "impl",
    ("replay",): "only",
    ("replay", "from_run"): "replay",
    ("sut", "model"): "model",
    ("sut", "provider"): "provider",
    ("sut", "connection"): "provider",
    ("sut", "params"): "params",
    ("trials",): "trials",
    ("concurrency",): "concurrency",
    ("limits", "run", "tasks"): "limit",
    ("limits", "run", "cost"): "cost",
}


@dataclass
class Form:
    """Everything typed, as text, and what is wrong with it: field -> words; "" is the form as a whole."""

    values: dict[str, str]
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, sent: Mapping[str, str]) -> "Form":
        """The known fields of a query or a posted form; others are not looked at."""
        return cls({name: str(sent.get(name, "")).replace("\x00", "")[:_LONGEST].strip() for name in FIELDS})

    def __getitem__(self, name: str) -> str:
        return self.values[name]

    def body(self, parent: Run | None) -> LaunchBody:
        """The launch request. Raises DomainError whose errors name its fields."""
        self._demand()
        sut = {"model": self["model"], **self.target(), "params": self._params()}
        asked: dict[str, Any] = {"sut": sut, "limits": self.limits(parent)}
        asked |= {name: self._whole(name) for name in ("trials", "concurrency") if self[name]}
        if self["replay"]:
            only = {self["only"]: True} if self["only"] in ONLY[1:] else {}
            asked["replay"] = {"from_run": self["replay"], **only}
        else:
            asked |= {name: self[name] for name in ("benchmark", "subset", "impl") if self[name]}
        try:
            return LaunchBody.model_validate(asked)
        except ValidationError as error:
            faults = error.errors(include_url=False)
            raise bodies.refused({**one, "loc": ("body", *one["loc"])} for one in faults) from None

    def target(self) -> dict[str, str]:
        """Where the model is asked: at a provider, or over a connection, which stands in the same field."""
        return {"connection" if self["provider"].startswith("con_") else "provider": self["provider"]}

    def _demand(self) -> None:
        needed = {"model": "Name the model, as its provider calls it.", "provider": "Choose a provider."}
        if not self["replay"]:
            needed = {"benchmark": "Choose a benchmark.", **needed}
        missing = [(place, needed[name]) for place, name in _PLACES.items() if name in needed and not self[name]]
        if missing:
            errors = [{"loc": ["body", *place], "msg": says} for place, says in missing]
            raise DomainError("validation_failed", str(errors[0]["msg"]), errors=errors)

    def limits(self, parent: Run | None) -> dict[str, Any]:
        """The ceilings typed here; of a replay of one's own, the other ceilings of its parent stay."""
        kept = ceilings.inherited(parent) if parent is not None else {}
        run = {name: value for name, value in dict(kept.get("run", {})).items() if name not in ("cost", "tasks")}
        run |= self.ceilings()
        return {**kept, "run": run} if run else {name: value for name, value in kept.items() if name != "run"}

    def ceilings(self) -> dict[str, Any]:
        """What was typed as the run's own ceilings. Raises DomainError."""
        run: dict[str, Any] = {}
        if self["cost"]:
            run["cost"] = self._dollars()
        if self["limit"]:
            run["tasks"] = self._whole("limit", ["body", "limits", "run", "tasks"])
        return run

    def _whole(self, name: str, loc: list[str] | None = None) -> int:
        plain = self[name].replace(",", "")
        if not re.fullmatch(r"[0-9]{1,15}", plain, re.ASCII):
            raise invalid(loc or ["body", name], "Write a whole number, such as 20.")
        return int(plain)

    def _dollars(self) -> float:
        plain = self["cost"].removeprefix("$").replace(",", "").strip()
        if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,8})?", plain, re.ASCII):
            raise invalid(["body", "limits", "run", "cost"], "Write dollars, such as 0.50.")
        return float(plain)

    def _params(self) -> dict[str, Any]:
        if not self["params"]:
            return {}
        try:
            found = strict_json.loads(self["params"].encode())
        except (DomainError, UnicodeEncodeError) as fault:
            said = getattr(fault, "detail", "")
            raise invalid(["body", "sut", "params"], f"Write a JSON object. {said}".strip()) from None
        if not isinstance(found, dict):
            raise invalid(["body", "sut", "params"], 'Write a JSON object, such as {"temperature": 0}.')
        return found

    def refuse(self, refusal: DomainError) -> None:
        """Put the words of a refusal beside the fields that they are about."""
        for fault in refusal.errors:
            loc = [str(part) for part in fault["loc"] if part != "body"]
            for name in _place(loc):
                self.errors.setdefault(name, _said(refusal, str(fault["msg"])))
        if not self.errors:
            self.errors[""] = refusal.detail


def _place(loc: list[str]) -> list[str]:
    for length in range(len(loc), 0, -1):
        if tuple(loc[:length]) in _PLACES:
            return [_PLACES[tuple(loc[:length])]]
    return []


def _said(refusal: DomainError, msg: str) -> str:
    """With one fault the detail says the same at greater length, and what to do; without its place in the body."""
    return msg if len(refusal.errors) > 1 or refusal.detail.endswith(msg) else refusal.detail
