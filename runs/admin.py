"""Runs in the admin: look, don't touch. Events, results and the journal of calls are history."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.staff import ReadOnly, audit, link, listing, listings
from runs import halting
from runs.models import Artifact, ModelCall, Output, Phase, Run, RunEvent, Shard, TaskResult
from runs.states import ACTIVE


class OfRun(ReadOnly):
    """Rows of a run: found by the run's id, `=run__id`."""

    search_fields = ("=run__id",)
    list_select_related = ("run",)
    ordering = ("-pk",)

    @admin.display(description="run")
    def run_link(self, row: Any) -> str:
        return link(row.run)


@admin.register(Run)
class RunAdmin(ReadOnly):
    list_display = (
        "id",
        "status",
        "owner_link",
        "model_at",
        "benchmark_link",
        "mode",
        "progress",
        "visibility",
        "created_at",
    )
    list_filter = ("status", "mode", "harness", "backend", "visibility", "completes", "unsandboxed")
    list_select_related = ("owner", "benchmark")
    search_fields = ("=id", "owner__email", "benchmark__name", "=subset__id", "=impl__id")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)
    exclude = ("sut_key",)
    readonly_fields = ("rows",)
    actions = ("halt",)

    @admin.display(description="owner", ordering="owner__email")
    def owner_link(self, run: Run) -> str:
        return link(run.owner)

    @admin.display(description="benchmark", ordering="benchmark__name")
    def benchmark_link(self, run: Run) -> str:
        return link(run.benchmark)

    @admin.action(description="Halt these runs and keep their results", permissions=["act"])
    def halt(self, request: HttpRequest, chosen: QuerySet[Run]) -> None:
        going = [run for run in chosen.filter(status__in=ACTIVE) if halting.request_halt(run.id, "staff")]
        for run in going:
            audit(request, run, "halted")
        self.message_user(request, f"Asked {len(going)} run(s) to stop.", messages.SUCCESS)

    @admin.display(description="model")
    def model_at(self, run: Run) -> str:
        sut = run.sut or (run.error or {}).get("model") or {}
        return f"{sut['model']} @ {sut.get('provider') or '?'}" if sut.get("model") else "–"

    @admin.display(description="cells ended")
    def progress(self, run: Run) -> str:
        return f"{run.passed + run.failed + run.unscored + run.errored + run.skipped} / {run.planned}"

    @admin.display(description="its rows")
    def rows(self, run: Run) -> str:
        names = ("phase", "shard", "taskresult", "output", "modelcall", "runevent", "artifact")
        return listings([listing(f"runs_{name}", name, run__id__exact=run.pk) for name in names])


@admin.register(Phase)
class PhaseAdmin(OfRun):
    list_display = ("run_link", "name", "status", "attempt", "started_at", "finished_at")
    list_filter = ("name", "status")


@admin.register(Shard)
class ShardAdmin(OfRun):
    list_display = (
        "run_link",
        "phase",
        "number",
        "start",
        "stop",
        "status",
        "attempt_no",
        "lease_owner",
        "lease_until",
    )
    list_filter = ("status", "phase")


@admin.register(TaskResult)
class TaskResultAdmin(OfRun):
    list_display = ("id", "run_link", "task_id", "trial", "outcome", "score", "error_class", "version", "live")
    list_filter = ("outcome", "error_class", "live")
    search_fields = ("=run__id", "=id", "=task_id")  # type: ignore[assignment]
    payload = True


@admin.register(Output)
class OutputAdmin(OfRun):
    list_display = ("run_link", "ordinal", "attempt", "duration_ms", "created_at")
    payload = True


@admin.register(ModelCall)
class ModelCallAdmin(OfRun):
    """Bodies hold what users and models wrote: they are read in the run's own pages, not here."""

    list_display = (
        "id",
        "run_link",
        "ordinal",
        "attempt",
        "status",
        "http_status",
        "model_served",
        "upstream",
        "tries",
    )
    list_filter = ("status", "error_class", "priced_by", "streamed")
    exclude = ("request", "response")


@admin.register(RunEvent)
class RunEventAdmin(OfRun):
    list_display = ("run_link", "seq", "type", "created_at")
    list_filter = ("type",)


@admin.register(Artifact)
class ArtifactAdmin(OfRun):
    """That it is there; its bytes are read in the run's own pages."""

    list_display = ("id", "run_link", "type", "name", "version", "size", "created_at")
    list_filter = ("type",)
    search_fields = ("=run__id", "=id", "=sha256")  # type: ignore[assignment]
