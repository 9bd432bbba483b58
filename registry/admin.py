"""The catalogue for staff: to look at and to search, not to edit. What graded a run never changes."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from registry.models import Benchmark, Impl, ImplRegistration, Subset, Task


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    """No add, no change, no delete."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Benchmark)
class BenchmarkAdmin(ReadOnly):
    list_display = ["id", "name", "owner", "category", "visibility", "created_at", "deleted_at"]
    list_filter = ["visibility", "category"]
    search_fields = ["id", "name", "owner__email"]
    list_select_related = ["owner"]
    date_hierarchy = "created_at"


@admin.register(Subset)
class SubsetAdmin(ReadOnly):
    list_display = ["id", "slug", "benchmark", "state", "rolling", "revision", "task_count", "created_at", "deleted_at"]
    list_filter = ["state", "rolling", "answers"]
    search_fields = ["id", "slug", "name", "benchmark__name", "content_id"]
    list_select_related = ["benchmark"]


@admin.register(Task)
class TaskAdmin(ReadOnly):
    list_display = ["task_id", "subset", "position", "revision"]
    search_fields = ["task_id", "subset__id"]
    list_select_related = ["subset"]
    show_full_result_count = False  # counting every task of every subset would be slow


@admin.register(Impl)
class ImplAdmin(ReadOnly):
    list_display = ["id", "subset", "language", "pass_threshold", "isolation", "created_at"]
    list_filter = ["language", "isolation"]
    search_fields = ["id", "subset__id", "code_sha256"]
    list_select_related = ["subset"]


@admin.register(ImplRegistration)
class ImplRegistrationAdmin(ReadOnly):
    list_display = ["impl", "owner", "label", "created_at", "deleted_at"]
    search_fields = ["impl__id", "label", "owner__email"]
    list_select_related = ["impl", "owner"]
