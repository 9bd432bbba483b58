"""The pages of the catalogue. Anybody reads what is public; everything else is its owner's."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.pages.viewers import signed_in, viewer
from kernel.errors import DomainError
from registry import authoring, queries
from registry.linting import lint
from registry.models import Benchmark
from registry.pages import forms, lists
from registry.pages.forms import Form
from registry.pages.scorer_form import ScorerForm

form_view = require_http_methods(["GET", "HEAD", "POST"])


def _shown(request: HttpRequest, template: str, context: dict[str, Any], form: Form | None = None) -> HttpResponse:
    """The page; a refused form is 422. A template gets the form's parts by their names."""
    refused = form is not None and form.refused
    if form is not None:
        context |= {"form": form.values, "errors": form.errors, "faults": form.faults, "unit": form.unit}
    return render(request, template, context, status=422 if refused or context.get("refused") else 200)


@never_cache
@require_safe
def benchmarks(request: HttpRequest) -> HttpResponse:
    return _shown(request, "registry/list.html", lists.benchmarks(viewer(request.user), request.GET.dict()))


@never_cache
@login_required
@form_view
def benchmark_new(request: HttpRequest) -> HttpResponse:
    """A new benchmark; its first subset comes next."""
    form = Form.of(request.POST, "name", "description", "category", "tags")
    if request.method == "POST":
        made = forms.make_benchmark(signed_in(request.user), form)
        if made is not None:
            return redirect("subset_new", benchmark_id=made.pk)
    return _shown(request, "registry/benchmark_new.html", {}, form)


@never_cache
@require_safe
def benchmark(request: HttpRequest, benchmark_id: str) -> HttpResponse:
    return _shown(request, "registry/benchmark.html", lists.benchmark(viewer(request.user), benchmark_id))


@never_cache
@login_required
@form_view
def subset_new(request: HttpRequest, benchmark_id: str) -> HttpResponse:
    """Rows and a scorer, all of it or nothing."""
    principal = signed_in(request.user)
    above = authoring.own_benchmark(principal, benchmark_id)
    form = Form.of(request.POST, *_SUBSET, way="frozen", answers="open", slug=_slug(above))
    scorer = ScorerForm.of(request.POST, posted=request.method == "POST", kind="exact")
    if request.method == "POST":
        made = forms.make_subset(principal, benchmark_id, form, scorer, _file(request))
        if made is not None:
            messages.success(request, f"Stored {made.task_count:,} row{'' if made.task_count == 1 else 's'}.")
            return redirect("subset", subset_id=made.pk)
    context = {"benchmark": above, "scorer": scorer.shown(), "refused": bool(scorer.errors), "limit": _megabytes()}
    return _shown(request, "registry/subset_new.html", context, form)


_TOLD = 5  # of the lint's findings
_SCORER = ("label", "pass_threshold", "isolation")
_SCORER_FIRST = {"pass_threshold": "1", "isolation": "batch"}
_SUBSET = ("slug", "name", "description", "way", "answers", "rows")


def _slug(above: Benchmark) -> str:
    return "main" if not above.subsets.filter(deleted_at=None).exists() else ""


def _file(request: HttpRequest) -> "UploadedFile[bytes] | None":
    sent = request.FILES.get("file")
    return sent if isinstance(sent, UploadedFile) and sent.size else None


def _megabytes() -> int:
    return settings.ROWS_BODY_LIMIT_BYTES >> 20


@never_cache
@require_safe
def subset(request: HttpRequest, subset_id: str) -> HttpResponse:
    return _shown(request, "registry/subset.html", lists.subset(viewer(request.user), subset_id, request.GET.dict()))


@never_cache
@require_safe
def subset_named(request: HttpRequest, benchmark_id: str, slug: str) -> HttpResponse:
    """The address that people write from a benchmark's id and a slug leads to the subset's page."""
    found = queries.subset_named(viewer(request.user), benchmark_id, slug)
    return redirect("subset", subset_id=found.pk)


@never_cache
@login_required
@form_view
def rows_new(request: HttpRequest, subset_id: str) -> HttpResponse:
    """More rows for a rolling subset: a new revision of it."""
    principal = signed_in(request.user)
    found = authoring.own_subset(principal, subset_id)
    form = Form.of(request.POST, "rows")
    if request.method == "POST":
        added = forms.add_rows(principal, subset_id, form, _file(request))
        if added is not None:
            messages.success(request, f"Added {len(added.tasks):,} row{'' if len(added.tasks) == 1 else 's'}.")
            return redirect("subset", subset_id=subset_id)
    return _shown(request, "registry/rows_new.html", {"subset": found, "limit": _megabytes()}, form)


@login_required
@require_POST
def freeze(request: HttpRequest, subset_id: str) -> HttpResponse:
    """Freeze a rolling subset, for good."""
    principal = signed_in(request.user)
    try:
        with transaction.atomic():
            authoring.update_subset(authoring.own_subset(principal, subset_id, lock=True), {"rolling": False})
    except DomainError as refusal:
        if refusal.status == 404:
            raise
        messages.error(request, refusal.detail)
    else:
        messages.success(request, "Frozen. Its tasks can't change any more; it keeps its id.")
    return redirect("subset", subset_id=subset_id)


@never_cache
@login_required
@form_view
def scorer_new(request: HttpRequest, subset_id: str) -> HttpResponse:
    """A scorer by form, or a pasted task_impl.py."""
    principal = signed_in(request.user)
    found = queries.subset(principal, subset_id)
    form = Form.of(request.POST, *_SCORER, **_SCORER_FIRST)
    scorer = ScorerForm.of(request.POST, posted=request.method == "POST", kind="exact")
    if request.method == "POST":
        made = forms.make_scorer(principal, subset_id, form, scorer)
        if made is not None:
            for one in lint.of_impl(made.impl)[:_TOLD]:
                messages.warning(request, f"Line {one['line']}: {one['words']} {one['hint']}")
            return redirect("scorer", impl_id=made.impl_id)
    context = {"subset": found, "benchmark": found.benchmark, "scorer": scorer.shown(), "refused": bool(scorer.errors)}
    return _shown(request, "registry/scorer_new.html", context, form)


@never_cache
@require_safe
def scorer(request: HttpRequest, impl_id: str) -> HttpResponse:
    return _shown(request, "registry/scorer.html", lists.scorer(viewer(request.user), impl_id))
