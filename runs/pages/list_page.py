"""The list of one's own runs: filters, pages of rows, what is running now."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import ExpressionWrapper, F, FloatField, Q, QuerySet, Value
from django.db.models.functions import Cast, NullIf

from accounts.principal import Principal
from kernel import clock
from runs import queries
from runs.asked import scope
from runs.models import Run
from runs.pages import run_page, score
from runs.pages.event_words import halt_words
from runs.pages.lineage import naming
from runs.plots import marks
from runs.providers import PROVIDERS
from runs.states import ACTIVE

ROWS = 25
STATUSES = ("queued", "running", "ok", "halted", "failed")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Place = tuple[datetime, UUID] | None  # a row that a link names
_KEY = re.compile(r"([0-9]{1,17})_([0-9a-f-]{36})")


# what the link says -> what it sorts by; the newest breaks ties. Sorted lists are paged by count, not by moment.
_SCORED = F("passed") + F("failed") + F("unscored")
SORTS: dict[str, Any] = {
    "rate": Cast(F("passed"), FloatField()) / NullIf(_SCORED, Value(0)),
    "counted": _SCORED,
    "cost": F("cost_model"),
}
MOST = 100_000


@dataclass(frozen=True)
class Wanted:
    """What the reader asked for; anything that makes no sense is dropped, a page is no API."""

    status: str = ""
    provider: str = ""
    q: str = ""
    sort: str = ""
    start: int = 0

    @classmethod
    def of(cls, params: Mapping[str, str]) -> "Wanted":
        sort, start = params.get("sort", ""), params.get("start", "")
        return cls(
            status=params["status"] if params.get("status") in STATUSES else "",
            provider=params["provider"] if params.get("provider") in PROVIDERS else "",
            q=params.get("q", "").replace("\x00", "")[:200].strip(),
            sort=sort if sort.removeprefix("-") in SORTS else "",
            start=min(int(start), MOST) if start.isascii() and start.isdigit() and len(start) < 8 else 0,
        )

    @property
    def filtered(self) -> bool:
        return bool(self.status or self.provider or self.q)

    def link(self, **changed: Any) -> str:
        """The query of this list with some of it changed; a change goes back to its beginning."""
        pairs = {"status": self.status, "provider": self.provider, "q": self.q, "sort": self.sort, **changed}
        return "?" + urlencode({name: value for name, value in pairs.items() if value})


def page(principal: Principal, params: Mapping[str, str]) -> dict[str, Any]:
    """Rows, links to the neighbouring pages, and on the first page the runs that are going."""
    wanted = Wanted.of(params)
    rows = _filtered(queries.own(principal), wanted)
    before, after = _key(params.get("before", "")), _key(params.get("after", ""))
    found, older, newer = _sorted(rows, wanted) if wanted.sort else _by_moment(rows, wanted, before, after)
    first = not (wanted.filtered or wanted.sort or before or after)
    return {
        "rows": _rows(found),
        "wanted": wanted,
        "q": wanted.q,
        "status": wanted.status,
        "filtered": wanted.filtered,
        "statuses": STATUSES,
        "providers": _providers(principal),
        "heads": {name: _head(wanted, name) for name in SORTS},
        "moment": wanted.link(sort=""),
        "older": older,
        "newer": newer,
        "example": marks.caliper_mini(0.82, 0.76, 0.87),
        "going": _rows(list(_going(principal))) if first else [],
    }


def _head(wanted: Wanted, name: str) -> dict[str, str]:
    """A sortable head: the largest first, then turned round."""
    aria = {f"-{name}": "descending", name: "ascending"}.get(wanted.sort, "")
    return {"link": wanted.link(sort=name if wanted.sort == f"-{name}" else f"-{name}"), "aria": aria}


def _providers(principal: Principal) -> list[str]:
    """Those that the account has used, for the filter."""
    used = queries.own(principal).order_by().values_list("sut__provider", flat=True).distinct()[:50]
    return sorted(name for name in used if name in PROVIDERS)


def _sorted(rows: QuerySet[Run], wanted: Wanted) -> tuple[list[Run], str | None, str | None]:
    """(rows of this page, link to the next, link to the last one). What has no figure comes last either way."""
    column = SORTS[wanted.sort.removeprefix("-")]
    by = ExpressionWrapper(column, FloatField())
    order = by.desc(nulls_last=True) if wanted.sort.startswith("-") else by.asc(nulls_last=True)
    found = list(rows.order_by(order, "-created_at", "-id")[wanted.start : wanted.start + ROWS + 1])
    older = wanted.link(start=wanted.start + ROWS) if len(found) > ROWS else None
    newer = wanted.link(start=max(wanted.start - ROWS, 0)) if wanted.start else None
    return found[:ROWS], older, newer


def _by_moment(
    rows: QuerySet[Run], wanted: Wanted, before: Place, after: Place
) -> tuple[list[Run], str | None, str | None]:
    found, older, newer = _cut(rows.order_by("-created_at", "-id"), before, after)
    last, first = (_place(found[-1]), _place(found[0])) if found else ("", "")
    return found, wanted.link(before=last) if older else None, wanted.link(after=first) if newer else None


def _going(principal: Principal) -> QuerySet[Run]:
    return queries.own(principal).filter(status__in=ACTIVE).select_related("benchmark").order_by("-created_at")[:3]


def _filtered(rows: QuerySet[Run], wanted: Wanted) -> QuerySet[Run]:
    if wanted.status:
        rows = rows.filter(status=wanted.status)
    if wanted.provider:
        rows = rows.filter(sut__provider=wanted.provider)
    if wanted.q:
        may = Q(sut__model__icontains=wanted.q) | Q(benchmark__name__icontains=wanted.q)
        may |= Q(request__icontains=wanted.q) | Q(benchmark_id=wanted.q) | Q(subset_id=wanted.q) | Q(impl_id=wanted.q)
        rows = rows.filter(may | Q(id=UUID(wanted.q)) if _is_uuid(wanted.q) else may)
    return rows.select_related("benchmark")


def _is_uuid(text: str) -> bool:
    return re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text) is not None


def _cut(rows: QuerySet[Run], before: Place, after: Place) -> tuple[list[Run], bool, bool]:
    """(rows of this page, is there an older page, is there a newer one)."""
    if after:
        at, key = after
        newer = rows.filter(Q(created_at__gt=at) | Q(created_at=at, id__gt=key)).order_by("created_at", "id")
        found = list(newer[: ROWS + 1])
        return found[:ROWS][::-1], True, len(found) > ROWS
    if before:
        at, key = before
        rows = rows.filter(Q(created_at__lt=at) | Q(created_at=at, id__lt=key))
    found = list(rows[: ROWS + 1])
    return found[:ROWS], len(found) > ROWS, before is not None


def _key(text: str) -> Place:
    """The place in the list that a link names; None for anything else."""
    found = _KEY.fullmatch(text)
    if not found or not _is_uuid(found[2]):
        return None
    return _EPOCH + timedelta(microseconds=int(found[1])), UUID(found[2])


def _place(run: Run) -> str:
    return f"{(run.created_at - _EPOCH) // timedelta(microseconds=1)}_{run.id}"


def _halted(run: Run) -> str:
    return f"{halt_words(run.halt_reason, run.halt_note)} Results are kept."


def _rows(runs: Sequence[Run]) -> list[dict[str, Any]]:
    ran = scope.of_all(runs)
    return [{**_row(run), "scope": ran[run.id]} for run in runs]


def _row(run: Run) -> dict[str, Any]:
    note = _halted(run) if run.status == "halted" else ""
    if run.status == "failed":
        note = str((run.error or {}).get("message") or "")
    return {
        "run": run,
        "title": naming.title(run, mine=True),
        "known": bool(run.benchmark and run.sut.get("model")),
        "score": score.of(run),
        "badges": naming.badges(run),
        "note": note,
        "noun": run_page.noun(run),
        "elapsed": (clock.now() - (run.started_at or run.created_at)).total_seconds(),
    }
