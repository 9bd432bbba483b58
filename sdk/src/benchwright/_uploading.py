"""Cutting many rows into requests."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ._http import encoded
from .errors import APIError

MOST_ROWS = 1000  # the server's limit per request
MOST_BYTES = 15_000_000  # below the server's 16 MB, with room for the other fields


@dataclass(frozen=True)
class Piece:
    """Rows of one request, each JSON already. ``start`` is the first one's place among all rows."""

    number: int
    start: int
    rows: list[bytes]
    last: bool

    def key(self, whole: str) -> str:
        """This piece's idempotency key: the same piece of the same upload has the same one."""
        if self.number == 0:
            return whole
        own = f"{whole}:{self.number}"
        return own if len(own) <= 255 else hashlib.sha256(own.encode()).hexdigest()

    def count_from_start(self, error: APIError) -> None:
        """Make the error's places count from the first row of the whole upload."""
        if not self.start:
            return

        def counted(text: str) -> str:
            return re.sub(r"\b([Rr]ow) (\d+)\b", lambda found: f"{found[1]} {int(found[2]) + self.start}", text)

        for item in error.errors:
            loc = list(item.get("loc") or [])
            for place, part in enumerate(loc[:-1]):
                if part == "tasks" and isinstance(loc[place + 1], int):
                    loc[place + 1] += self.start
            item["loc"], item["msg"] = loc, counted(str(item.get("msg", "")))
        error.detail = counted(error.detail)


def in_pieces(rows: Iterable[Mapping[str, Any]], most: int = MOST_ROWS, size: int = MOST_BYTES) -> Iterator[Piece]:
    """At least one piece, in order. Raises ValueError, naming the row, for one that is not JSON."""
    held: list[bytes] = []
    number = start = weight = 0
    for index, row in enumerate(rows):
        text = _row(row, index)
        if held and (len(held) >= most or weight + len(text) > size):
            yield Piece(number, start, held, last=False)
            number, start, held, weight = number + 1, index, [], 0
        held.append(text)
        weight += len(text) + 1
    yield Piece(number, start, held, last=True)


def _row(row: Mapping[str, Any], index: int) -> bytes:
    try:
        return encoded(row)
    except (TypeError, ValueError) as error:
        name = row.get("task_id") if isinstance(row, Mapping) else None
        raise ValueError(f"Row {index} (task_id {name!r}) can't be written as JSON: {error}") from error
