"""Files of rows into plain JSON objects. Runs in a process of its own (``child``): what it reads is a stranger's.

Pure: a seekable file in, rows out. Raises Unreadable, with words for people.
"""

import csv
import gzip
import json
import math
import zipfile
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import IO, Any

from arro3.io import read_parquet

from runs.sources.files.formats import format_of

DEPTH = 60
DIGITS = 1000  # of one integer
LISTS = ("data", "rows", "examples", "instances", "questions", "samples", "items", "test", "validation", "train")
_GONE = object()
_BAD = {0: "\ufffd"} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


class Unreadable(Exception):
    pass


def rows_of(file: IO[bytes], form: str, *, most_bytes: int, member: str = "") -> tuple[Iterator[dict[str, Any]], Any]:
    """(the rows, facts that are whole once the rows are read).

    ``member``: the file is a zip archive, and this one in it is meant. ``most_bytes``: of what is unpacked.
    """
    facts: dict[str, Any] = {"left_out": [], "labels": {}}
    data = file if not member else _member(file, member, most_bytes)
    if form == "parquet":
        return _parquet(data, facts), facts
    text = _text(data, most_bytes)
    found = {"jsonl": _lines, "json": _json, "csv": _commas, "tsv": _tabs}[form](text)
    return _objects(found, facts), facts


def _member(file: IO[bytes], name: str, most: int) -> IO[bytes]:
    try:
        archive = zipfile.ZipFile(file)
        size = archive.getinfo(name).file_size
    except KeyError:
        held = ", ".join([each for each in archive.namelist() if format_of(each)][:20]) or "none"
        raise Unreadable(f"the package holds no {name}; files of rows in it: {held}") from None
    except (zipfile.BadZipFile, OSError, ValueError) as bad:
        raise Unreadable(f"it is no zip archive ({bad})") from None
    if size > most:
        raise Unreadable(f"{name} unpacks to {size:,} bytes; the limit is {most:,}")
    return archive.open(name)


def _text(file: IO[bytes], most: int) -> str:
    data = file.read(most + 1)
    if data[:2] == b"\x1f\x8b":
        file.seek(0)
        try:
            with gzip.open(file) as unpacked:
                data = unpacked.read(most + 1)
        except (OSError, EOFError) as bad:
            raise Unreadable(f"it is no whole gzip file ({bad})") from None
    if len(data) > most:
        raise Unreadable(f"it holds more than {most:,} bytes, the limit")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        raise Unreadable(f"it is not UTF-8 (byte {bad.start})") from None


# -- parquet -----------------------------------------------------------------------------------------------------------
def _parquet(file: IO[bytes], facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    try:
        reader = read_parquet(file)
        facts["labels"] = _labels(reader.schema.metadata)
        for batch in reader:
            columns = {name: batch.column(name).to_pylist() for name in batch.column_names}
            for values in zip(*columns.values(), strict=True):
                yield _plain_row(dict(zip(columns, values, strict=True)), facts)
    except Unreadable:
        raise
    except BaseException as bad:  # a panic of the reader is no Exception
        if isinstance(bad, (GeneratorExit, KeyboardInterrupt, SystemExit, MemoryError)):
            raise
        raise Unreadable(f"it is no parquet file that can be read ({str(bad)[:200]})") from None


def _labels(metadata: dict[bytes, bytes]) -> dict[str, list[str]]:
    """Columns of numbers that stand for names, as Hugging Face's datasets writes them down."""
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
        return {name: list(map(str, each["names"])) for name, each in features.items() if _is_label(each)}
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}


def _is_label(feature: Any) -> bool:
    return isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and bool(feature.get("names"))


# -- text --------------------------------------------------------------------------------------------------------------
def _lines(text: str) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield _loads(line)
            except ValueError as bad:
                raise Unreadable(f"line {number} is not JSON ({bad})") from None


def _json(text: str) -> Iterable[Any]:
    """A list of objects; an object that holds one, or a list for each column, or an object for each id; or lines."""
    try:
        whole = _loads(text)
    except ValueError as bad:
        if text.lstrip()[:1] == "{" and "\n" in text.strip():
            return _lines(text)  # many files that are called .json hold lines
        raise Unreadable(f"it is not JSON ({bad})") from None
    if isinstance(whole, list):
        return whole
    if isinstance(whole, dict):
        return _of_object(whole)
    raise Unreadable("its JSON is neither a list nor an object")


def _of_object(whole: dict[str, Any]) -> Iterable[Any]:
    lists = {name: each for name, each in whole.items() if isinstance(each, list)}
    named = next((lists[name] for name in LISTS if name in lists and _holds_objects(lists[name])), None)
    if named is None:
        named = next((each for each in lists.values() if _holds_objects(each)), None)
    if named is not None:
        return named
    if len(lists) == len(whole) > 1 and len({len(each) for each in lists.values()}) == 1:
        return [dict(zip(whole, values, strict=True)) for values in zip(*whole.values(), strict=True)]
    if len(whole) > 1 and all(isinstance(each, dict) for each in whole.values()):
        return [{"id": name, **each} for name, each in whole.items()]
    return [whole]


def _holds_objects(value: list[Any]) -> bool:
    return bool(value) and isinstance(value[0], dict)


def _commas(text: str) -> Iterator[Any]:
    first = text.partition("\n")[0]
    return _table(text, max(",;\t|", key=first.count))


def _tabs(text: str) -> Iterator[Any]:
    return _table(text, "\t")


def _table(text: str, delimiter: str) -> Iterator[Any]:
    csv.field_size_limit(16 << 20)
    reader = csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter, restkey="", strict=True)
    try:
        for row in reader:
            row.pop("", None)
            yield row
    except csv.Error as bad:
        raise Unreadable(f"line {reader.line_num} is no line of a table ({bad})") from None


def _loads(text: str) -> Any:
    try:
        return json.loads(text, parse_int=_whole, parse_constant=lambda word: None)
    except RecursionError:
        raise Unreadable("its JSON is nested too deeply") from None


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(f"an integer of more than {DIGITS} digits")
    return int(digits)


# -- plain JSON --------------------------------------------------------------------------------------------------------
def _objects(found: Iterable[Any], facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for number, each in enumerate(found, 1):
        if not isinstance(each, dict):
            raise Unreadable(f"row {number} is {type(each).__name__}, not an object with named columns")
        yield _plain_row(each, facts)


def _plain_row(row: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    made = {}
    for name, value in row.items():
        kept = plain(value)
        if kept is _GONE:
            if name not in facts["left_out"]:
                facts["left_out"].append(str(name))
            continue
        made[str(name).translate(_BAD)] = kept
    return made


def plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON that can be kept: no NaN, NUL or half a sign; times as text. _GONE for bytes (pictures)."""
    if depth > DEPTH:
        raise Unreadable("its values are nested too deeply")
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return value.translate(_BAD)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return _plain_object(value, depth)
    if isinstance(value, (list, tuple)):
        inner = [plain(each, depth + 1) for each in value]
        return _GONE if any(each is _GONE for each in inner) else inner
    return _plain_special(value)


def _plain_object(value: dict[Any, Any], depth: int) -> Any:
    inner = {str(name).translate(_BAD): plain(each, depth + 1) for name, each in value.items()}
    return _GONE if any(each is _GONE for each in inner.values()) else inner


def _plain_special(value: Any) -> Any:
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return (int(value) if value == value.to_integral_value() else float(value)) if value.is_finite() else None
    return _GONE
