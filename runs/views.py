"""The pages of runs. Anybody may read a public run; everything else is its owner's."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.pages.viewers import signed_in, viewer
from kernel.errors import DomainError
from runs import halting, payloads, queries
from runs.driver import deciding
from runs.models import Run
from runs.pages import left, list_page, run_page, task_page
from runs.pages.launch import in_words
from runs.pages.launch import page as launch_page
from runs.pages.launch.form import Form
from runs.pages.lineage import page as lineage_page
from runs.review import remarks


def _run(request: HttpRequest, run_id: UUID, *, write: bool = False) -> Run:
    """The run if it may be seen; the 404 page otherwise, the same for unknown, foreign and destroyed ones."""
    try:
        return queries.run(viewer(request.user), run_id, write=write)
    except DomainError as refused:
        raise Http404 from refused


def _mine(request: HttpRequest, run: Run) -> bool:
    return request.user.is_authenticated and request.user.pk == run.owner_id


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return redirect("runs")


@never_cache
@login_required
@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    """One's own runs, newest first."""
    return render(request, "runs/list.html", list_page.page(signed_in(request.user), request.GET.dict()))


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def launch(request: HttpRequest) -> HttpResponse:
    """The launch form. A POST launches and leads to the run; with ``plan`` in it, it only looks."""
    principal = signed_in(request.user)
    form = Form.of(request.POST if request.method == "POST" else request.GET)
    if request.method != "POST":
        form = launch_page.begin(principal, form)
    elif "plan" not in request.POST:
        run_id = launch_page.launch_once(principal, form, request.POST.get("mark", ""))
        if run_id is not None:
            return redirect("run", run_id=run_id)
        return render(request, "runs/launch.html", launch_page.page(principal, form), status=422)
    return render(request, "runs/launch.html", launch_page.page(principal, form))


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def launch_in_words(request: HttpRequest) -> HttpResponse:
    """Say what shall be measured. A POST launches and leads to the run."""
    principal = signed_in(request.user)
    form = in_words.form_of(request.POST if request.method == "POST" else request.GET)
    if request.method != "POST":
        form = in_words.begin(principal, form)
    else:
        run_id = in_words.launch_once(principal, form, request.POST.get("mark", ""))
        if run_id is not None:
            return redirect("run", run_id=run_id)
    page = in_words.page(principal, form)
    return render(request, "runs/launch_in_words.html", page, status=422 if form.errors else 200)


@require_POST
@login_required
def approve(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Answer what a run of one's own asks; it goes on."""
    said: dict[str, Any] = {}
    if request.POST.get("choice"):
        said["choice"] = request.POST["choice"]
    if request.POST.get("other", "").strip():
        said["choice"] = f"model:{request.POST['other'].strip()}"
    if request.POST.get("limit", "").strip():
        said["edits"] = {"limit": _count(request.POST["limit"])}
    try:
        deciding.approve(signed_in(request.user), str(run_id), said)
    except DomainError as refusal:
        if refusal.code == "not_found":
            raise Http404 from refusal
        messages.error(request, refusal.detail)
    return HttpResponseRedirect(f"/runs/{run_id}")


def _count(typed: str) -> int | str:
    """A number as it is typed, with or without commas; anything else stays as it is, to be refused by the plan."""
    bare = typed.strip().replace(",", "")
    return int(bare) if bare.isascii() and bare.isdigit() and len(bare) < 10 else typed.strip()


@never_cache
@require_safe
def run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """One run, going or done."""
    found = _run(request, run_id)
    reader = viewer(request.user)
    context = run_page.page(
        found,
        request.GET.dict(),
        mine=_mine(request, found),
        answers=payloads.may_see_answers(found, reader),
        settles=reader is not None and remarks.may_settle(found, reader),
    )
    context["files"] = left.of_run(found, reader)
    context["lineage"] = lineage_page.of(found, reader)
    return render(request, "runs/live.html" if context["live"] else "runs/done.html", context)


@never_cache
@require_safe
def task(request: HttpRequest, run_id: UUID, task_id: str) -> HttpResponse:
    """One result with its payload."""
    found = _run(request, run_id)
    context = task_page.page(found, task_id, viewer=viewer(request.user), mine=_mine(request, found))
    if context is None:
        raise Http404
    return render(request, "runs/task.html", context)


@never_cache
@require_safe
def file(request: HttpRequest, run_id: UUID, artifact_id: str) -> HttpResponse:
    """One file that the run left, as a download."""
    return left.download(_run(request, run_id), artifact_id, viewer(request.user))


@require_POST
@login_required
def halt(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Stop a run of one's own and keep its results."""
    found = _run(request, run_id, write=True)
    halting.request_halt(found.id, "user")
    return HttpResponseRedirect(f"/runs/{found.id}")
