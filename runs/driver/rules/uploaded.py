"""Tasks that their owner uploaded without a grader: their kind and a grader, told by what lies in input and expected.

The same recognition as for rows from elsewhere. Tasks of a subset never change, so only a grader that takes them as
they are is chosen; where one would need other rows, the words say what to change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kernel.errors import DomainError
from registry import graders
from runs.analysis import choosing, grading, kinds, names
from runs.analysis.checks import risk
from runs.analysis.kinds import Seen
from runs.analysis.looking import columns, empty
from runs.analysis.recognising import Recognised, Unclear, recognised

Json = dict[str, Any]
_EXPECTED = "expected (of the task)"  # a column of ours beside those of the input; no template may name it
_ASKED_BY_DEFAULT = ("question", "prompt", "problem", "query", "instruction", "text")
_AS_THEY_ARE = (None, "mix_choices", "index_from_text")  # preparations that graders of uploaded tasks do without
_SIGNS = frozenset("{}|.")  # not in a name that a template can say
MOST_LABELS = 400  # characters of labels that are written into the question


@dataclass(frozen=True)
class Guessed:
    """``grader``: validated, or None, and then ``risks`` say why. ``fields``: as docs/catalogue.md has them."""

    kind: str
    fields: Json
    grader: Json | None
    risks: list[Json] = field(default_factory=list)


class _Unfit(Exception):
    """No grader takes these tasks as they are. The message says what to change."""


def guess(tasks: Sequence[Mapping[str, Any]]) -> Guessed:
    """``tasks``: {"task_id", "input", "expected"}, at least one."""
    try:
        path = _path(tasks)
        found = _found(tasks, path)
    except (Unclear, _Unfit) as why:
        said = why.words if isinstance(why, Unclear) else str(why)
        return Guessed("free_text", {}, None, [risk("no_grader", f"No grader was chosen: {said.rstrip('.')}.")])
    path = path or found.fields["expected"].removeprefix(_EXPECTED).lstrip(".") or None
    fields = {**found.fields, "expected": "expected" + (f".{path}" if path else "")}
    notes = [risk("note", words) for words in found.notes]
    if found.grader is None:
        return Guessed(found.kind, fields, None, notes)
    made = found.grader | ({"expected_field": path} if path else {})
    try:
        full = graders.validate_grader(made)
        graders.check_rows(full, tasks)
    except DomainError as fault:
        words = fault.detail.replace(" Nothing was stored.", "")
        said = f"The tasks look like {found.kind}, but no grader was chosen: {words}"
        return Guessed(found.kind, fields, None, [*notes, risk("no_grader", said)])
    return Guessed(found.kind, fields, full, [risk("guessed_grader", _told(fields, made)), *notes])


def _told(fields: Mapping[str, Any], grader: Mapping[str, Any]) -> str:
    shown = ", ".join(dict.fromkeys(map(str, fields["input"].values())))
    choices = f", the choices in {fields['choices']}" if isinstance(fields["choices"], str) else ""
    named = (
        f", each answer names its choice by {grader['answer']}" if grader.get("answer") not in (None, "auto") else ""
    )
    return (
        f"The tasks came without a grader, so {grader['kind']} was chosen by their shape: the question is in {shown}"
        f"{choices}, the right answer in {fields['expected']}{named}. If they are meant otherwise, edit the plan's "
        "grader or register a scorer."
    )


# -- tasks as rows -----------------------------------------------------------------------------------------------------
def _path(tasks: Sequence[Mapping[str, Any]]) -> str | None:
    """Where in ``expected`` the answer is: the one member whose name says so; None where it is all of it."""
    held = [task.get("expected") for task in tasks]
    if all(map(empty, held)):
        raise _Unfit("no task says in expected what is right")
    objects = [one for one in held if isinstance(one, dict)]
    if len(objects) < len(held):
        return None
    known = names.first((*names.EXPECTED, "value"), objects[0])
    shared = [name for name in known if all(name in one for one in objects) and not _SIGNS & set(name)]
    return next(iter(shared), None)


def _found(tasks: Sequence[Mapping[str, Any]], path: str | None) -> Recognised:
    inputs = [task["input"] for task in tasks]
    rows: list[Json]
    if all(isinstance(one, str) for one in inputs):
        rows = [{"input": one} for one in inputs]
    elif all(isinstance(one, dict) for one in inputs):
        rows = [dict(one) for one in inputs]
    else:
        raise _Unfit("input is neither a text in each task nor an object in each")
    for row, task in zip(rows, tasks, strict=True):
        expected = task.get("expected")
        row[_EXPECTED] = expected[path] if path and expected else expected
    seen = Seen(columns(rows), {}, {"expected": _EXPECTED}, len(rows))
    made = _programs(tasks, seen) or recognised(seen)
    return _asking(_fitting(made, seen), whole=isinstance(inputs[0], str))


def _programs(tasks: Sequence[Mapping[str, Any]], seen: Seen) -> Recognised | None:
    """The tests lie in expected."""
    question = kinds.question_of(seen)
    expected = seen.columns.get(_EXPECTED)
    if question is None or expected is None or not kinds.holds_tests(expected):
        return None
    fields = {"task_id": None, "input": {"question": question}, "choices": None, "expected": _EXPECTED, "prepare": None}
    return Recognised("code", fields, grading.code())


# -- a grader that takes them as they are ------------------------------------------------------------------------------
def _fitting(found: Recognised, seen: Seen) -> Recognised:
    """The grader with the choices where they lie. Raises _Unfit where it would need other tasks."""
    fields, grader = found.fields, found.grader
    if not str(fields["expected"]).startswith(_EXPECTED):
        raise _Unfit(f"the right answer lies in input ({fields['expected']}): upload it as expected")
    if grader is None:
        return found
    choices, prepare = fields["choices"], fields["prepare"]
    if prepare == "index_from_one":
        raise _Unfit("the right choices are counted from 1, and graders count from 0: upload them as letters")
    if isinstance(choices, list) and all(one.startswith("=") for one in choices):
        return _labelled(found, [one[1:] for one in choices])
    if isinstance(choices, list):
        raise _Unfit("each choice lies in a field of its own: upload them as one list, choices")
    if prepare not in _AS_THEY_ARE:
        raise _Unfit("the answers need to be written in another way: as a letter, a number or a text of their own")
    if choices is None:
        return found
    notes = [words for words in found.notes if "mixed" not in words]
    if prepare == "mix_choices":
        notes.append("The right choice stands in the same place in each task: a model could learn that.")
    if grader["answer"] == "index":
        notes += choosing.doubts(seen.columns[_EXPECTED], seen.columns[choices])
    return replace(found, grader={**grader, "choices_field": choices}, notes=notes)


def _labelled(found: Recognised, labels: Sequence[str]) -> Recognised:
    """A few labels that come again and again are written into the question, and compared as texts."""
    if found.fields["prepare"] is not None:
        raise _Unfit("the right answers are truth values: upload them as texts, yes and no")
    listed = ", ".join(labels)
    if len(listed) > MOST_LABELS or "{{" in listed:
        raise _Unfit("the right answers are a few labels that are too long to be listed: upload them as choices")
    words = f"Answer with one of these only: {listed}"
    grader = {"kind": "exact", "prompt": {"template": f"{grading.asked(found.fields['input'])}\n\n{words}"}}
    return replace(found, grader=grader, fields={**found.fields, "choices": None})


def _asking(found: Recognised, *, whole: bool) -> Recognised:
    """The prompt with the names that the input's own fields have. ``whole``: the input is one text."""
    grader, told = found.grader, found.fields["input"]
    if grader is None:
        return found
    if any(_SIGNS & set(str(column)) for column in told.values()):
        raise _Unfit("a field of input has a sign in its name that a prompt can't hold ({, }, | or a dot)")
    prompt = grader.get("prompt")
    if prompt is None and len(told) == 1:
        column = next(iter(told.values()))
        if (whole and grader["kind"] != "choice") or column in _ASKED_BY_DEFAULT:
            return found
        if grader["kind"] != "choice":
            raise _Unfit(f"the question lies in {column!r}: upload it as question")
        prompt = {"template": f"{grading.asked(told)}\n\n{{{{choices|letters}}}}\n\n{grading.LETTER_ONLY}"}
    if prompt is None:
        return found
    template = str(prompt["template"])
    marks = {f"{{{{{role}}}}}": f"{{{{{_named(str(column), whole)}}}}}" for role, column in told.items()}
    for mark, place in marks.items():
        template = template.replace(mark, place.replace("{{", "\0"))
    template = template.replace("\0", "{{")
    if "choices_field" in grader:
        template = template.replace("{{choices|letters}}", f"{{{{{grader['choices_field']}|letters}}}}")
    return replace(found, grader={**grader, "prompt": {**prompt, "template": template}})


def _named(column: str, whole: bool) -> str:
    return column if whole or column != "input" else "input.input"
