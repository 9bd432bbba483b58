"""Changing and deleting benchmarks, subsets and scorers in the browser. Only their owner gets in."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.pages.viewers import signed_in
from registry import authoring, scorers
from registry.pages import editing
from registry.pages.forms import Form

form_view = require_http_methods(["GET", "HEAD", "POST"])


def _form(
    request: HttpRequest, filled: Form, fields: Sequence[str], edit: Callable[[Form, str], object]
) -> tuple[Form, bool]:
    """The form to show, and whether what was sent is stored. ``edit`` gives None where it marks the form instead."""
    if request.method != "POST":
        return filled, False
    form = Form.of(request.POST, *fields)
    stored = edit(form, request.POST.get("seen", "")) is not None
    if stored:
        messages.success(request, "Stored.")
    return form, stored


def _edited(request: HttpRequest, what: str, context: dict[str, Any], form: Form) -> HttpResponse:
    context |= {"form": form.values, "errors": form.errors}
    return render(request, f"registry/{what}_edit.html", context, status=422 if form.refused else 200)


def _asked(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """The page that asks before it deletes."""
    if request.method == "POST":
        context["error"] = "That is not its name. Nothing was deleted."
    return render(request, "registry/delete.html", context, status=422 if request.method == "POST" else 200)


@never_cache
@login_required
@form_view
def benchmark_edit(request: HttpRequest, benchmark_id: str) -> HttpResponse:
    principal = signed_in(request.user)
    found = authoring.own_benchmark(principal, benchmark_id)
    edit = partial(editing.edit_benchmark, principal, benchmark_id)
    form, stored = _form(request, editing.benchmark_form(found), editing.BENCHMARK, edit)
    if stored:
        return redirect("benchmark", benchmark_id=benchmark_id)
    return _edited(request, "benchmark", {"benchmark": found, "seen": found.updated_at.isoformat()}, form)


@never_cache
@login_required
@form_view
def benchmark_delete(request: HttpRequest, benchmark_id: str) -> HttpResponse:
    principal = signed_in(request.user)
    found = authoring.own_benchmark(principal, benchmark_id)
    if request.method == "POST" and editing.confirmed(request.POST.get("name", ""), found.name, found.pk):
        authoring.delete_benchmark(principal, benchmark_id)
        messages.success(request, "Deleted. Runs that were made of it stay readable.")
        return redirect("registry")
    goes = f"{found.subsets.filter(deleted_at=None).count():,}"
    return _asked(request, {"benchmark": found, "kind": "benchmark", "name": found.name, "key": found.pk, "goes": goes})


@never_cache
@login_required
@form_view
def subset_edit(request: HttpRequest, subset_id: str) -> HttpResponse:
    principal = signed_in(request.user)
    found = authoring.own_subset(principal, subset_id)
    edit = partial(editing.edit_subset, principal, subset_id)
    form, stored = _form(request, editing.subset_form(found), editing.SUBSET, edit)
    if stored:
        return redirect("subset", subset_id=subset_id)
    context = {"subset": found, "benchmark": found.benchmark, "seen": found.updated_at.isoformat()}
    return _edited(request, "subset", context, form)


@never_cache
@login_required
@form_view
def subset_delete(request: HttpRequest, subset_id: str) -> HttpResponse:
    principal = signed_in(request.user)
    found = authoring.own_subset(principal, subset_id)
    above = found.benchmark
    if request.method == "POST" and editing.confirmed(request.POST.get("name", ""), found.slug, found.pk):
        authoring.delete_subset(principal, subset_id)
        messages.success(request, "Deleted. Runs that were made of it stay readable.")
        return redirect("benchmark", benchmark_id=above.pk)
    context = {"benchmark": above, "subset": found, "kind": "subset", "name": found.slug, "key": found.pk}
    return _asked(request, {**context, "goes": f"{found.task_count:,}"})


@never_cache
@login_required
@form_view
def scorer_edit(request: HttpRequest, impl_id: str) -> HttpResponse:
    principal = signed_in(request.user)
    found = scorers.own_registration(principal, impl_id)
    edit = partial(editing.edit_scorer, principal, impl_id)
    form, stored = _form(request, editing.scorer_form(found), editing.SCORER, edit)
    if stored:
        return redirect("scorer", impl_id=impl_id)
    subset = found.impl.subset
    context = {"registration": found, "subset": subset, "benchmark": subset.benchmark}
    return _edited(request, "scorer", {**context, "seen": found.updated_at.isoformat()}, form)


@never_cache
@login_required
@form_view
def scorer_delete(request: HttpRequest, impl_id: str) -> HttpResponse:
    principal = signed_in(request.user)
    found = scorers.own_registration(principal, impl_id)
    subset, name = found.impl.subset, found.label or impl_id
    if request.method == "POST" and editing.confirmed(request.POST.get("name", ""), name, impl_id):
        scorers.delete(principal, impl_id)
        messages.success(request, "Given up. Runs keep the scorer that graded them.")
        return redirect("subset", subset_id=subset.pk)
    context = {"benchmark": subset.benchmark, "subset": subset, "kind": "scorer", "name": name, "key": impl_id}
    return _asked(request, context)
