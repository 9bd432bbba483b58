"""Accounts in the admin: read-mostly. No token text or digest is ever shown, and no token can be made here."""

from allauth.account.models import EmailAddress
from django.contrib import admin
from django.contrib.auth.models import Group
from django.http import HttpRequest

from accounts.models import IdempotencyRecord, PersonalAccessToken, Preference, User


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    """Look, don't touch."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


# Groups are not used, and addresses follow their accounts: allauth's own pages would let one edit both.
admin.site.unregister(Group)
admin.site.unregister(EmailAddress)


@admin.register(EmailAddress)
class EmailAddressAdmin(ReadOnly):
    list_display = ("email", "user", "primary", "verified")
    list_select_related = ("user",)


@admin.register(User)
class UserAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("email", "name", "is_active", "is_staff", "created_at", "last_login")
    list_filter = ("is_active", "is_staff")
    search_fields = ("email", "name")
    fields = ("email", "name", "is_active", "is_staff", "is_superuser", "created_at", "last_login")
    readonly_fields = ("created_at", "last_login")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # accounts are made by sign-up or `manage.py create_user`

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False  # deactivate instead: runs are history


@admin.register(PersonalAccessToken)
class PersonalAccessTokenAdmin(ReadOnly):
    list_display = ("id", "owner", "name", "last4", "created_at", "expires_at", "revoked_at", "last_used_at")
    list_select_related = ("owner",)
    search_fields = ("id", "name", "owner__email")
    exclude = ("digest",)


@admin.register(Preference)
class PreferenceAdmin(ReadOnly):
    list_display = ("owner", "key", "updated_at")
    list_select_related = ("owner",)


@admin.register(IdempotencyRecord)
class IdempotencyRecordAdmin(ReadOnly):
    list_display = ("owner", "route", "key", "status", "created_at")
    list_select_related = ("owner",)
    exclude = ("fingerprint", "body")
