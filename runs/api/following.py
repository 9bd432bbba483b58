"""Following a run: its events in pages."""

from typing import Any

from django.http import HttpRequest
from ninja import Router

from accounts.door import allows_public, principal_or_none
from kernel import listing, paging
from kernel.errors import DomainError
from runs import events, objects, queries
from runs.limits import nearest
from runs.models import RunEvent

router = Router()


@router.get("/runs/{run_id}/events", auth=allows_public("runs:read"), response=Any)
def event_pages(request: HttpRequest, run_id: str) -> dict[str, Any]:
    """The stored events in order. `after_seq=` starts behind one, `types=` keeps some."""
    viewer = principal_or_none(request)
    run = queries.run(viewer, run_id)
    query = listing.parse(request.GET, sorts=("seq",), default="seq", extra=("after_seq", "types"), default_limit=500)
    rows = RunEvent.objects.filter(run=run, seq__gt=after_seq(query.extra.get("after_seq")))
    if query.extra.get("types"):
        rows = rows.filter(type__in=_types(query.extra["types"]))
    account = viewer.account.pk if viewer else None
    found = paging.page(rows, query, scope=(account, "events", run.id))
    return {
        "object": "list",
        "data": [objects.event_object(row) for row in found.rows],
        "next_page_token": found.next_page_token,
    }


def after_seq(raw: str | None) -> int:
    """The number of the last event that the caller has; 0 = none. Raises invalid_parameter."""
    if raw is None or raw == "":
        return 0
    if not (raw.isascii() and raw.isdecimal() and len(raw) <= 18):
        msg = "after_seq and Last-Event-ID are the seq of an event: a whole number, 0 or more."
        raise DomainError("invalid_parameter", msg, errors=[{"loc": ["query", "after_seq"], "msg": msg}])
    return int(raw)


def _types(raw: str) -> list[str]:
    words = [word.strip() for word in raw.split(",") if word.strip()]
    for word in words:
        if word not in events.TYPES:
            msg = f"There is no event type {word!r}: {nearest(word, events.TYPES)}"
            raise DomainError("invalid_filter", msg, errors=[{"loc": ["query", "types"], "msg": msg}])
    return words
