"""What the admin of every room is made of: one door for all, pages to look at, and a record of who looked and acted."""

from collections.abc import Mapping, Sequence
from typing import Any

from allauth.account.decorators import secure_admin_login
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from accounts import second_step


def guard(site: admin.AdminSite) -> None:
    """One login for everybody, with its rate limits and its second step: the admin's own form is never shown."""
    site.has_permission = _may_enter  # type: ignore[method-assign]
    site.login = secure_admin_login(_enter)  # type: ignore[method-assign]


def _may_enter(request: HttpRequest) -> bool:
    return second_step.may_administer(request.user)


def _enter(request: HttpRequest, extra_context: Mapping[str, Any] | None = None) -> HttpResponse:
    """Staff who are signed in: to the admin, or first to where the second step is set up."""
    if _may_enter(request):
        return redirect("admin:index")
    messages.warning(request, "Staff need a second step here. Set it up once; then the admin opens.")
    return redirect("mfa_activate_totp")


def link(target: Model | None, words: str = "") -> str:
    """A link to a row's own page in the admin."""
    if target is None:
        return "–"
    name = f"admin:{target._meta.app_label}_{target._meta.model_name}_change"
    return format_html('<a href="{}">{}</a>', reverse(name, args=[target.pk]), words or str(target))


def listing(name: str, words: str, **filters: object) -> str:
    """A link to a filtered list: ``listing("runs_run", "runs", owner__id__exact=7)``."""
    query = "&".join(f"{field}={value}" for field, value in filters.items())
    return format_html('<a href="{}?{}">{}</a>', reverse(f"admin:{name}_changelist"), query, words)


def listings(links: Sequence[str]) -> str:
    """Several links on a line."""
    return format_html_join(" · ", "{}", ((one,) for one in links))


def audit(request: HttpRequest, row: Model, what: str) -> None:
    """Write down that a member of staff did something to a row, or read what somebody else wrote."""
    note(request.user.pk, row, what)


def note(actor: Any, row: Model, what: str) -> None:
    """The same; ``actor`` is the id of the account that did it, or to which it was done where nobody was signed in."""
    LogEntry.objects.create(
        user_id=str(actor),
        content_type_id=ContentType.objects.get_for_model(type(row)).pk,
        object_id=str(row.pk),
        object_repr=str(row)[:200],
        action_flag=CHANGE,
        change_message=what[:500],
    )


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    """Look, don't touch; large tables are not counted. ``payload``: it shows what users wrote, so reads are noted."""

    show_full_result_count = False
    list_per_page = 50
    payload = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Whether the few safe actions may be used: by those who could change the row if it were not read-only."""
        return request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}")

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        shown = super().changeform_view(request, object_id, form_url, extra_context)
        if self.payload and object_id is not None and shown.status_code == 200:
            row = self.get_object(request, object_id)
            if row is not None:
                audit(request, row, "read")
        return shown
