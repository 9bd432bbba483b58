"""What a run comes to: its report, what mends what did not pass, the audit of its readings, and plain words."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from accounts.door import allows_public, created, principal, principal_or_none, requires
from accounts.idempotency import idempotent
from accounts.principal import Principal
from kernel import conditional
from kernel.errors import DomainError
from runs import payloads, queries, representation
from runs.driver import narrating as driver_words
from runs.models import Run
from runs.reporting import narrating, page, remedies, storing
from runs.schemas import NarrateBody

router = Router()
_READ = allows_public("runs:read")
_TYPES = {
    "html": "text/html; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
    "json": "application/json",
}


def _of(request: HttpRequest, run_id: str) -> tuple[Run, dict[str, bool]]:
    """The run, and what this reader may know of it."""
    viewer = principal_or_none(request)
    run = queries.run(viewer, run_id)
    return run, {"mine": _mine(run, viewer), "answers": payloads.may_see_answers(run, viewer)}


def _mine(run: Run, viewer: Principal | None) -> bool:
    return viewer is not None and run.owner_id == viewer.account.pk


@router.get("/runs/{run_id}/report", auth=_READ, response=Any)
def report(request: HttpRequest, run_id: str) -> HttpResponse:
    """The report of an ended run. `format=` html (default: one file without scripts), markdown or json."""
    representation.only(request, ("format",))
    form = request.GET.get("format") or "html"
    if form not in storing.FORMATS:
        msg = f"format={form} is unknown. Known: {', '.join(storing.FORMATS)}."
        raise DomainError("invalid_parameter", msg, errors=[{"loc": ["query", "format"], "msg": msg}])
    run, may = _of(request, run_id)
    text = storing.rendered(storing.served(run, **may), form).encode("utf-8", "replace")
    tag = conditional.etag(text.decode())
    if conditional.not_modified(request, tag):
        return HttpResponse(status=304, headers={"ETag": tag})
    return HttpResponse(text, content_type=_TYPES[form], headers={**page.HEADERS, "ETag": tag})


@router.get("/runs/{run_id}/remedies", auth=_READ, response=Any)
def mending(request: HttpRequest, run_id: str) -> dict[str, Any]:
    """What did not pass by class, with the requests that mend it and their price, and what was run again."""
    representation.only(request, representation.FIELDS)
    run, may = _of(request, run_id)
    return representation.selected(request, remedies.document(run, **may))


@router.get("/runs/{run_id}/audit", auth=_READ, response=Any)
def extraction_audit(request: HttpRequest, run_id: str) -> dict[str, Any]:
    """Outputs that a second reader reads otherwise than the scorer did. Free: no model is asked.

    Which rows they are is told to those who may see the expected answers; everybody else gets the counts.
    """
    representation.only(request, representation.FIELDS)
    run, may = _of(request, run_id)
    found = storing.audit_of(run)
    rows = found["rows"] if may["answers"] else []
    return representation.selected(
        request, {"object": "audit", "run": str(run.id), **found, "rows": rows, "rows_hidden": not may["answers"]}
    )


@router.get("/runs/{run_id}/narrate", auth=_READ, response=Any)
def narrate(request: HttpRequest, run_id: str) -> dict[str, Any]:
    """The run in plain words, built in and free. `slice=` recent (default), all or failures."""
    representation.only(request, ("slice", *representation.FIELDS))
    run, may = _of(request, run_id)
    return representation.selected(request, narrating.narrate(run, request.GET.get("slice") or "recent", **may))


@router.post("/runs/{run_id}/narrate", auth=requires("runs:write"), response={201: Any})
@idempotent
def ask_driver(request: HttpRequest, run_id: str, body: NarrateBody | None = None) -> HttpResponse:
    """The run in the words of its driver, which costs; its owner alone may ask.

    Every number in them stands in the facts that the built-in narration tells. Where the driver can't be asked or does
    not hold to that, after one repair, the answer is the built-in narration, and its `notice` says why.
    """
    viewer = principal(request)
    run = queries.run(viewer, run_id, write=True)
    part = body.slice if body is not None else "recent"
    return created(driver_words.narrate(run, part, answers=payloads.may_see_answers(run, viewer)))
