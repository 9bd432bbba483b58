"""The plan: what was found in the rows, what it will cost, what could go wrong. The owner reads it and may edit it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kernel.errors import DomainError
from registry import graders
from registry.rows import MAX_ROWS
from runs.analysis import checks, edits, grading
from runs.analysis.edits import Edits
from runs.analysis.looking import Row
from runs.analysis.making import Made, Place, make
from runs.analysis.recognising import Recognised, recognise

Json = dict[str, Any]
JUDGED = "The answer says what the expected answer says, and nothing that contradicts it. Wording does not matter."


@dataclass(frozen=True)
class Held:
    """Rows of one place with what is known of them: ``fields`` and ``where`` of a catalogue entry, or nothing."""

    rows: Sequence[Row]
    name: str
    fields: Mapping[str, Any] | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Known:
    """What a catalogue entry says of the whole. All None where the rows are not of the catalogue."""

    kind: str | None = None
    grader: Mapping[str, Any] | None = None
    metric: str | None = None
    chance: float | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Analysed:
    """``grader`` is validated and whole, or None. ``faults``: of edits that can't be used."""

    kind: str
    fields: Json
    grader: Json | None
    made: Made
    metric: str
    chance: float | None
    risks: list[Json]
    faults: list[Json]


def analyse(
    held: Sequence[Held], known: Known, said: Edits, *, hints: Sequence[str], licence: str, facts: Mapping[str, Any],
    judge: Mapping[str, Any] | None = None,
) -> Analysed:  # fmt: skip
    """From rows to tasks and what is to be told of them. ``judge``: the model that may judge answers, if one was named.

    Raises Unclear where it can't be told what the rows are.
    """
    faults = [*said.faults, *edits.column_faults(said.fields, list(held[0].rows[0]))]
    if len(faults) > len(said.faults):
        said = replace(said, fields={})
    found = _recognised(held[0], known, replace(said, kind=None), hints) if _bare_kind(said) else None
    if found is not None and said.kind != found.kind:
        told = f"kind can't be {said.kind}: these rows are {found.kind}. Say with it by which grader or which fields."
        faults.append({"loc": ["edits", "kind"], "msg": told})
        said = replace(said, kind=None)
    found = found or _recognised(held[0], known, said, hints)
    grader = said.grader_over(found.grader)
    if grader is None and judge is not None and found.kind in ("free_text", "multi_turn"):
        grader = {"kind": "judge", "judge": dict(judge), "rubric": JUDGED}
    full, broken = _validated(grader, found.grader)
    if said.grader:
        faults += broken
    made = make([_place(each, found, said, len(held) > 1) for each in held], full)
    risks = [*checks.risks(made, found.kind, licence, facts), *_noted([*known.notes, *found.notes])]
    chance = grading.chance(found.kind, full, made.tasks[:MAX_ROWS])
    return Analysed(
        kind=found.kind,
        fields=found.fields,
        grader=full,
        made=made,
        metric=known.metric or grading.metric(found.kind, full),
        chance=known.chance if known.chance is not None and not said.grader else chance,
        risks=risks,
        faults=faults,
    )


def _bare_kind(said: Edits) -> bool:
    """Another kind alone, which neither columns nor a grader follow from; free text is a name for anything."""
    return said.kind not in (None, "free_text") and not said.fields and not said.grader


def _recognised(first: Held, known: Known, said: Edits, hints: Sequence[str]) -> Recognised:
    """The catalogue's word, else what the columns tell; edits go before both."""
    if first.fields is not None:
        found = Recognised(str(known.kind), dict(first.fields), dict(known.grader) if known.grader else None)
    elif {"input", "expected"} <= set(said.fields) and said.kind:
        found = Recognised(said.kind, {"task_id": None, "choices": None, "prepare": None}, None)
    else:
        found = recognise(first.rows, first.labels, [*hints, *_as_hints(said.fields)])
    return replace(found, kind=said.kind or found.kind, fields={**found.fields, **said.fields})


def _as_hints(fields: Mapping[str, Any]) -> list[str]:
    """Edited columns help to recognise the others, and the grader that fits them."""
    words = {"expected": "answer column is", "choices": "choices are", "task_id": "id column is"}
    told = {role: fields.get(role) for role in words}
    asked = fields.get("input")
    question = asked.get("question") if isinstance(asked, Mapping) else asked
    said = [f"question column is {_quoted(question)}"] if isinstance(question, str) else []
    for role, value in told.items():
        if isinstance(value, str):
            said.append(f"{words[role]} {_quoted(value)}")
        elif isinstance(value, list):
            said.append(f"{words[role]} {', '.join(map(_quoted, value))}")
    return said


def _quoted(name: str) -> str:
    return f'"{name}"'


def _validated(grader: Mapping[str, Any] | None, own: Mapping[str, Any] | None) -> tuple[Json | None, list[Json]]:
    """(the whole grader, its faults); with faults the plan shows its own one."""
    if grader is None:
        return None, []
    faults = edits.grader_faults(grader)
    if not faults:
        return graders.validate_grader(grader), []
    try:
        return (graders.validate_grader(own) if own is not None else None), faults
    except DomainError:
        return None, faults


def _place(held: Held, found: Recognised, said: Edits, several: bool) -> Place:
    fields = found.fields if held.fields is None else {**held.fields, **said.fields}
    return Place(held.rows, fields, held.where, held.name, held.name if several else found.kind)


def _noted(notes: Sequence[str]) -> list[Json]:
    return [checks.risk("note", words) for words in notes]
