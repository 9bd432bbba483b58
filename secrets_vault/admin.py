"""Secrets for staff: that they exist and where they go. Never a value, never sealed bytes."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

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
class SecretAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["id", "name", "owner", "preview", "version", "created_at", "deleted_at"]
    search_fields = ["id", "name", "owner__email"]
    list_select_related = ["owner"]
    fields = ["id", "name", "owner", "description", "preview", "version", "created_at", "updated_at", "deleted_at"]
    inlines = [RuleInline, VersionInline]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
