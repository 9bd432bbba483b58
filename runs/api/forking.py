"""Forks of a run, what was made of it, and what a fork changed."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from accounts.door import allows_public, created, demand, principal, principal_or_none, requires
from accounts.idempotency import idempotent
from kernel import listing, paging
from runs import objects, queries
from runs.forking import flips, lineage, making
from runs.schemas import ForkBody

router = Router()
CHILD_FILTERS = {"relation": listing.choice("fork", "replay"), "status": listing.text}
FLIP_FILTERS = {"kind": listing.choice(*flips.KINDS)}


@router.post("/runs/{run_id}/fork", auth=requires("runs:write"), response={201: Any})
@idempotent
def fork(request: HttpRequest, run_id: str, body: ForkBody) -> HttpResponse:
    """A new run with a changed scorer: as `description` says, or `impl`. `mode=rescore` grades the stored outputs."""
    caller = principal(request)
    if body.visibility == "public":
        demand(caller, "registry:publish")
    run = making.fork(caller, run_id, body)
    return created(objects.run_object(run, caller), {"Location": f"/v1/runs/{run.id}"})


@router.get("/runs/{run_id}/children", auth=allows_public("runs:read"), response=Any)
def children(request: HttpRequest, run_id: str) -> dict[str, Any]:
    """The forks and replays of a run that you may see, newest first. Filters: relation, status."""
    viewer = principal_or_none(request)
    run = queries.run(viewer, run_id)
    query = listing.parse(request.GET, sorts=("created_at",), filters=CHILD_FILTERS)
    rows = query.apply(lineage.children(run, viewer)).select_related("benchmark").prefetch_related("phases")
    found = paging.page(rows, query, scope=(viewer.account.pk if viewer else None, "children", run.id))
    beside = objects.around(found.rows, viewer)
    return {
        "object": "list",
        "data": [objects.run_object(row, viewer, beside) for row in found.rows],
        "next_page_token": found.next_page_token,
    }


@router.get("/runs/{run_id}/flips", auth=allows_public("runs:read"), response=Any)
def flip_list(request: HttpRequest, run_id: str) -> dict[str, Any]:
    """Which cells ended otherwise than in the run that this one was made of, and whether that tells them apart."""
    viewer = principal_or_none(request)
    run = queries.run(viewer, run_id)
    query = listing.parse(request.GET, sorts=("task",), default="task", filters=FLIP_FILTERS, default_limit=100)
    parent = lineage.compared_with(run, viewer)
    scope = (viewer.account.pk if viewer else None, "flips", run.id)
    found = paging.keyed(
        lambda last, most: flips.listed(
            run, parent, query.value("kind"), last=last, down=query.sort.startswith("-"), limit=most
        ),
        query,
        scope=scope,
        key=lambda flip: flip.ordinal,
    )
    return {
        "object": "list",
        "run": str(run.id),
        "parent_run": str(parent.id),
        "summary": flips.summary(run, parent),
        "data": [flips.flip_object(row) for row in found.rows],
        "next_page_token": found.next_page_token,
    }
