"""The report page, remarks to flags, and remedies that are pressed."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.pages import once
from accounts.pages.viewers import signed_in, viewer
from accounts.principal import Principal
from kernel.errors import DomainError
from runs import launching, payloads, queries
from runs.models import Run
from runs.reporting import page, remedies, storing
from runs.reporting.failures import classes
from runs.review import remarks
from runs.schemas import LaunchBody


def _run(reader: Principal | None, run_id: UUID) -> Run:
    """The run if it may be seen; the 404 page otherwise."""
    try:
        return queries.run(reader, run_id)
    except DomainError as refused:
        raise Http404 from refused


@never_cache
@require_safe
def report(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The report of an ended run as its one file; of a going run, the run's own page."""
    reader = viewer(request.user)
    run = _run(reader, run_id)
    if run.status not in queries.TERMINAL:
        return redirect("run", run_id=run_id)
    mine = reader is not None and run.owner_id == reader.account.pk
    shown = storing.served(run, mine=mine, answers=payloads.may_see_answers(run, reader))
    text = storing.rendered(shown, "html").encode("utf-8", "replace")
    return HttpResponse(text, content_type="text/html; charset=utf-8", headers=page.HEADERS)


@require_POST
@login_required
def remark(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Say something to a flag, or settle it."""
    principal = signed_in(request.user)
    try:
        run = remarks.run_for(principal, str(run_id))
    except DomainError as refused:
        raise Http404 from refused
    said = {name: request.POST.get(name, "").replace("\x00", "")[:4000] for name in ("code", "note", "settlement")}
    if said["settlement"] not in ("", *remarks.SETTLEMENTS):
        said["settlement"] = ""
    try:
        remarks.add(principal, run, said)
    except DomainError as refusal:
        messages.error(request, refusal.detail)
    return redirect(f"/runs/{run.id}#flags")


@require_POST
@login_required
def mend(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Launch what a remedy of the run's page offers, once for a form; leads to the run that it makes."""
    principal = signed_in(request.user)
    run = _run(principal, run_id)
    mark = request.POST.get("mark", "")
    earlier = once.claim(principal, mark)
    if earlier is not None:
        return redirect("run", run_id=UUID(earlier) if earlier else run_id)
    try:
        made = launching.launch(principal, _body(run, principal, request.POST.get("class", "")))
    except DomainError as refusal:
        messages.error(request, refusal.detail)
        return redirect(f"/runs/{run.id}#failures")
    once.settle(principal, mark, str(made.id))
    return redirect("run", run_id=made.id)


def _body(run: Run, principal: Principal, name: str) -> LaunchBody:
    """The launch that mends a class. Raises not_found where there is none any more."""
    mine = run.owner_id == principal.account.pk
    for group in classes.classes(run):
        if group["error_class"] != name:
            continue
        for offer in remedies.offers(run, group, mine=mine):
            if offer.kind == "replay":
                asked: dict[str, Any] = dict(offer.requests[0]["body"])
                return LaunchBody.model_validate(
                    {**asked, "limits": _ceilings(asked.get("limits") or run.limits) if mine else None}
                )
    raise DomainError("not_found", "Nothing of this run is to be run again for that. Its page shows what is.")


def _ceilings(limits: Mapping[str, Any]) -> dict[str, Any] | None:
    """Those of the run itself, or raised ones, but for the number of tasks: the slice says which."""
    of_run = {name: value for name, value in dict(limits.get("run", {})).items() if name != "tasks"}
    kept = {name: value for name, value in limits.items() if name != "run"}
    return {**kept, **({"run": of_run} if of_run else {})} or None
