"""Following a run: its events in pages, and live as server-sent events."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID
from weakref import finalize

from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from ninja import Router

from accounts import rates
from accounts.door import allows_public, principal_or_none
from kernel import listing, paging
from kernel.errors import DomainError
from runs import events, objects, queries, seats, stream
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


RETRY_MS = 2000
KEEP_ALIVE_SECONDS = 15.0
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@router.get("/runs/{run_id}/stream", auth=allows_public("runs:read"), response=Any)
def live(request: HttpRequest, run_id: str) -> HttpResponseBase:
    """The same events as server-sent events: stored ones first, then live ones; ends after the terminal event.

    Resume with the header Last-Event-ID or `after_seq=`. 204 where a run has ended and nothing is left to tell.
    """
    viewer = principal_or_none(request)
    run = queries.run(viewer, run_id)
    query = listing.parse(request.GET, sorts=("seq",), default="seq", extra=("after_seq",))
    seq = after_seq(request.headers.get("Last-Event-ID") or query.extra.get("after_seq"))
    if run.status in queries.TERMINAL and seq >= run.last_seq:
        return HttpResponse(status=204, headers=STREAM_HEADERS)
    if seq > run.last_seq:
        msg = f"This run has {run.last_seq} events; {seq} is none of them."
        raise DomainError("invalid_parameter", msg, errors=[{"loc": ["query", "after_seq"], "msg": msg}])
    who = stream.Viewer(viewer.account.pk, viewer.token_id) if viewer else stream.Viewer()
    seat = seats.take(f"account {viewer.account.pk}" if viewer else rates.network(request))
    if not connection.in_atomic_block:
        connection.close()  # else each open stream keeps a connection of the pool to itself until it ends
    made = StreamingHttpResponse(frames(run.id, seq, who), content_type="text/event-stream", headers=STREAM_HEADERS)
    made._resource_closers.append(seat.close)  # type: ignore[attr-defined]
    finalize(made, seat.close)  # a caller who hung up before the answer was made: nobody closes it
    return made


async def frames(run_id: UUID, seq: int, viewer: stream.Viewer) -> AsyncIterator[bytes]:
    """The body of a stream. A comment keeps idle connections open."""
    yield b"retry: %d\n\n" % RETRY_MS
    async with stream.hub().reader(run_id, seq, viewer) as reader:
        while (found := await reader.next(KEEP_ALIVE_SECONDS)) is not None:
            yield b"".join(event.frame for event in found) or b": ka\n\n"


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
