"""Artifacts of a run: the list, one, and its bytes."""

import re
from typing import Any
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from ninja import Router

from accounts.door import allows_public, answer, principal_or_none
from kernel import conditional, listing, paging
from kernel.errors import DomainError
from runs import payloads, queries, representation
from runs.artifacts import reading, records
from runs.models import Artifact

router = Router()
_SCOPES = ("runs:read", "artifacts:read")
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Accept-Ranges": "bytes",
}


FILTERS = {"type": listing.text, "task_id": listing.text, "include_versions": listing.flag}


@router.get("/runs/{run_id}/artifacts", auth=allows_public(*_SCOPES), response=Any)
def artifacts(request: HttpRequest, run_id: str) -> dict[str, Any]:
    """What the run left: code, recipe, logs, raw outputs, summary. Newest versions, or all: `include_versions=true`.

    Filters: type, task_id.
    """
    viewer = principal_or_none(request)
    run = queries.run(viewer, run_id)
    query = listing.parse(request.GET, default="created_at", filters=FILTERS, default_limit=100)
    kind, task = query.value("type"), query.value("task_id")
    if kind is not None and kind not in records.TYPES:
        msg = f"There is no artifact type {kind!r}. Known: {', '.join(records.TYPES)}."
        raise DomainError("invalid_filter", msg, errors=[{"loc": ["query", "type"], "msg": msg}])
    rows = reading.visible(run, viewer, answers=payloads.may_see_answers(run, viewer))
    if kind is not None:
        rows = rows.filter(type=kind)
    if task is not None:
        rows = rows.filter(task_id=task)
    if not query.value("include_versions"):
        rows = reading.newest(rows)
    found = paging.page(rows, query, scope=(viewer.account.pk if viewer else None, "artifacts", run.id))
    return {
        "object": "list",
        "data": [reading.artifact_object(row) for row in found.rows],
        "next_page_token": found.next_page_token,
    }


@router.get("/runs/{run_id}/artifacts/{artifact_id}", auth=allows_public(*_SCOPES), response=Any)
def artifact(request: HttpRequest, run_id: str, artifact_id: str) -> HttpResponse:
    """One artifact, without its bytes. `fields=` only these."""
    representation.only(request, representation.FIELDS)
    found = reading.artifact_object(_one(request, run_id, artifact_id))
    return answer(representation.selected(request, found))


@router.get("/runs/{run_id}/artifacts/{artifact_id}/content", auth=allows_public(*_SCOPES), response=Any)
def content(request: HttpRequest, run_id: str, artifact_id: str) -> HttpResponse:
    """Its bytes, as a download; never as a page. `Range: bytes=0-1023` gives a part (206)."""
    row = _one(request, run_id, artifact_id)
    tag = f'"{row.sha256}"'
    headers = {**_HEADERS, "ETag": tag, "Content-Disposition": disposition(row.name)}
    if conditional.not_modified(request, tag):
        return HttpResponse(status=304, headers={"ETag": tag})
    part = _range(request, row)
    if part is None:
        return HttpResponse(reading.content(row), content_type=reading.served_as(row.content_type), headers=headers)
    start, stop = part
    headers["Content-Range"] = f"bytes {start}-{stop - 1}/{row.size}"
    data = reading.content(row, start, stop)
    return HttpResponse(data, status=206, content_type=reading.served_as(row.content_type), headers=headers)


def _one(request: HttpRequest, run_id: str, artifact_id: str) -> Artifact:
    viewer = principal_or_none(request)
    run = queries.run(viewer, run_id)
    return reading.one(reading.visible(run, viewer, answers=payloads.may_see_answers(run, viewer)), artifact_id)


def _range(request: HttpRequest, row: Artifact) -> tuple[int, int] | None:
    """[start, stop) that was asked for; None = all of it, also where the header can't be read or names several parts.

    Raises range_not_satisfiable where the part lies beyond the end.
    """
    asked = _RANGE.fullmatch(request.headers.get("Range", "").replace(" ", ""))
    tag = request.headers.get("If-Range")
    if asked is None or asked.groups() == ("", "") or (tag is not None and tag != f'"{row.sha256}"'):
        return None
    first, last = asked.groups()
    if not first:
        start, stop = max(0, row.size - int(last)), row.size
    else:
        start, stop = int(first), min(row.size, int(last) + 1 if last else row.size)
    if start >= stop:
        if first and last and int(last) < int(first):
            return None  # no range at all: RFC 9110 says to ignore it
        raise DomainError(
            "range_not_satisfiable",
            f"The artifact has {row.size} bytes; the range asked for lies beyond them.",
            headers={"Content-Range": f"bytes */{row.size}"},
        )
    return start, stop


def disposition(name: str) -> str:
    """An attachment under this name, spelt for all browsers (RFC 6266)."""
    safe = "".join(sign if sign.isprintable() and sign not in '/\\:*?"<>|%;' else "_" for sign in name).strip(". ")
    plain = safe.encode("ascii", "replace").decode().replace("?", "_") or "artifact"
    return f"attachment; filename=\"{plain[:150]}\"; filename*=UTF-8''{quote((safe or 'artifact')[:150], safe='')}"
