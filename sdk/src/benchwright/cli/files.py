"""Reading what a user points at: rows, graders, code."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import click


def _fail(text: str) -> NoReturn:
    raise click.UsageError(text)


NOTHING = "Nothing was stored."
LINES = f'{NOTHING} Each line is one JSON object, such as {{"task_id": "a", "input": "1+1?", "expected": "2"}}.'
UTF8 = f"{NOTHING} Save the file as UTF-8 text."
SHOWN = 20  # characters of what was found


def _strict(text: str, path: str, line: int | None = None, cure: str = NOTHING) -> Any:
    """The JSON value of a file, or of its one line. Raises click.UsageError with the file's own line and column."""

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
    except json.JSONDecodeError as error:
        _fail(f"{path}, line {line or error.lineno}, column {error.colno}: {_said(error, text)}. {cure}")
    except (ValueError, RecursionError) as error:
        where = f"{path}, line {line}" if line else path
        _fail(f"{where}: {'nested too deeply' if isinstance(error, RecursionError) else error}. {cure}")


def _said(error: json.JSONDecodeError, text: str) -> str:
    """What was expected, and what stands there."""
    rest = text[error.pos :].split("\n", 1)[0].strip()
    found = repr(rest if len(rest) <= SHOWN else rest[:SHOWN] + "…") if rest else "the end of the line"
    if error.msg.startswith("Expecting "):
        return f"expected {error.msg.removeprefix('Expecting ').replace('value', 'a JSON value')}, found {found}"
    return f"{error.msg.removesuffix(' at').removesuffix(' starting').lower()}, at {found}"


def text(path: str) -> str:
    """A UTF-8 file whole. Raises click.UsageError when it can't be read."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _fail(f"{path} can't be read: byte {error.start + 1} of it is not UTF-8. {UTF8}")
    except OSError as error:
        _fail(f"{path} can't be read: {error.strerror}. {NOTHING}")


def document(path: str) -> dict[str, Any]:
    """A JSON file that holds one object."""
    value = _strict(text(path), path)
    return value if isinstance(value, dict) else _fail(f"{path} must hold one JSON object. {NOTHING}")


def rows(path: str) -> Iterator[dict[str, Any]]:
    """The objects of a .jsonl file, or of a JSON array. A bad line is named; nothing is skipped but empty lines."""
    if path.endswith(".json"):
        array = _strict(text(path), path)
        items = (
            array
            if isinstance(array, list)
            else _fail(f"{path} must hold an array of rows; name the file .jsonl if each line is a row. {NOTHING}")
        )
        places: Iterator[tuple[str, Any]] = ((f"{path}, item {number}", item) for number, item in enumerate(items, 1))
    else:
        places = _lines(path)
    for where, value in places:
        yield value if isinstance(value, dict) else _fail(f"{where}: a row is a JSON object. {LINES}")


def _lines(path: str) -> Iterator[tuple[str, Any]]:
    number = 0
    try:
        with open(path, "rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                if line.strip():
                    yield f"{path}, line {number}", _strict(line.rstrip(), path, number, LINES)
    except UnicodeDecodeError as error:
        _fail(f"{path}, line {number}, can't be read: byte {error.start + 1} of it is not UTF-8. {UTF8}")
    except OSError as error:
        _fail(f"{path} can't be read: {error.strerror}. {NOTHING}")
