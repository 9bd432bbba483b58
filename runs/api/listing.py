"""Reading runs: one, and lists."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from accounts.door import allows_public, answer, principal, principal_or_none, requires
from kernel import conditional, listing, paging
from kernel.errors import DomainError
from runs import objects, queries, representation, states

router = Router()

STATUSES = (*states.ACTIVE, *states.TERMINAL)
FILTERS = {
    "status": listing.text,
    "benchmark": listing.text,
    "visibility": listing.text,
    "started_at": listing.time,
    "finished_at": listing.time,
    "metadata": listing.json,
}
SORTS = ("created_at", "started_at", "finished_at")
CHOICES = {"status": STATUSES, "visibility": ("private", "public")}


@router.get("/runs", auth=requires("runs:read"), response=Any)
def runs(request: HttpRequest) -> dict[str, Any]:
    """The account's own runs, newest first. Filters: status, benchmark, visibility, started_at[gte], metadata[key] …"""
    viewer = principal(request)
    query = listing.parse(request.GET, sorts=SORTS, filters=FILTERS, extra=("fields", "fields[]"))
    for name, known in CHOICES.items():
        value = query.value(name)
        if value is not None and value not in known:
            msg = f"{name}={value} matches nothing. Known: {', '.join(known)}."
            raise DomainError("invalid_filter", msg, errors=[{"loc": ["query", name], "msg": msg}])
    rows = query.apply(queries.own(viewer), {"benchmark": "benchmark_id"})
    rows = rows.select_related("benchmark").prefetch_related("phases")
    found = paging.page(rows, query, scope=(viewer.account.pk, "runs"))
    beside = objects.around(found.rows, viewer)
    return {
        "object": "list",
        "data": [representation.selected(request, objects.run_object(row, viewer, beside)) for row in found.rows],
        "next_page_token": found.next_page_token,
    }


@router.get("/runs/{run_id}", auth=allows_public("runs:read"), response=Any)
def run(request: HttpRequest, run_id: str) -> HttpResponse:
    """One run. `expand=` benchmark, parent_run; `fields=` only these. ETag; If-None-Match → 304."""
    viewer = principal_or_none(request)
    row = queries.run(viewer, run_id)
    found = representation.chosen(request, row, viewer)
    tag = representation.etag(row, found)
    if conditional.not_modified(request, tag):
        return HttpResponse(status=304, headers={"ETag": tag})
    return answer(found, headers={"ETag": tag})
