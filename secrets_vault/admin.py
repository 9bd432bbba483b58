"""Secrets for staff: that they exist and where they go. Never a value, never sealed bytes."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from accounts.staff import ReadOnly, link
from secrets_vault.models import Secret, SecretRule, SecretVersion


class RuleInline(admin.TabularInline):  # type: ignore[type-arg]
    model = SecretRule
    fields = ["host_pattern", "inject_kind", "inject_target"]
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class VersionInline(admin.TabularInline):  # type: ignore[type-arg]
    model = SecretVersion
    fields = ["version", "key_id", "created_at"]
    readonly_fields = ["created_at"]
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Secret)
class SecretAdmin(ReadOnly):
    list_display = ["id", "name", "owner_link", "preview", "version", "created_at", "deleted_at"]
    list_filter = [("deleted_at", admin.EmptyFieldListFilter), "created_at"]
    search_fields = ["=id", "name", "owner__email", "rules__host_pattern"]
    list_select_related = ["owner"]
    fields = ["id", "name", "owner", "description", "preview", "version", "created_at", "updated_at", "deleted_at"]
    inlines = [RuleInline, VersionInline]

    @admin.display(description="owner", ordering="owner__email")
    def owner_link(self, row: Secret) -> str:
        return link(row.owner)
