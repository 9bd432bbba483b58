"""From uploaded rows to a subset: any number of rows, all of them or none, and each fault with its place."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction

from accounts.principal import Principal
from kernel.errors import DomainError
from registry import authoring, rows, scorers
from registry.models import Subset
from registry.pages.rows_file import Fault, FileFaults, Found

_NAMED = re.compile(r"^Row \d+( \(task_id .*?\))?:? *", re.S)


def create(principal: Principal, benchmark_id: str, fields: Mapping[str, Any], found: Found) -> Subset:
    """A new subset of these rows, with its ``grader`` or its ``code`` where ``fields`` has one, in one transaction.

    Raises DomainError for the fields, FileFaults for the rows. Nothing is stored then.
    """
    pieces = _pieces(found) or [found]
    made = dict(fields)
    code = made.pop("code", None)
    staged = not made["rolling"] and len(pieces) > 1
    with transaction.atomic():
        start = pieces[0]
        subset = _told(start, lambda: authoring.create_subset(
            principal, benchmark_id, **made, tasks=start.tasks, texts=start.texts, staged=staged
        ))  # fmt: skip
        subset = _add(principal, subset, pieces[1:], complete=staged)
        if code is not None:
            scorers.create(principal, subset.pk, code=code)
    return subset


@transaction.atomic
def append(principal: Principal, subset_id: str, found: Found) -> Subset:
    """All these rows to a rolling subset. Raises DomainError, or FileFaults for the rows; nothing is stored then."""
    return _add(principal, authoring.own_subset(principal, subset_id), _pieces(found) or [found], complete=False)


def _add(principal: Principal, subset: Subset, pieces: list[Found], *, complete: bool) -> Subset:
    for number, piece in enumerate(pieces, 1):
        subset = _told(piece, _one(principal, subset.pk, piece, complete and number == len(pieces)))
    return subset


def _one(principal: Principal, subset_id: str, piece: Found, last: bool) -> Callable[[], Subset]:
    return lambda: authoring.append_tasks(principal, subset_id, piece.tasks, piece.texts, complete=last)


def _pieces(found: Found) -> list[Found]:
    return [
        Found(found.tasks[at:to], found.texts[at:to], found.lines[at:to], found.unit)
        for at in range(0, len(found.tasks), rows.MAX_ROWS)
        for to in (at + rows.MAX_ROWS,)
    ]


def _told(piece: Found, act: Callable[[], Subset]) -> Subset:
    """What ``act`` makes; its refusal of rows as FileFaults with the rows' own places."""
    try:
        return act()
    except DomainError as refusal:
        faults = [fault for error in refusal.errors if (fault := _fault(piece, error))]
        if not faults:
            raise
        raise FileFaults(faults) from None


def _fault(piece: Found, error: Mapping[str, Any]) -> Fault | None:
    loc = list(error["loc"])
    if loc[:2] != ["body", "tasks"] or len(loc) < 3 or not isinstance(loc[2], int):
        return None
    task = piece.tasks[loc[2]]
    task_id = task.get("task_id") if isinstance(task, dict) else ""
    why = _NAMED.sub("", str(error["msg"]))
    why = re.sub(r"\brow (\d+)", lambda at: f"{piece.unit} {piece.lines[int(at[1])]}", why)
    return Fault(piece.lines[loc[2]], task_id if isinstance(task_id, str) else "", _sentence(why))


def _sentence(text: str) -> str:
    return text if text.startswith("task_id") else text[:1].upper() + text[1:]
