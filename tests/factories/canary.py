"""Planted values, and the search for them in whatever a run and its owner's requests leave behind."""

import base64
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from django.db import connection

from runs.call_bodies import unpack


def spellings(value: str) -> dict[str, bytes]:
    """As it is, in Base64 at three offsets, for URLs, in hex, for JSON, and backwards."""
    raw = value.encode()
    found = {
        "raw": raw, "url": quote(value, safe="").encode(), "hex": raw.hex().encode(), "HEX": raw.hex().upper().encode(),
        "json": json.dumps(value)[1:-1].encode(), "reversed": value[::-1].encode(),
    }  # fmt: skip
    for lead in range(3):
        start = (0, 2, 3)[lead]
        whole = base64.b64encode(bytes(lead) + raw)
        size = (len(raw) + lead) // 3 * 4  # what follows the value can't change these
        found[f"base64 at {lead}"] = whole[start:size]
    return found


Sink = tuple[str, bytes]


def tables() -> Iterator[Sink]:
    """Every column of every table, bytes also unpacked."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
        )
        for table, column, kind in cursor.fetchall():
            binary = kind == "bytea"
            cursor.execute(f'SELECT "{column}"{"" if binary else "::text"} FROM "{table}" WHERE "{column}" IS NOT NULL')
            for (value,) in cursor.fetchall():
                yield f"{table}.{column}", bytes(value) if binary else value.encode()
                if binary:
                    yield f"{table}.{column}, unpacked", _unpacked(bytes(value))


def _unpacked(value: bytes) -> bytes:
    try:
        return unpack(value)
    except (ValueError, zlib.error):
        return b""


def files(*folders: Path) -> Iterator[Sink]:
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                try:
                    yield str(path), path.read_bytes()
                except FileNotFoundError:
                    continue  # a temporary file of the database


def processes(*pids: int) -> Iterator[Sink]:
    for pid in pids:
        for name in ("environ", "cmdline"):
            yield f"/proc/{pid}/{name}", Path(f"/proc/{pid}/{name}").read_bytes()


def leaks(values: Iterable[str], *sinks: Iterable[Sink]) -> list[str]:
    """``value, spelling, place`` of each find."""
    wanted = [(value, how, text) for value in values for how, text in spellings(value).items()]
    return [
        f"{value[:6]}… as {how} in {place}"
        for sink in sinks
        for place, content in sink
        for value, how, text in wanted
        if text in content
    ]
