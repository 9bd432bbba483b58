"""The page of flips, and the form that forks a run."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.pages.viewers import signed_in, viewer
from kernel.errors import DomainError
from runs import queries
from runs.pages.lineage import form, page


@never_cache
@require_safe
def flips(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """What ended otherwise than in the run that this one was made of."""
    who = viewer(request.user)
    try:
        context = page.flips_page(queries.run(who, run_id), who, request.GET.dict())
    except DomainError as refused:
        raise Http404 from refused
    return render(request, "runs/flips.html", context)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def fork(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Say what to change in the scorer, or choose another; a POST forks and leads to the fork."""
    principal = signed_in(request.user)
    try:
        parent = queries.run(principal, run_id)
        posted = request.method == "POST"
        filled = form.Form.of(request.POST) if posted else form.begin(principal, request.GET.get("again", ""))
        made = form.fork_once(principal, parent, filled, request.POST.get("mark", "")) if posted else None
        if made is not None:
            return redirect("run", run_id=made)
        context = form.page(principal, parent, filled)
    except DomainError as refused:
        raise Http404 from refused
    return render(request, "runs/fork.html", context, status=422 if posted else 200)
