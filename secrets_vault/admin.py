"""Secrets, connections and host policies for staff: that they exist and where they go. Never a value."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.staff import ReadOnly, link
from secrets_vault.models import (
    BlockedHost,
    Connection,
    HostDefault,
    HostEntry,
    Secret,
    SecretLease,
    SecretRule,
    SecretUse,
    SecretVersion,
)


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

    def get_queryset(self, request: HttpRequest) -> QuerySet[SecretVersion]:
        return super().get_queryset(request).defer("sealed")  # the web part's role may not read it

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


@admin.register(SecretLease)
class SecretLeaseAdmin(ReadOnly):
    list_display = ["id", "reference", "secret", "version", "owner", "created_at"]
    list_filter = ["created_at"]
    search_fields = ["=reference", "secret__name", "owner__email"]
    list_select_related = ["secret", "owner"]


@admin.register(SecretUse)
class SecretUseAdmin(ReadOnly):
    list_display = ["id", "secret", "version", "reference", "via", "host", "path", "uses", "first_at", "last_at"]
    list_filter = ["via", "last_at"]
    search_fields = ["=reference", "secret__name", "owner__email", "host"]
    list_select_related = ["secret"]


@admin.register(Connection)
class ConnectionAdmin(ReadOnly):
    list_display = ["id", "name", "kind", "provider", "owner", "created_at", "deleted_at"]
    list_filter = ["kind", "provider", ("deleted_at", admin.EmptyFieldListFilter)]
    search_fields = ["=id", "name", "owner__email", "base_url"]
    list_select_related = ["owner"]


@admin.register(HostEntry)
class HostEntryAdmin(ReadOnly):
    list_display = ["id", "host_pattern", "mode", "owner", "created_at"]
    list_filter = ["mode", "created_at"]
    search_fields = ["=id", "host_pattern", "owner__email"]
    list_select_related = ["owner"]


@admin.register(HostDefault)
class HostDefaultAdmin(ReadOnly):
    list_display = ["owner", "mode", "updated_at"]
    list_filter = ["mode"]
    search_fields = ["owner__email"]
    list_select_related = ["owner"]


@admin.register(BlockedHost)
class BlockedHostAdmin(ReadOnly):
    list_display = ["id", "host", "reason", "attempts", "reference", "owner", "first_at", "last_at"]
    list_filter = ["reason", "last_at"]
    search_fields = ["=reference", "host", "owner__email"]
    list_select_related = ["owner"]
