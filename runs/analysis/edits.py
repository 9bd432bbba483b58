"""What the owner changes in the plan before it goes on: checked here, each fault named."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel.errors import DomainError
from registry import graders
from registry.catalog.entries import KINDS
from registry.catalog.preparing import PREPARATIONS

Json = dict[str, Any]
_FIELDS = ("task_id", "input", "choices", "expected", "prepare", "solution", "json")


@dataclass(frozen=True)
class Edits:
    """``fields`` and ``grader``: members that replace the plan's own. ``faults``: what can't be used."""

    limit: int | None = None
    part: str | None = None
    kind: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    grader: Mapping[str, Any] = field(default_factory=dict)
    faults: list[Json] = field(default_factory=list)

    def grader_over(self, own: Mapping[str, Any] | None) -> Json | None:
        """The plan's grader with the edited members; a new ``kind`` begins anew."""
        if not self.grader:
            return dict(own) if own is not None else None
        if "kind" in self.grader and self.grader["kind"] != (own or {}).get("kind"):
            return dict(self.grader)
        return {**(own or {}), **self.grader}


def read(said: Mapping[str, Any]) -> Edits:
    """The edits that can be used, and the faults of the others."""
    faults: list[Json] = []
    known: Json = {}
    for name, value in said.items():
        if value is None:
            continue
        why = _fault(name, value)
        if why:
            faults.append({"loc": ["edits", name], "msg": why})
        else:
            known[name] = value
    return Edits(**known, faults=faults)


def _fault(name: str, value: Any) -> str:
    if name == "limit":
        whole = isinstance(value, int) and not isinstance(value, bool) and value > 0
        return "" if whole else "limit is a whole number of tasks, from 1 on."
    if name == "part":
        return "" if isinstance(value, str) and value.strip() else "part is the name of a part of the benchmark."
    if name == "kind":
        return "" if value in KINDS else f"kind is one of {', '.join(KINDS)}."
    if name == "fields":
        return _fields_fault(value)
    if name == "grader":
        return "" if isinstance(value, dict) and value else "grader is an object: docs/graders.md lists its fields."
    return f"{name} can't be edited; limit, part, kind, fields and grader can."


def _fields_fault(value: Any) -> str:
    if not isinstance(value, dict):
        return 'fields is an object, such as {"expected": "gold"}.'
    unknown = sorted(set(value) - set(_FIELDS))
    if unknown:
        return f"fields knows no {', '.join(unknown)}; it has {', '.join(_FIELDS)}."
    if value.get("prepare") not in (None, *PREPARATIONS):
        return f"There is no preparation {value['prepare']!r}; known: {', '.join(PREPARATIONS)}."
    return _columns_fault(value)


def _columns_fault(value: Mapping[str, Any]) -> str:
    told = value.get("input", "")
    named = told.values() if isinstance(told, dict) else [told]
    if not all(isinstance(name, str) for name in named):
        return "fields.input is a column, or an object of columns by name."
    choices = value.get("choices")
    if not (choices is None or isinstance(choices, str) or _texts(choices)):
        return "fields.choices is a column, or a list of columns."
    for name in ("task_id", "expected", "solution"):
        if not isinstance(value.get(name), (str, type(None))):
            return f"fields.{name} is a column."
    return "" if value.get("json") is None or _texts(value["json"]) else "fields.json is a list of columns."


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def grader_faults(grader: Mapping[str, Any] | None) -> list[Json]:
    """What an edited grader lacks, by place."""
    if grader is None:
        return []
    try:
        graders.validate_grader(grader)
    except DomainError as refusal:
        return [{"loc": ["edits", *error["loc"][1:]], "msg": _placed(error)} for error in refusal.errors]
    return []


def _placed(error: Mapping[str, Any]) -> str:
    return f"{'.'.join(map(str, error['loc'][1:]))}: {error['msg']}"


def column_faults(fields: Mapping[str, Any], columns: list[str]) -> list[Json]:
    """Columns that ``fields`` names and the rows lack."""
    told = fields.get("input") or {}
    named = list(told.values()) if isinstance(told, Mapping) else [told]
    choices = fields.get("choices")
    named += choices if isinstance(choices, list) else [choices]
    named += [fields.get(name) for name in ("task_id", "expected", "solution")] + list(fields.get("json") or ())
    known = set(columns)
    lacking = [
        name
        for name in named
        if name and not name.startswith("=") and name not in known and name.partition(".")[0] not in known
    ]
    if not lacking:
        return []
    words = f"The rows have no column {', '.join(map(repr, lacking))}; they have {', '.join(columns[:40])}."
    return [{"loc": ["edits", "fields"], "msg": words}]
