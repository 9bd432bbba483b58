"""Reading the catalogue: one's own benchmarks and the public ones."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from accounts.door import allows_public, principal_or_none
from accounts.principal import Principal
from kernel import listing, paging
from registry import queries, visibility
from registry.models import Benchmark
from registry.representation import expanded, shown
from registry.shapes import benchmark_object, subset_object

router = Router()


@router.get("/registry/benchmarks", auth=allows_public("registry:read"), response=Any)
def benchmarks(request: HttpRequest) -> dict[str, Any]:
    """Your own benchmarks and the public ones. Filters: tag, category, name, visibility. `expand=subsets`."""
    viewer = principal_or_none(request)
    expand = expanded(request, ["subsets"], listed=True)
    query = listing.parse(
        request.GET,
        sorts=("created_at", "updated_at", "name"),
        filters={"category": listing.text, "name": listing.text, "visibility": listing.text},
        extra=("tag", "expand", "expand[]"),
    )
    rows = query.apply(visibility.benchmarks(viewer))
    if "tag" in query.extra:
        rows = rows.filter(tags__contains=[query.extra["tag"]])
    found = paging.page(rows, query, scope=(viewer.account.pk if viewer else None, "benchmarks"))
    below = _subsets(viewer, found.rows, "subsets" in expand)
    return {
        "object": "list",
        "data": [benchmark_object(row, below.get(row.pk, ())) for row in found.rows],
        "next_page_token": found.next_page_token,
    }


@router.get("/registry/benchmarks/{benchmark_id}", auth=allows_public("registry:read"), response=Any)
def benchmark(request: HttpRequest, benchmark_id: str) -> HttpResponse:
    """One benchmark. `expand=subsets` puts the subsets themselves in the place of their ids."""
    viewer = principal_or_none(request)
    expand = expanded(request, ["subsets"])
    found = queries.benchmark(viewer, benchmark_id)
    below = _subsets(viewer, [found], "subsets" in expand)
    return shown(request, benchmark_object(found, below.get(found.pk, ())), found.updated_at)


@router.get("/registry/subsets/{subset_id}", auth=allows_public("registry:read"), response=Any)
def subset(request: HttpRequest, subset_id: str) -> HttpResponse:
    """One subset. `expand=benchmark`."""
    viewer = principal_or_none(request)
    expand = expanded(request, ["benchmark"])
    found = queries.subset(viewer, subset_id)
    above = None
    if "benchmark" in expand:
        mark = queries.benchmark(viewer, found.benchmark_id)
        above = benchmark_object(mark, _subsets(viewer, [mark], False).get(mark.pk, ()))
    return shown(request, subset_object(found, above), found.updated_at)


def _subsets(viewer: Principal | None, of: Iterable[Benchmark], whole: bool) -> dict[str, list[Any]]:
    """Of each benchmark: its subsets' ids, or the subsets."""
    found: dict[str, list[Any]] = {}
    rows = visibility.subsets(viewer).filter(benchmark__in=[one.pk for one in of]).order_by("created_at", "pk")
    for row in rows:
        found.setdefault(row.benchmark_id, []).append(subset_object(row) if whole else row.pk)
    return found
