"""Accounts in the admin: read-mostly. No token text or digest is ever shown, and no token can be made here."""

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts import second_step, tokens
from accounts.models import IdempotencyRecord, PersonalAccessToken, Preference, User
from accounts.staff import ReadOnly, audit, link, listing, listings

# Groups are not used. allauth's own pages would let one edit addresses, and show secrets and session keys.
for unwanted in (Group, EmailAddress, Authenticator, UserSession):
    admin.site.unregister(unwanted)


@admin.register(EmailAddress)
class EmailAddressAdmin(ReadOnly):
    list_display = ("email", "user", "primary", "verified")
    list_filter = ("verified",)
    list_select_related = ("user",)
    search_fields = ("email",)


@admin.register(Authenticator)
class AuthenticatorAdmin(ReadOnly):
    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type",)
    list_select_related = ("user",)
    search_fields = ("user__email",)
    exclude = ("data",)


@admin.register(UserSession)
class UserSessionAdmin(ReadOnly):
    list_display = ("user", "ip", "user_agent", "created_at", "last_seen_at")
    list_select_related = ("user",)
    search_fields = ("user__email", "=ip")
    exclude = ("session_key", "data")


@admin.register(User)
class UserAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("email", "name", "is_active", "is_staff", "created_at", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser")
    search_fields = ("email", "name")
    date_hierarchy = "created_at"
    fields = (
        "email",
        "name",
        "is_active",
        "is_staff",
        "is_superuser",
        "second_step",
        "created_at",
        "last_login",
        "theirs",
    )
    readonly_fields = ("email", "second_step", "created_at", "last_login", "theirs")
    actions = ("remove_second_step",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # accounts are made by sign-up or `manage.py create_user`

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False  # deactivate instead: runs are history

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Whoever is no superuser edits no superuser."""
        user: Any = request.user
        above = obj is not None and obj.is_superuser and not user.is_superuser
        return super().has_change_permission(request, obj) and not above

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        user: Any = request.user
        return self.readonly_fields if user.is_superuser else (*self.readonly_fields, "is_staff", "is_superuser")

    @admin.display(description="second step", boolean=True)
    def second_step(self, user: User) -> bool:
        return second_step.has_one(user)

    @admin.display(description="theirs")
    def theirs(self, user: User) -> str:
        names = {"runs_run": "runs", "registry_benchmark": "benchmarks", "accounts_personalaccesstoken": "tokens",
                 "secrets_vault_secret": "secrets"}  # fmt: skip
        own = [listing(name, words, owner__id__exact=user.pk) for name, words in names.items()]
        return listings([*own, listing("usersessions_usersession", "sessions", user__id__exact=user.pk)])

    @admin.action(description="Remove the second step (phone and codes are lost)", permissions=["change"])
    def remove_second_step(self, request: HttpRequest, chosen: QuerySet[User]) -> None:
        removed = 0
        for user in chosen:
            if self.has_change_permission(request, user) and second_step.remove(user):
                audit(request, user, "removed the second step")
                removed += 1
        self.message_user(request, f"Removed from {removed} account(s).", messages.SUCCESS)


@admin.register(PersonalAccessToken)
class PersonalAccessTokenAdmin(ReadOnly):
    list_display = ("id", "owner_link", "name", "last4", "created_at", "expires_at", "revoked_at", "last_used_at")
    list_filter = (("revoked_at", admin.EmptyFieldListFilter), "created_at")
    list_select_related = ("owner",)
    search_fields = ("=id", "name", "owner__email", "=last4")
    exclude = ("digest",)
    actions = ("revoke",)

    @admin.display(description="owner", ordering="owner__email")
    def owner_link(self, row: PersonalAccessToken) -> str:
        return link(row.owner)

    @admin.action(description="Revoke these tokens at once", permissions=["act"])
    def revoke(self, request: HttpRequest, chosen: QuerySet[PersonalAccessToken]) -> None:
        ended = [token for token in chosen if tokens.end(token.id)]
        for token in ended:
            audit(request, token, "revoked")
        self.message_user(request, f"Revoked {len(ended)} token(s).", messages.SUCCESS)


@admin.register(Preference)
class PreferenceAdmin(ReadOnly):
    list_display = ("owner", "key", "updated_at")
    list_select_related = ("owner",)
    search_fields = ("owner__email", "=key")


@admin.register(IdempotencyRecord)
class IdempotencyRecordAdmin(ReadOnly):
    list_display = ("owner", "route", "key", "status", "created_at")
    list_filter = ("status",)
    list_select_related = ("owner",)
    search_fields = ("owner__email", "=key")
    exclude = ("fingerprint", "body")


@admin.register(LogEntry)
class AuditAdmin(ReadOnly):
    """What staff did and read."""

    list_display = ("action_time", "user", "content_type", "object_repr", "said")
    list_filter = ("content_type", "action_flag")
    list_select_related = ("user", "content_type")
    search_fields = ("user__email", "=object_id", "change_message")
    date_hierarchy = "action_time"

    @admin.display(description="what")
    def said(self, entry: LogEntry) -> str:
        return entry.get_change_message() or entry.get_action_flag_display()
