"""Printing answers as a table, JSON, lines of JSON or YAML."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

from .._objects import plain
from .groups import State
from .text import clean, json_text, one_line, words

Column = tuple[str, Callable[[Mapping[str, Any]], Any]]
CELL = 60  # characters of a text in a table
LISTED = 4  # times as many of a list of names


def note(text: str) -> None:
    """A remark for the person, beside the data: stderr."""
    click.echo(clean(text), err=True)


def show(state: State, value: Any, fields: Sequence[str] | None = None) -> None:
    """One object. ``fields`` picks and orders the rows of the table."""
    data = plain(value)
    if state.format == "table":
        names = [name for name in fields or data if name in data]
        _print_table(None, [(name, _cell(data[name], 0)) for name in names])
    else:
        click.echo(_document(state.format, data), nl=False)


def show_id(state: State, value: Mapping[str, Any]) -> None:
    """The id alone, which a shell takes; the whole object where a format was asked for."""
    if state.output in (None, "table"):
        click.echo(value["id"])
    else:
        show(state, value)


def show_sheet(pairs: Iterable[tuple[str, str]]) -> None:
    """Names and words of one thing, for a person."""
    _print_table(None, [(name, one_line(text)) for name, text in pairs])


def show_rows(state: State, rows: Iterable[Any], columns: Sequence[Column], empty: str = "Nothing here.") -> None:
    """A list. Only the table chooses columns; the other formats print whole objects."""
    if state.format == "ndjson":
        for row in rows:
            click.echo(json_text(plain(row)))
        return
    data = [plain(row) for row in rows]
    if state.format != "table":
        click.echo(_document(state.format, data), nl=False)
    elif data:
        _print_table([name for name, _ in columns], [[_cell(read(row), CELL) for _, read in columns] for row in data])
    else:
        note(empty)


def field(*path: str) -> Callable[[Mapping[str, Any]], Any]:
    """Reader of a nested field; None where the path ends early."""

    def read(row: Mapping[str, Any]) -> Any:
        value: Any = row
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    return read


def _document(kind: str, data: Any) -> str:
    if kind == "yaml":
        import yaml

        return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=False))
    return json_text(data, indent=2 if kind == "json" else None) + "\n"


def _cell(value: Any, width: int) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping) and set(value) >= {"amount_cents", "currency"}:
        return money(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return one_line(", ".join(value), LISTED * width)
    if width and isinstance(value, Mapping | list):  # JSON that is cut off can't be read
        value = words(value)
    return one_line(value if isinstance(value, str) else json_text(value), width)


def money(value: Mapping[str, Any]) -> str:
    """``$0.0021``: the exact amount where the server gives one, without useless zeros."""
    exact = str(value.get("amount") or f"{value['amount_cents'] / 100:.2f}")
    whole, _, part = exact.partition(".")
    sign = "$" if value.get("currency", "USD") == "USD" else f"{value['currency']} "
    return f"{sign}{whole}.{part.rstrip('0').ljust(2, '0')[:6]}"


def _print_table(header: Sequence[str] | None, rows: Iterable[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=header is not None, pad_edge=False, header_style="bold")
    for name in header or ("", ""):
        table.add_column(name, overflow="fold", style="" if header or name else None)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 160, highlight=False).print(table)
