"""Lists on a page, by count: the link says how many rows come before."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)
ROWS = 50
MOST = 100_000


@dataclass(frozen=True)
class Paged(Generic[M]):
    """``newer`` and ``older`` are links, "" where there is nothing more."""

    rows: list[M]
    first: int
    total: int
    newer: str
    older: str

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1


def paged(rows: QuerySet[M], params: Mapping[str, str], size: int = ROWS) -> Paged[M]:
    """The rows from ``start`` of ``params`` on; a start that makes no sense is the first."""
    wanted = params.get("start", "")
    start = min(int(wanted), MOST) if wanted.isascii() and wanted.isdigit() and len(wanted) < 8 else 0
    total = rows.count()
    start = start if start < total else 0
    return Paged(
        rows=list(rows[start : start + size]),
        first=start + 1,
        total=total,
        newer=f"?start={max(0, start - size)}" if start else "",
        older=f"?start={start + size}" if start + size < total else "",
    )
