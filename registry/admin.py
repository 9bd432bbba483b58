"""The catalogue for staff: to look at and to search, not to edit. What graded a run never changes."""

from typing import Any

from django.contrib import admin

from accounts.staff import ReadOnly, link, listing, listings
from registry.models import Benchmark, Impl, ImplRegistration, Subset, Task


@admin.register(Benchmark)
class BenchmarkAdmin(ReadOnly):
    list_display = ["id", "name", "owner_link", "category", "visibility", "created_at", "deleted_at"]
    list_filter = ["visibility", ("deleted_at", admin.EmptyFieldListFilter), "category"]
    search_fields = ["=id", "name", "owner__email"]
    list_select_related = ["owner"]
    date_hierarchy = "created_at"
    readonly_fields = ["below"]

    @admin.display(description="owner", ordering="owner__email")
    def owner_link(self, row: Benchmark) -> str:
        return link(row.owner)

    @admin.display(description="below it")
    def below(self, row: Benchmark) -> str:
        subsets = listing("registry_subset", "subsets", benchmark__id__exact=row.pk)
        return listings([subsets, listing("runs_run", "runs", benchmark__id__exact=row.pk)])


@admin.register(Subset)
class SubsetAdmin(ReadOnly):
    list_display = [
        "id",
        "slug",
        "benchmark_link",
        "state",
        "rolling",
        "revision",
        "task_count",
        "created_at",
        "deleted_at",
    ]
    list_filter = ["state", "rolling", "answers"]
    search_fields = ["=id", "slug", "name", "benchmark__name", "=content_id"]
    list_select_related = ["benchmark"]
    readonly_fields = ["below"]

    @admin.display(description="benchmark", ordering="benchmark__name")
    def benchmark_link(self, row: Subset) -> str:
        return link(row.benchmark)

    @admin.display(description="below it")
    def below(self, row: Subset) -> str:
        tasks = listing("registry_task", "tasks", subset__id__exact=row.pk)
        impls = listing("registry_impl", "scorers", subset__id__exact=row.pk)
        return listings([tasks, impls, listing("runs_run", "runs", subset__id__exact=row.pk)])


@admin.register(Task)
class TaskAdmin(ReadOnly):
    list_display = ["task_id", "subset_link", "position", "revision"]
    search_fields = ["=task_id", "=subset__id"]
    list_select_related = ["subset"]
    payload = True

    @admin.display(description="subset")
    def subset_link(self, row: Any) -> str:
        return link(row.subset)


@admin.register(Impl)
class ImplAdmin(ReadOnly):
    list_display = ["id", "subset_link", "language", "pass_threshold", "isolation", "created_at"]
    list_filter = ["language", "isolation"]
    search_fields = ["=id", "=subset__id", "=code_sha256"]
    list_select_related = ["subset"]
    payload = True

    @admin.display(description="subset")
    def subset_link(self, row: Any) -> str:
        return link(row.subset)


@admin.register(ImplRegistration)
class ImplRegistrationAdmin(ReadOnly):
    list_display = ["impl", "owner", "label", "copied", "created_at", "deleted_at"]
    search_fields = ["=impl__id", "label", "owner__email"]
    list_select_related = ["impl", "owner"]
