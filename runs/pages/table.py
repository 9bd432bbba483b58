"""The table of tasks: filters, sorting and paging by links, a page of rows from one query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import F, QuerySet

from runs.models import ModelCall, Run, TaskResult
from runs.results import shown_message

ROWS = 25
OUTCOMES = ("passed", "failed", "errored", "unscored", "skipped")
# what the link says -> the column it sorts by; ordinal breaks ties
SORTS = {"task": "ordinal", "seconds": "duration_ms", "cost": "cost", "score": "score"}
_COLUMNS = (
    "id", "ordinal", "task_id", "trial", "attempt", "outcome", "error_class", "error_message", "output_preview",
    "duration_ms", "cost", "score", "reused",
)  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """What the reader asked for; anything that makes no sense is dropped, a page is no API."""

    outcome: str = ""
    error_class: str = ""
    sort: str = "task"
    down: bool = False
    start: int = 0

    @classmethod
    def of(cls, params: Mapping[str, str]) -> "Wanted":
        sort = params.get("sort", "")
        start = params.get("start", "")
        return cls(
            outcome=params["outcome"] if params.get("outcome") in (*OUTCOMES, "not_passed") else "",
            error_class=params.get("class", "")[:40],
            sort=sort.lstrip("-") if sort.lstrip("-") in SORTS else "task",
            down=sort.startswith("-") and sort.lstrip("-") in SORTS,
            start=min(int(start), 10**6) if start.isascii() and start.isdigit() and len(start) < 8 else 0,
        )

    @property
    def filtered(self) -> bool:
        return bool(self.outcome or self.error_class)

    @property
    def plain(self) -> bool:
        return self == Wanted()

    def link(self, **changed: Any) -> str:
        """The query string of this table with some of it changed."""
        new = {**self.__dict__, "start": 0, **changed}
        sort = ("-" if new["down"] else "") + new["sort"]
        pairs = {
            "outcome": new["outcome"],
            "class": new["error_class"],
            "sort": "" if sort == "task" else sort,
            "start": new["start"] or "",
        }
        return "?" + urlencode({name: value for name, value in pairs.items() if value}) + "#tasks"


def page(run: Run, wanted: Wanted, *, answers: bool = False) -> dict[str, Any]:
    """Rows and links of the table. ``answers``: whether its reader may see expected answers."""
    chosen = _filtered(run, wanted)
    rows = list(_ordered(chosen, wanted)[wanted.start : wanted.start + ROWS + 1])
    more = len(rows) > ROWS
    unpriced = unpriced_cells(run, [row["ordinal"] for row in rows])
    for row in rows:
        row["unpriced"] = row["ordinal"] in unpriced
        row["error_message"] = shown_message(row["error_class"], row["error_message"], answers=answers)
    ended = run.passed + run.failed + run.unscored + run.errored + run.skipped
    return {
        "rows": rows[:ROWS],
        "wanted": wanted,
        "ended": ended,
        "total": chosen.count() if wanted.filtered else ended,
        "first": wanted.start + 1,
        "last": wanted.start + min(len(rows), ROWS),
        "newer": wanted.link(start=max(wanted.start - ROWS, 0)) if wanted.start else None,
        "older": wanted.link(start=wanted.start + ROWS) if more else None,
        "heads": [_head(wanted, name) for name in ("task", "score", "seconds", "cost")],
        "outcomes": [("not_passed", "Not passed"), *((name, name.capitalize()) for name in OUTCOMES)],
        "drop": wanted.link(outcome="", error_class=""),
        "drop_class": wanted.link(error_class=""),
    }


def _filtered(run: Run, wanted: Wanted) -> QuerySet[TaskResult]:
    rows = TaskResult.objects.filter(run=run, live=True)
    if wanted.outcome == "not_passed":
        rows = rows.exclude(outcome="passed")
    elif wanted.outcome:
        rows = rows.filter(outcome=wanted.outcome)
    return rows.filter(error_class=wanted.error_class) if wanted.error_class else rows


def _ordered(rows: QuerySet[TaskResult], wanted: Wanted) -> Any:
    column = F(SORTS[wanted.sort])
    # A missing score is neither high nor low: it comes last either way.
    first = column.desc(nulls_last=True) if wanted.down else column.asc(nulls_last=True)
    return rows.order_by(first, "ordinal").values(*_COLUMNS)


def _head(wanted: Wanted, name: str) -> dict[str, Any]:
    """A sortable head: numbers sort downward first, names upward."""
    chosen = wanted.sort == name
    down = not wanted.down if chosen else name != "task"
    return {
        "name": name,
        "link": wanted.link(sort=name, down=down),
        "aria": ("descending" if wanted.down else "ascending") if chosen else "",
    }


def unpriced_cells(run: Run, ordinals: Sequence[int]) -> set[int]:
    """Which of these cells had a call without a known price: their cost is not what it cost."""
    if not run.unpriced_calls:
        return set()
    calls = ModelCall.objects.filter(run=run, ordinal__in=ordinals, status="settled", cost=None)
    return set(calls.values_list("ordinal", flat=True))
