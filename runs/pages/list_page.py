"""The list of one's own runs: filters, pages of rows, what is running now."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q, QuerySet

from accounts.principal import Principal
from kernel import clock
from runs import queries
from runs.models import Run
from runs.pages import run_page, score
from runs.pages.event_words import halt_words
from runs.plots import marks
from runs.states import ACTIVE

ROWS = 25
STATUSES = ("queued", "running", "ok", "halted", "failed")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KEY = re.compile(r"([0-9]{1,17})_([0-9a-f-]{36})")


def page(principal: Principal, params: Mapping[str, str]) -> dict[str, Any]:
    """Rows newest first, links to the neighbouring pages, and the runs that are going."""
    status = params["status"] if params.get("status") in STATUSES else ""
    wanted = params.get("q", "").replace("\x00", "")[:200].strip()
    rows = _filtered(queries.own(principal), status, wanted)
    before, after = _key(params.get("before", "")), _key(params.get("after", ""))
    found, older, newer = _cut(rows, before, after)
    filters = {name: value for name, value in (("status", status), ("q", wanted)) if value}
    return {
        "rows": [_row(run) for run in found],
        "status": status,
        "q": wanted,
        "filtered": bool(filters),
        "statuses": STATUSES,
        "older": _link(filters, "before", found[-1]) if older else None,
        "newer": _link(filters, "after", found[0]) if newer else None,
        "example": marks.caliper_mini(0.82, 0.76, 0.87),
        "going": [_row(run) for run in _going(principal)] if not filters and not before and not after else [],
    }


def _going(principal: Principal) -> QuerySet[Run]:
    return queries.own(principal).filter(status__in=ACTIVE).select_related("benchmark").order_by("-created_at")[:3]


def _filtered(rows: QuerySet[Run], status: str, wanted: str) -> QuerySet[Run]:
    if status:
        rows = rows.filter(status=status)
    if wanted:
        may = Q(sut__model__icontains=wanted) | Q(benchmark__name__icontains=wanted)
        rows = rows.filter(may | Q(id=UUID(wanted)) if _is_uuid(wanted) else may)
    return rows.select_related("benchmark").order_by("-created_at", "-id")


def _is_uuid(text: str) -> bool:
    return re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text) is not None


def _cut(
    rows: QuerySet[Run], before: tuple[datetime, UUID] | None, after: tuple[datetime, UUID] | None
) -> tuple[list[Run], bool, bool]:
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


def _key(text: str) -> tuple[datetime, UUID] | None:
    """The place in the list that a link names; None for anything else."""
    found = _KEY.fullmatch(text)
    if not found or not _is_uuid(found[2]):
        return None
    return _EPOCH + timedelta(microseconds=int(found[1])), UUID(found[2])


def _link(filters: Mapping[str, str], way: str, run: Run) -> str:
    place = (run.created_at - _EPOCH) // timedelta(microseconds=1)
    return "?" + urlencode({**filters, way: f"{place}_{run.id}"})


def _halted(run: Run) -> str:
    return f"{halt_words(run.halt_reason, run.halt_note)} Results are kept."


def _row(run: Run) -> dict[str, Any]:
    note = _halted(run) if run.status == "halted" else ""
    if run.status == "failed":
        note = str((run.error or {}).get("message") or "")
    return {
        "run": run,
        "title": run_page.title(run),
        "score": score.of(run),
        "badges": run_page.badges(run),
        "note": note,
        "noun": run_page.noun(run),
        "elapsed": (clock.now() - (run.started_at or run.created_at)).total_seconds(),
    }
