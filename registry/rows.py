"""Task rows on their way in: what a row must be, and how it is kept so that nothing of it is lost."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from django.db import connection

from kernel import secret_signs, strict_json
from kernel.errors import DomainError
from registry.content_ids import row_digest
from registry.models import Task
from registry.queries import kind_of

MAX_ROWS = 1000
MAX_ID_CHARS = 300
_MAX_ERRORS = 1000
_SPACE = re.compile(r"[ \t\n\r]*")
_ONE_LINE = {10: " ", 13: " "}
_COLUMNS = "subset_id, position, revision, task_id, folded_id, digest, row"


@dataclass(frozen=True)
class Row:
    """A checked row. ``text``: its JSON on one line, as uploaded; ``folded_id``: what must be unique."""

    task_id: str
    folded_id: str
    kind: str
    digest: str
    text: str


def texts_of(body: bytes) -> list[str]:
    """The JSON texts of the elements of ``tasks`` in a request body that has already passed the JSON door."""
    text = body.decode("utf-8")
    decoder = json.JSONDecoder()
    at = _skip(text, 0) + 1
    while text[at := _skip(text, at)] != "}":
        key, at = scanstring(text, at + 1)
        at = _skip(text, _skip(text, at) + 1)
        if key == "tasks" and text[at] == "[":
            return _elements(text, at + 1, decoder)
        _, at = decoder.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] == ",":
            at += 1
    return []


def _elements(text: str, at: int, decoder: json.JSONDecoder) -> list[str]:
    found = []
    while text[at := _skip(text, at)] != "]":
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end].translate(_ONE_LINE))
        at = _skip(text, end)
        if text[at] == ",":
            at += 1
    return found


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def check_count(count: int) -> None:
    if count > MAX_ROWS:
        raise DomainError(
            "too_many_rows",
            f"{count} rows in one request; {MAX_ROWS} are possible. Create the subset with "
            '"staged": true and send the rest to its /tasks, the last piece with "complete": true.',
            errors=[{"loc": ["body", "tasks"], "msg": f"At most {MAX_ROWS} rows."}],
        )


def read(tasks: Sequence[Any], texts: Sequence[str] | None = None) -> list[Row]:
    """Checked rows. ``texts``: the rows as they were written (default: written anew).

    DomainError ``too_many_rows``, ``validation_failed``, ``secret_in_payload`` or ``duplicate_task_id``, naming every
    row at fault.
    """
    check_count(len(tasks))
    faults = [fault for index, task in enumerate(tasks) for fault in _faults(index, task)]
    if faults:
        raise refusal("validation_failed", "Nothing was stored.", faults)
    if texts is None or len(texts) != len(tasks):
        texts = [strict_json.dumps(task).decode() for task in tasks]
    _refuse_secrets(tasks, texts)
    rows = [
        Row(task["task_id"], fold(task["task_id"]), kind_of(task), row_digest(task), text)
        for task, text in zip(tasks, texts, strict=True)
    ]
    _refuse_repeats(rows)
    return rows


def _refuse_secrets(tasks: Sequence[Any], texts: Sequence[str]) -> None:
    """By the providers' prefixes alone: arguments called ``api_key`` are what many benchmarks are about."""
    kinds = ((index, secret_signs.found(text)) for index, text in enumerate(texts))
    found = [(index, what) for index, what in kinds if what is not None]
    if found:
        index, what = found[0]
        error = secret_signs.refusal(what, ["body", "tasks", index])
        error.errors = [
            _fault([at], f"Row {at} (task_id {tasks[at]['task_id']!r}) looks like it holds {kind}.")
            for at, kind in found
        ]
        raise error


def _faults(index: int, task: Any) -> Iterable[dict[str, Any]]:
    if not isinstance(task, dict):
        yield _fault([index], f"Row {index} is not an object.")
        return
    task_id = task.get("task_id")
    why = _id_fault(task_id)
    named = f"Row {index}" if why else f"Row {index} (task_id {task_id!r})"
    if why:
        yield _fault([index, "task_id"], f"{named}: {why}")
    if task.get("input") is None:
        yield _fault([index, "input"], f"{named}: input is missing.")


def _id_fault(task_id: Any) -> str | None:
    if not isinstance(task_id, str):
        return "task_id must be text." if task_id is not None else "task_id is missing."
    if not task_id.strip():
        return "task_id is empty."
    if len(task_id) > MAX_ID_CHARS:
        return f"task_id is longer than {MAX_ID_CHARS} characters."
    if any(unicodedata.category(sign) in {"Cc", "Zl", "Zp"} for sign in task_id):
        return "task_id holds a control character."
    return None


def fold(task_id: str) -> str:
    """What two task ids share when people take them for the same: Unicode form and case don't count."""
    composed = unicodedata.normalize("NFC", task_id)
    return unicodedata.normalize("NFC", composed.casefold())


def _refuse_repeats(rows: Sequence[Row]) -> None:
    first: dict[str, int] = {}
    faults = []
    for index, row in enumerate(rows):
        earlier = first.setdefault(row.folded_id, index)
        if earlier != index:
            same = "" if rows[earlier].task_id == row.task_id else f" (as {rows[earlier].task_id!r})"
            faults.append(_repeat(index, row.task_id, f"is already row {earlier}{same}"))
    if faults:
        raise refusal("duplicate_task_id", "Task ids repeat within the request. Nothing was stored.", faults)


def refuse_stored(subset_id: str, rows: Sequence[Row]) -> None:
    """DomainError ``duplicate_task_id`` listing the rows whose id the subset already has."""
    stored = Task.objects.filter(subset_id=subset_id, folded_id__in=[row.folded_id for row in rows])
    known = dict(stored.values_list("folded_id", "task_id"))
    faults = [
        _repeat(index, row.task_id, f"is already in the subset, as {known[row.folded_id]!r}")
        for index, row in enumerate(rows)
        if row.folded_id in known
    ]
    if faults:
        raise refusal("duplicate_task_id", "The subset already has some of these ids. Nothing was stored.", faults)


def _repeat(index: int, task_id: str, where: str) -> dict[str, Any]:
    return _fault([index, "task_id"], f"Row {index}: task_id {task_id!r} {where}.")


def _fault(path: list[str | int], msg: str) -> dict[str, Any]:
    return {"loc": ["body", "tasks", *path], "msg": msg}


def refusal(code: str, detail: str, faults: Sequence[Mapping[str, Any]]) -> DomainError:
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return DomainError(code, f"{faults[0]['msg']}{more} {detail}", errors=faults[:_MAX_ERRORS])


def store(subset_id: str, rows: Sequence[Row], start: int, revision: int) -> None:
    """Write rows at positions from ``start`` on. Must run in the transaction that holds the subset's lock."""
    with connection.cursor() as cursor, cursor.copy(f"COPY registry_task ({_COLUMNS}) FROM STDIN") as copy:
        for position, row in enumerate(rows, start):
            copy.write_row((subset_id, position, revision, row.task_id, row.folded_id, row.digest, row.text))
