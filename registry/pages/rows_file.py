"""Rows out of what somebody uploads or pastes: JSON Lines, a JSON array, or CSV with a head line."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from typing import Any, NamedTuple

from kernel import strict_json
from kernel.errors import DomainError
from registry import rows

FORMATS = ("jsonl", "json", "csv")
_SHOWN = 200  # faults on a page
csv.field_size_limit(8 << 20)


class Fault(NamedTuple):
    """One row that can't be taken. ``at``: its line in the file, or its number in a JSON array; from 1."""

    at: int
    task_id: str
    why: str


class FileFaults(Exception):
    """The rows can't be taken; nothing is stored."""

    def __init__(self, faults: list[Fault], more: int = 0) -> None:
        self.faults, self.more = faults[:_SHOWN], more + max(len(faults) - _SHOWN, 0)
        self.rows = len({fault.at for fault in faults}) + self.more
        super().__init__(faults[0].why if faults else "")


@dataclass(frozen=True)
class Found:
    """Rows with their JSON texts and where each stood. ``unit``: what ``lines`` count, "line" or "row"."""

    tasks: list[Any]
    texts: list[str]
    lines: list[int]
    unit: str = "line"


def read(data: bytes, name: str = "") -> Found:
    """The rows of a file. Raises FileFaults for text that is not UTF-8 or not of its format; rows are checked later."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise FileFaults([Fault(line, "", "The file is not UTF-8 here. Save it as UTF-8.")]) from None
    if not text.strip():
        return Found([], [], [])
    return {"jsonl": _lines, "json": _array, "csv": _table}[kind_of(text, name)](text)


def kind_of(text: str, name: str = "") -> str:
    """The format by the file's name, else by its first character."""
    ending = name.lower().rpartition(".")[2]
    known = {"ndjson": "jsonl", "tsv": "csv", **{each: each for each in FORMATS}}.get(ending)
    start = text.lstrip()[:1]
    if known == "csv" or known == "jsonl":
        return known
    if start == "[" or known == "json":
        return "json"
    return "jsonl" if start == "{" else "csv"


def _lines(text: str) -> Found:
    found, faults = Found([], [], []), []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found.tasks.append(strict_json.loads(line.strip().encode()))
            found.texts.append(line.strip())
            found.lines.append(number)
        except DomainError as fault:
            faults.append(Fault(number, "", fault.detail))
    if faults:
        raise FileFaults(faults)
    return found


def _array(text: str) -> Found:
    data = text.strip().encode()
    try:
        whole = strict_json.loads(data)
    except DomainError as fault:
        raise FileFaults([Fault(1, "", fault.detail)]) from None
    if isinstance(whole, list):
        data, whole = b'{"tasks":' + data + b"}", {"tasks": whole}
    if not isinstance(whole, dict) or not isinstance(whole.get("tasks"), list):
        why = 'Give an array of rows, or {"tasks": [...]}.'
        raise FileFaults([Fault(1, "", why)])
    tasks = whole["tasks"]
    return Found(tasks, rows.texts_of(data), list(range(1, len(tasks) + 1)), "row")


def _table(text: str) -> Found:
    """``task_id`` (or ``id``), ``expected``, ``kind`` are themselves; ``input`` is the input, else all other columns.

    A cell that holds a JSON array or object is read as such, so that choices can be given.
    """
    found = Found([], [], [])
    try:
        for line, task in _records(text):
            found.tasks.append(task)
            found.texts.append(strict_json.dumps(task).decode())
            found.lines.append(line)
    except csv.Error as fault:
        raise FileFaults([Fault(1, "", f"The CSV can't be read: {fault}.")]) from None
    return found


def _records(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    first = text.split("\n", 1)[0]
    reader = csv.DictReader(StringIO(text, newline=""), delimiter="\t" if "\t" in first and "," not in first else ",")
    heads = [str(head).strip() for head in reader.fieldnames or []]
    if len(set(heads)) != len(heads):
        raise FileFaults([Fault(1, "", "Two columns have the same name.")])
    if not {"task_id", "id"} & set(heads):
        raise FileFaults([Fault(1, "", "The first line must name the columns, and one of them task_id.")])
    reader.fieldnames = heads
    line = reader.line_num + 1
    for record in reader:
        start, line = line, reader.line_num + 1
        if None in record:
            raise FileFaults([Fault(start, "", f"This line has more than the {len(heads)} cells of the first line.")])
        yield start, _task({name: value for name, value in record.items() if value not in (None, "")})


def _task(record: dict[str, str]) -> dict[str, Any]:
    task: dict[str, Any] = {"task_id": record.pop("task_id", None) or record.pop("id", None)}
    own: dict[str, Any] = {name: _cell(record.pop(name)) for name in ("expected", "kind") if name in record}
    plain: dict[str, Any] = {name: _cell(value) for name, value in record.items()}
    asked: dict[str, Any] = (
        {**plain, "input": plain["input"]} if "input" in plain else {"input": plain} if plain else {}
    )
    return {**task, **asked, **own}


def _cell(text: str) -> Any:
    if text[:1] + text[-1:] in ("[]", "{}"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text
