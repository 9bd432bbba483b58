"""Reading what a user points at: rows, graders, code."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import click


def _fail(text: str) -> NoReturn:
    raise click.UsageError(text)


def _strict(text: str, where: str) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no JSON number")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            names = [name for name, _ in pairs]
            raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} stands twice in one object")
        return made

    try:
        return json.loads(text, parse_constant=refuse, object_pairs_hook=once)
    except ValueError as error:
        _fail(f"{where}: {error}")


def text(path: str) -> str:
    """A UTF-8 file whole. Raises click.UsageError when it can't be read."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        _fail(f"{path} can't be read: {error}")


def document(path: str) -> dict[str, Any]:
    """A JSON file that holds one object."""
    value = _strict(text(path), path)
    return value if isinstance(value, dict) else _fail(f"{path} must hold one JSON object.")


def rows(path: str) -> Iterator[dict[str, Any]]:
    """The objects of a .jsonl file, or of a JSON array. A bad line is named; nothing is skipped but empty lines."""
    if path.endswith(".json"):
        array = _strict(text(path), path)
        items = (
            array if isinstance(array, list) else _fail(f"{path} must hold an array of rows; a .jsonl file is lines.")
        )
        places: Iterator[tuple[str, Any]] = ((f"{path}, item {number}", item) for number, item in enumerate(items, 1))
    else:
        places = _lines(path)
    for where, value in places:
        yield value if isinstance(value, dict) else _fail(f"{where}: a row is a JSON object.")


def _lines(path: str) -> Iterator[tuple[str, Any]]:
    try:
        with open(path, "rb") as file:
            for number, raw in enumerate(file, 1):
                where = f"{path}, line {number}"
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                if line.strip():
                    yield where, _strict(line, where)
    except (OSError, UnicodeDecodeError) as error:
        _fail(f"{path} can't be read: {error}")
