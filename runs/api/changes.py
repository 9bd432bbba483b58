"""Launch, edit, halt, publish, destroy."""

from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Router

from accounts.door import answer, created, demand, principal, requires
from accounts.idempotency import idempotent
from kernel.errors import DomainError
from runs import destroying, editing, launch_options, launching, objects, publishing, queries, representation
from runs.driver import deciding
from runs.models import Run
from runs.review import remarks
from runs.schemas import ApproveBody, HaltBody, LaunchBody, PublishBody, RunPatch

router = Router()
PUBLISH = "registry:publish"

# `constraints` is the older spelling of limits.run (RFC 9745 and RFC 8594).
CONSTRAINTS_HEADERS = {
    "Deprecation": "@1788998400",  # 2026-09-10
    "Sunset": "Thu, 30 Sep 2027 00:00:00 GMT",
    "Link": f'<{settings.PUBLIC_URL}/docs/guide#limits>; rel="deprecation"',
}


@router.post("/runs", auth=requires("runs:write"), response={201: Any})
@idempotent
def launch(request: HttpRequest, body: LaunchBody) -> HttpResponse:
    """Launch a run: a `request` in words, pinned (`benchmark`, `subset`, `impl`) or `replay`."""
    if body.visibility == "public":
        demand(principal(request), PUBLISH)
    run = launching.launch(principal(request), body)
    headers = {"Location": f"/v1/runs/{run.id}"}
    if body.constraints is not None:
        headers |= CONSTRAINTS_HEADERS
    return created(objects.run_object(run, principal(request)), headers)


@router.patch("/runs/{run_id}", auth=requires("runs:write"), response=Any)
def update(request: HttpRequest, run_id: str, body: RunPatch) -> HttpResponse:
    """Change visibility (needs registry:publish too) or metadata, or answer a flag (`review_resolution`).

    With If-Match: 412 if it was edited since. A flag is also answered by the benchmark's owner and by staff.
    """
    viewer = principal(request)
    changes = {name: value for name, value in body.changes().items() if value is not None}
    said = changes.pop("review_resolution", None)
    if said is not None:
        return _reviewed(request, run_id, said.model_dump(), changes)
    if "metadata" in changes:
        launch_options.checked_metadata(changes["metadata"])
    if "visibility" in changes:
        _check_publishing(request, run_id, changes["visibility"])
    with transaction.atomic():
        run = queries.run(viewer, run_id, write=True)
        Run.objects.select_for_update().get(id=run.id)
        run.refresh_from_db()
        representation.check_match(request, run, representation.etag(run, objects.run_object(run, viewer)))
        editing.edit(run, changes)
    return _shown(request, run)


def _reviewed(request: HttpRequest, run_id: str, said: dict[str, Any], others: dict[str, Any]) -> HttpResponse:
    """A remark alone: it is allowed to more people than the other changes, so it does not come with them."""
    viewer = principal(request)
    run = remarks.run_for(viewer, run_id)
    if others:
        msg = "Send review_resolution alone; what else shall change goes into a request of its own."
        raise DomainError(
            "mutually_exclusive", msg, errors=[{"loc": ["body", "review_resolution"], "msg": "send it alone"}]
        )
    representation.check_match(request, run, representation.etag(run, objects.run_object(run, viewer)))
    remarks.add(viewer, run, said)
    run.refresh_from_db()
    return _shown(request, run)


@router.delete("/runs/{run_id}", auth=requires("runs:write"), response={204: None})
def destroy(request: HttpRequest, run_id: str) -> HttpResponse:
    """Destroy a run and its results for good. A running one is stopped first. Afterwards it is 410 gone."""
    destroying.destroy(principal(request), run_id)
    return HttpResponse(status=204)


@router.post("/runs/{run_id}/halt", auth=requires("runs:write"), response=Any)
def halt(request: HttpRequest, run_id: str, body: HaltBody | None = None) -> HttpResponse:
    """Stop a run; it stays readable. A run that has ended stays as it is."""
    return _shown(request, editing.halt(principal(request), run_id, (body.reason or "") if body else ""))


@router.post("/runs/{run_id}/approve", auth=requires("runs:write"), response=Any)
@idempotent
def approve(request: HttpRequest, run_id: str, body: ApproveBody | None = None) -> HttpResponse:
    """Answer what a run in `needs_input` asks (its field `asked`), and let it go on."""
    said = body.model_dump(exclude_none=True) if body is not None else {}
    return _shown(request, deciding.approve(principal(request), run_id, said))


@router.post("/runs/{run_id}/publish", auth=requires("runs:write"), response=Any)
def publish(request: HttpRequest, run_id: str, body: PublishBody | None = None) -> HttpResponse:
    """Make a run public (or private again). Needs registry:publish too."""
    visibility = body.visibility if body is not None else "public"
    run = _check_publishing(request, run_id, visibility)
    if run.visibility != visibility:
        editing.edit(run, {"visibility": visibility})
    return _shown(request, run)


def _check_publishing(request: HttpRequest, run_id: str, visibility: str) -> Run:
    """Raises not_found, insufficient_scope, and where it becomes public secret_found and scan_pending."""
    run = queries.run(principal(request), run_id, write=True)
    demand(principal(request), PUBLISH)
    if visibility == "public" != run.visibility:
        publishing.demand_clean(run)
    return run


def _shown(request: HttpRequest, run: Run) -> HttpResponse:
    found = objects.run_object(run, principal(request))
    return answer(found, headers={"ETag": representation.etag(run, found)})
