"""Runs in the admin: look, don't touch. Events, results and the journal of calls are history."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from runs.models import ModelCall, Output, Phase, Run, RunEvent, Shard, TaskResult


def link(target: Model | None) -> str:
    """A link to a row's own page."""
    if target is None:
        return "–"
    name = f"admin:{target._meta.app_label}_{target._meta.model_name}_change"
    return format_html('<a href="{}">{}</a>', reverse(name, args=[target.pk]), str(target))


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    """Large tables: no total count, and no search that reads them whole."""

    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


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
    list_display = ("id", "status", "owner", "asked", "benchmark", "mode", "progress", "visibility", "created_at")
    list_filter = ("status", "mode", "harness", "backend", "visibility", "completes", "unsandboxed")
    list_select_related = ("owner", "benchmark")
    search_fields = ("=id", "owner__email", "benchmark__name", "=subset__id", "=impl__id")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)
    exclude = ("sut_key",)
    readonly_fields = ("rows",)

    @admin.display(description="model")
    def asked(self, run: Run) -> str:
        return f"{run.sut.get('model', '?')} @ {run.sut.get('provider', '?')}"

    @admin.display(description="cells ended")
    def progress(self, run: Run) -> str:
        return f"{run.passed + run.failed + run.unscored + run.errored + run.skipped} / {run.planned}"

    @admin.display(description="its rows")
    def rows(self, run: Run) -> str:
        parts = [
            format_html('<a href="{}?run__id__exact={}">{}</a>', reverse(f"admin:runs_{name}_changelist"), run.pk, name)
            for name in ("phase", "shard", "taskresult", "output", "modelcall", "runevent")
        ]
        return format_html(" · ".join(["{}"] * len(parts)), *parts)


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


@admin.register(Output)
class OutputAdmin(OfRun):
    list_display = ("run_link", "ordinal", "attempt", "duration_ms", "created_at")


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
