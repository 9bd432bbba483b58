"""/manage/connections and /manage/compute: read the form, call one function, render."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.pages.viewers import signed_in
from runs.pages.connections import page
from runs.pages.connections.form import ConnectionForm

form_view = require_http_methods(["GET", "HEAD", "POST"])
LISTS = {page.MODELS: "manage_connections", page.COMPUTE: "manage_compute"}


def _shown(request: HttpRequest, name: str, context: dict[str, Any], *, refused: bool = False) -> HttpResponse:
    return render(request, f"manage/{name}.html", context, status=422 if refused else 200)


@never_cache
@login_required
@form_view
def models(request: HttpRequest) -> HttpResponse:
    """Model endpoints; a POST adds one."""
    return _list(request, page.MODELS, "connections")


@never_cache
@login_required
@form_view
def compute(request: HttpRequest) -> HttpResponse:
    """Compute backends; a POST adds one."""
    return _list(request, page.COMPUTE, "compute")


def _list(request: HttpRequest, kind: str, template: str) -> HttpResponse:
    principal = signed_in(request.user)
    if request.method != "POST":
        return _shown(request, template, page.page(principal, kind, provider=request.GET.get("for", "")))
    form = ConnectionForm.of(request.POST, kind)
    made = page.add(principal, form)
    if made is None:
        return _shown(request, template, page.page(principal, kind, form), refused=True)
    messages.success(request, f"Set up {made.name}.")
    return redirect("manage_connection", connection_id=made.pk)


@never_cache
@login_required
@require_safe
def connection(request: HttpRequest, connection_id: str) -> HttpResponse:
    return _one(request, connection_id)


@never_cache
@login_required
@require_POST
def edit(request: HttpRequest, connection_id: str) -> HttpResponse:
    """Runs under way keep what they were launched with."""
    form = ConnectionForm.of(request.POST, page.MODELS)
    if page.edit(signed_in(request.user), connection_id, form, request.POST.get("seen", "")) is None:
        return _one(request, connection_id, form=form)
    messages.success(request, "Stored. Runs that start now go by it.")
    return redirect("manage_connection", connection_id=connection_id)


@never_cache
@login_required
@require_POST
def test(request: HttpRequest, connection_id: str) -> HttpResponse:
    """One tiny call, and what it told on the same page."""
    model = request.POST.get("model", "").replace("\x00", "").strip()[:200]
    return _one(request, connection_id, asked=model, **page.tried(signed_in(request.user), connection_id, model))


@never_cache
@login_required
@form_view
def delete(request: HttpRequest, connection_id: str) -> HttpResponse:
    """Says what a deletion means; a POST deletes it."""
    principal = signed_in(request.user)
    if request.method != "POST":
        return _shown(request, "connection_delete", page.one(principal, connection_id))
    gone = page.delete(principal, connection_id)
    messages.success(request, f"Deleted {gone.name}. Its secret stays, and runs under way go on.")
    return redirect(LISTS[gone.kind])


def _one(
    request: HttpRequest, connection_id: str, form: ConnectionForm | None = None, asked: str = "", **more: Any
) -> HttpResponse:
    context = page.one(signed_in(request.user), connection_id, form, asked) | more
    return _shown(request, "connection", context, refused=form is not None)
