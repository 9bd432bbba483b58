"""What only a run's owner does on its pages: show it to everybody, hide it, destroy it."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.pages.viewers import signed_in
from kernel.errors import DomainError
from runs import destroying, editing, publishing, queries
from runs.asked import scope
from runs.models import Run
from runs.pages.lineage.naming import title
from runs.states import TERMINAL

form_view = require_http_methods(["GET", "HEAD", "POST"])
KEY_SIGNS = 8  # of a run's id, typed to destroy it


def _shown(request: HttpRequest, template: str, run: Run, error: str = "") -> HttpResponse:
    context: dict[str, Any] = {
        "run": run,
        "title": title(run, mine=True),
        "error": error,
        "live": run.status not in TERMINAL,
        "scope": scope.of(run),
    }
    context["key"] = str(run.id)[-KEY_SIGNS:]
    return render(request, f"runs/{template}.html", context, status=422 if error else 200)


@never_cache
@login_required
@form_view
def visibility(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Says what everybody would see, or not see any more; a POST does it."""
    run = queries.run(signed_in(request.user), run_id, write=True)
    if request.method != "POST":
        return _shown(request, "visibility", run)
    wanted = request.POST.get("visibility")
    if wanted not in ("public", "private"):
        return _shown(request, "visibility", run, "Choose whether everybody or only you may see it.")
    try:
        if wanted == "public" != run.visibility:
            publishing.demand_clean(run)
        if run.visibility != wanted:
            editing.edit(run, {"visibility": wanted})
    except DomainError as refusal:
        return _shown(request, "visibility", run, refusal.detail)
    messages.success(request, "Anybody may see it now." if wanted == "public" else "Only you can see it now.")
    return redirect("run", run_id=run.id)


@never_cache
@login_required
@form_view
def destroy(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Says what goes; a POST with the end of the run's id destroys it."""
    principal = signed_in(request.user)
    run = queries.run(principal, run_id, write=True)
    if request.method != "POST":
        return _shown(request, "destroy", run)
    typed = request.POST.get("name", "").strip().lower()
    if typed not in (str(run.id), str(run.id)[-KEY_SIGNS:]):
        return _shown(request, "destroy", run, "That is not the end of its id. Nothing was destroyed.")
    destroying.destroy(principal, str(run.id))
    messages.success(request, "The run is destroyed, results and all.")
    return redirect("runs")
