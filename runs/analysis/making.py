"""Rows into tasks, by ``fields``. A row that can't become a task is left out, counted, and never guessed at."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernel import secret_signs, strict_json
from kernel.errors import DomainError
from registry import graders
from registry.catalog.mapping import RowFault, fits, to_task
from registry.rows import MAX_ID_CHARS, fold
from runs.analysis.looking import Row, empty

Json = dict[str, Any]
Task = dict[str, Any]
EXAMPLES = 3
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass
class Made:
    """``tasks`` in the order of the rows. ``left_out``: why -> how many, with ``examples`` of ids or row numbers."""

    tasks: list[Task] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)
    renamed: int = 0

    def leave_out(self, why: str, which: str) -> None:
        self.left_out[why] = self.left_out.get(why, 0) + 1
        shown = self.examples.setdefault(why, [])
        if len(shown) < EXAMPLES:
            shown.append(which)


@dataclass(frozen=True)
class Place:
    """The rows of one place. ``prefix`` begins the ids of rows without one; ``kind`` is what its tasks are called."""

    rows: Sequence[Row]
    fields: Mapping[str, Any]
    where: Mapping[str, Any]
    prefix: str
    kind: str


def make(places: Sequence[Place], grader: Mapping[str, Any] | None) -> Made:
    """The tasks of all places, in order; ids that come twice get a number. ``grader``: validated, or None."""
    made = Made()
    taken: set[str] = set()
    for place in places:
        for task in _tasks(place, made):
            task["task_id"] = _unique(task["task_id"], taken, made)
            made.tasks.append(task)
    _leave_out_ungradable(made, grader)
    return made


def _tasks(place: Place, made: Made) -> Iterator[Task]:
    for number, row in enumerate(place.rows):
        name = f"{place.prefix}-{number:05d}"
        try:
            if place.where and not fits(place.where, row):
                continue
            task = to_task(place.fields, _read(row, place.fields.get("json") or ()), name)
        except (RowFault, ValueError) as fault:
            made.leave_out(_reason(fault), name)
            continue
        task["task_id"] = _CONTROL.sub(" ", str(task["task_id"])).strip()[: MAX_ID_CHARS - 12] or name
        why = _lacking(task, place.fields)
        if why:
            made.leave_out(why, task["task_id"])
            continue
        yield {"task_id": task["task_id"], "kind": place.kind, "input": task["input"], "expected": task["expected"]}


def _read(row: Row, columns: Sequence[str]) -> Row:
    """``columns`` hold JSON as text."""
    if not columns:
        return row
    return {**row, **{name: json.loads(row[name]) for name in columns if isinstance(row.get(name), str)}}


def _reason(fault: Exception) -> str:
    if isinstance(fault, json.JSONDecodeError):
        return "a column that should hold JSON does not"
    words = str(fault)
    return "a column is missing" if "has no column" in words else "it is not what its preparation was made for"


def _lacking(task: Task, fields: Mapping[str, Any]) -> str:
    told, expected = task["input"], task["expected"]
    if empty(told) or (isinstance(told, dict) and all(empty(value) for value in told.values())):
        return "the question is empty"
    if fields.get("expected") is not None and (
        expected is None or (isinstance(expected, str) and not expected.strip())
    ):
        return "the right answer is empty"
    text = strict_json.dumps({"input": told, "expected": expected}).decode()
    return "it looks like it holds a secret" if secret_signs.found(text) is not None else ""


def _unique(name: str, taken: set[str], made: Made) -> str:
    key, number = name, 1
    while fold(key) in taken:
        number += 1
        key = f"{name}-{number}"
    made.renamed += key != name
    taken.add(fold(key))
    return key


def _leave_out_ungradable(made: Made, grader: Mapping[str, Any] | None) -> None:
    """Rows that could never pass would only lower the score of every model."""
    if grader is None or not made.tasks:
        return
    try:
        graders.check_rows(grader, made.tasks)
        return
    except DomainError as refusal:
        faults = {error["loc"][2]: str(error["msg"]) for error in refusal.errors}
    for at, why in faults.items():
        made.leave_out(_plainly(why), made.tasks[at]["task_id"])
    made.tasks = [task for at, task in enumerate(made.tasks) if at not in faults]


def _plainly(why: str) -> str:
    """The grader's complaint without the row that it is about."""
    return re.sub(r"^Row \d+ \(task_id .*?\): ", "", why, count=1, flags=re.DOTALL).rstrip(".")
