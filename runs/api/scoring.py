"""Where the registry meets runs: the runs of a subset or an impl, and a run's scorer as an impl of its own."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Router

from accounts.door import allows_public, principal, principal_or_none, requires
from accounts.idempotency import idempotent
from accounts.principal import Principal
from kernel import listing, paging
from kernel.errors import DomainError
from registry import queries as registry
from registry import scorers
from registry.representation import shown
from registry.shapes import impl_object
from runs import objects, queries
from runs.artifacts import reading
from runs.models import Run
from runs.schemas import ImplFromRunBody

router = Router()
_SCOPES = ("registry:read", "runs:read")
SORTS = ("created_at", "started_at", "finished_at")


@router.get("/registry/subsets/{subset_id}/runs", auth=allows_public(*_SCOPES), response=Any)
def of_subset(request: HttpRequest, subset_id: str) -> dict[str, Any]:
    """Every run against this subset that you may see, newest first. Filter: status."""
    viewer = principal_or_none(request)
    found = registry.subset(viewer, subset_id)
    return _listed(request, viewer, queries.visible(viewer).filter(subset=found), found.pk)


@router.get("/registry/impls/{impl_id}/runs", auth=allows_public(*_SCOPES), response=Any)
def of_impl(request: HttpRequest, impl_id: str) -> dict[str, Any]:
    """Every run scored by this impl that you may see, newest first. Filter: status."""
    viewer = principal_or_none(request)
    found = registry.registration(viewer, impl_id)
    return _listed(request, viewer, queries.visible(viewer).filter(impl=found.impl_id), found.impl_id)


def _listed(request: HttpRequest, viewer: Principal | None, runs: QuerySet[Run], of: str) -> dict[str, Any]:
    query = listing.parse(request.GET, sorts=SORTS, filters={"status": listing.text})
    rows = query.apply(runs).select_related("benchmark").prefetch_related("phases")
    found = paging.page(rows, query, scope=(viewer.account.pk if viewer else None, "runs", of))
    beside = objects.around(found.rows, viewer)
    return {
        "object": "list",
        "data": [objects.run_object(row, viewer, beside) for row in found.rows],
        "next_page_token": found.next_page_token,
    }


@router.post("/impls/from_run", auth=requires("registry:publish"), response={201: Any})
@idempotent
def from_run(request: HttpRequest, body: ImplFromRunBody) -> HttpResponse:
    """Register the scorer of a run, byte for byte, for `subset` (default: the run's own)."""
    caller = principal(request)
    run = queries.run(caller, body.from_run)
    if run.impl is None or not reading.may_read_scorer(run, caller):
        raise DomainError("impl_unavailable", f"Run {run.id} has no scorer that you may read.")
    made = scorers.copy(
        caller,
        run.impl,
        body.subset or run.impl.subset_id,
        benchmark=body.benchmark,
        label=body.label,
        description=body.description,
    )
    official = bool(registry.official_among([made.impl_id]))
    return shown(request, impl_object(made, caller, official=official), made.updated_at, 201)
