"""Scorers: registering, reading back, and the registry's view of the same."""

from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Router

from accounts.door import allows_public, answer, principal, principal_or_none, requires
from accounts.idempotency import idempotent
from kernel import listing, paging
from kernel.bodies import body_limit
from registry import queries, scorers
from registry.linting.lint import of_impl
from registry.models import ImplRegistration
from registry.representation import check_match, expanded, shown
from registry.schemas import ImplBody, ImplPatch
from registry.shapes import impl_object, subset_object

router = Router()
# One MiB of code may take several times as much in JSON escapes.
CODE_BODY_LIMIT = 6 << 20


@router.get("/impls", auth=requires("registry:read"), response=Any)
def impls(request: HttpRequest) -> dict[str, Any]:
    """With `subset=`: the scorers of it that you can use. Without: those that you registered."""
    viewer = principal(request)
    query = listing.parse(request.GET, filters={"label": listing.text}, extra=("subset",))
    rows = query.apply(queries.registrations(viewer, query.extra.get("subset")))
    found = paging.page(rows, query, scope=(viewer.account.pk, "impls"))
    official = queries.official_among(row.impl_id for row in found.rows)
    return {
        "object": "list",
        "data": [impl_object(row, viewer, official=row.impl_id in official) for row in found.rows],
        "next_page_token": found.next_page_token,
    }


@router.post("/impls", auth=requires("registry:publish"), response={201: Any})
@idempotent
@body_limit(CODE_BODY_LIMIT)
def create(request: HttpRequest, body: ImplBody) -> HttpResponse:
    """Register a scorer of a subset: `code` (a task_impl.py), or a `grader`. The same bytes give the same id.

    `warnings` tell what is likely to score wrongly in `code`, by line.
    """
    made = scorers.create(
        principal(request),
        body.subset,
        benchmark=body.benchmark,
        code=body.code,
        grader=body.grader,
        label=body.label,
        description=body.description,
        language=body.language,
        pass_threshold=body.pass_threshold,
        network=body.network,
        judge=body.judge.model_dump() if body.judge else None,
        isolation=body.isolation,
    )
    return shown(request, _object(request, made), made.updated_at, 201)


@router.get("/impls/{impl_id}", auth=allows_public("registry:read"), response=Any)
def impl(request: HttpRequest, impl_id: str) -> HttpResponse:
    """One scorer, without its code. `expand=subset`. `warnings` tell what is likely to score wrongly, by line."""
    expand = expanded(request, ["subset"])
    found = queries.registration(principal_or_none(request), impl_id)
    return shown(request, _object(request, found, "subset" in expand), found.updated_at)


@router.patch("/impls/{impl_id}", auth=requires("registry:publish"), response=Any)
def update(request: HttpRequest, impl_id: str, body: ImplPatch) -> HttpResponse:
    """Change your label or description of it. What decides a score never changes under an id."""
    with transaction.atomic():
        found = scorers.own_registration(principal(request), impl_id, lock=True)
        check_match(request, _object(request, found), found.updated_at)
        found = scorers.update(found, body.changes())
    return shown(request, _object(request, found), found.updated_at)


@router.delete("/impls/{impl_id}", auth=requires("registry:publish"), response={204: None})
def delete(request: HttpRequest, impl_id: str) -> HttpResponse:
    """Give up your registration. Runs keep the scorer that graded them."""
    scorers.delete(principal(request), impl_id)
    return HttpResponse(status=204)


@router.get("/impls/{impl_id}/code", auth=allows_public("registry:read"), response=Any)
def code(request: HttpRequest, impl_id: str) -> HttpResponse:
    """The text of task_impl.py; as a JSON object where Accept asks for application/json."""
    found = queries.registration(principal_or_none(request), impl_id).impl
    if "application/json" in request.headers.get("Accept", ""):
        return answer({"object": "impl_code", "id": found.pk, "code": found.code, "sha256": found.code_sha256})
    headers = {"X-Content-Type-Options": "nosniff", "Content-Disposition": 'inline; filename="task_impl.py"'}
    return HttpResponse(found.code, content_type="text/plain; charset=utf-8", headers=headers)


for _path, _view in (("/registry/impls/{impl_id}", impl), ("/registry/impls/{impl_id}/code", code)):
    router.add_api_operation(
        _path,
        ["GET"],
        _view,
        auth=allows_public("registry:read"),
        response=Any,
        operation_id=f"registry_{_view.__name__}",
    )


def _object(request: HttpRequest, found: ImplRegistration, whole: bool = False) -> dict[str, Any]:
    official = bool(queries.official_among([found.impl_id]))
    subset = subset_object(found.impl.subset) if whole else None
    one = impl_object(found, principal_or_none(request), official=official, subset=subset)
    warnings = of_impl(found.impl)
    return {**one, "warnings": warnings} if warnings else one
