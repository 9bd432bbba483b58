"""Authoring benchmarks and subsets. All of it needs registry:publish and works on one's own only."""

from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Router

from accounts.door import principal, requires
from accounts.idempotency import idempotent
from accounts.principal import Principal
from kernel.bodies import body_limit
from registry import authoring, queries, rows
from registry.models import Benchmark
from registry.representation import check_match, shown
from registry.schemas import BenchmarkBody, BenchmarkPatch, SubsetBody, SubsetPatch, TasksBody
from registry.shapes import benchmark_object, subset_object

router = Router()


@router.post("/benchmarks", auth=requires("registry:publish"), response={201: Any})
@idempotent
def create_benchmark(request: HttpRequest, body: BenchmarkBody) -> HttpResponse:
    """A new benchmark, private until a public run refers to it."""
    made = authoring.create_benchmark(principal(request), body.name, body.description, body.category, body.tags)
    return shown(request, benchmark_object(made, ()), made.updated_at, 201)


@router.patch("/benchmarks/{benchmark_id}", auth=requires("registry:publish"), response=Any)
def update_benchmark(request: HttpRequest, benchmark_id: str, body: BenchmarkPatch) -> HttpResponse:
    """Change name, description, category or tags. With If-Match: only if nobody edited it since (412)."""
    caller = principal(request)
    with transaction.atomic():
        found = authoring.own_benchmark(caller, benchmark_id, lock=True)
        check_match(request, _whole(caller, found), found.updated_at)
        found = authoring.update_benchmark(found, body.changes())
    return shown(request, _whole(caller, found), found.updated_at)


@router.delete("/benchmarks/{benchmark_id}", auth=requires("registry:publish"), response={204: None})
def delete_benchmark(request: HttpRequest, benchmark_id: str) -> HttpResponse:
    """Delete a benchmark with its subsets. Runs that were scored by it stay readable."""
    authoring.delete_benchmark(principal(request), benchmark_id)
    return HttpResponse(status=204)


@router.post("/benchmarks/{benchmark_id}/subsets", auth=requires("registry:publish"), response={201: Any})
@idempotent
@body_limit(settings.ROWS_BODY_LIMIT_BYTES)
def create_subset(request: HttpRequest, benchmark_id: str, body: SubsetBody) -> HttpResponse:
    """A new subset of at most 1,000 tasks: frozen at once, `rolling`, or `staged` for more pieces to come."""
    made = authoring.create_subset(
        principal(request),
        benchmark_id,
        body.slug,
        name=body.name,
        description=body.description,
        tasks=body.tasks,
        texts=rows.texts_of(request.body),
        rolling=body.rolling,
        staged=body.staged,
        answers=body.answers,
        grader=body.grader,
    )
    return shown(request, subset_object(made), made.updated_at, 201)


@router.post("/subsets/{subset_id}/tasks", auth=requires("registry:publish"), response=Any)
@idempotent
@body_limit(settings.ROWS_BODY_LIMIT_BYTES)
def append_tasks(request: HttpRequest, subset_id: str, body: TasksBody) -> HttpResponse:
    """Append at most 1,000 tasks to a rolling subset, or to a staged one. `complete` ends a staged upload.

    A completed upload gets a new id, made of its content: go on with the `id` of this answer.
    """
    texts = rows.texts_of(request.body)
    found = authoring.append_tasks(principal(request), subset_id, body.tasks, texts, complete=body.complete)
    return shown(request, {**subset_object(found), "appended": len(body.tasks)}, found.updated_at)


@router.patch("/subsets/{subset_id}", auth=requires("registry:publish"), response=Any)
def update_subset(request: HttpRequest, subset_id: str, body: SubsetPatch) -> HttpResponse:
    """Change name, description or answers; `rolling: false` freezes for good. With If-Match: 412 if edited since."""
    caller = principal(request)
    with transaction.atomic():
        found = authoring.own_subset(caller, subset_id, lock=True)
        check_match(request, subset_object(found), found.updated_at)
        found = authoring.update_subset(found, body.changes())
    return shown(request, subset_object(found), found.updated_at)


@router.delete("/subsets/{subset_id}", auth=requires("registry:publish"), response={204: None})
def delete_subset(request: HttpRequest, subset_id: str) -> HttpResponse:
    """Delete a subset. Runs that were scored by it stay readable."""
    authoring.delete_subset(principal(request), subset_id)
    return HttpResponse(status=204)


def _whole(caller: Principal, found: Benchmark) -> dict[str, Any]:
    return benchmark_object(found, [one.pk for one in queries.subsets_of(caller, found)])
