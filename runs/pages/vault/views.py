"""/manage/secrets and /manage/hosts: read the form, call one function, render."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.pages.viewers import signed_in
from kernel.errors import DomainError
from runs.pages.vault import hosts, secrets
from runs.pages.vault.secret_form import SecretForm
from secrets_vault.host_policy import entries

form_view = require_http_methods(["GET", "HEAD", "POST"])
takes_value = sensitive_post_parameters("value")


def _shown(request: HttpRequest, name: str, context: dict[str, Any], *, refused: bool = False) -> HttpResponse:
    return render(request, f"manage/{name}.html", context, status=422 if refused else 200)


# -- secrets -------------------------------------------------------------------------------------------------------
@takes_value
@never_cache
@login_required
@form_view
def secret_list(request: HttpRequest) -> HttpResponse:
    """All secrets, masked; a POST stores one."""
    principal = signed_in(request.user)
    if request.method != "POST":
        return _shown(request, "secrets", secrets.page(principal, request.GET.dict()))
    form = SecretForm.of(request.POST)
    made = secrets.add(principal, form, request.POST.get("value", ""))
    if made is None:
        return _shown(request, "secrets", secrets.page(principal, {}, form), refused=True)
    secret, warnings = made
    messages.success(request, f"Stored {secret.name}. Its value can't be read back.")
    for words in warnings:
        messages.warning(request, words)
    return redirect("manage_secrets")


@never_cache
@login_required
@require_safe
def secret(request: HttpRequest, secret_id: str) -> HttpResponse:
    return _shown(request, "secret", secrets.one(signed_in(request.user), secret_id, request.GET.dict()))


@takes_value
@never_cache
@login_required
@require_POST
def secret_rotate(request: HttpRequest, secret_id: str) -> HttpResponse:
    """A new value. Runs under way keep the old one."""
    principal = signed_in(request.user)
    try:
        found, warnings = secrets.rotate(principal, secret_id, request.POST.get("value", ""))
    except DomainError as refusal:
        if refusal.status == 404:
            raise
        context = secrets.one(principal, secret_id, {}) | {"rotate_error": refusal.detail}
        return _shown(request, "secret", context, refused=True)
    messages.success(request, f"Stored version {found.version} of {found.name}. Runs that start now take it.")
    for words in warnings:
        messages.warning(request, words)
    return redirect("manage_secret", secret_id=secret_id)


@takes_value
@never_cache
@login_required
@require_POST
def secret_edit(request: HttpRequest, secret_id: str) -> HttpResponse:
    """Name, description and rules. Runs under way keep the rules that they were launched with."""
    principal, form = signed_in(request.user), SecretForm.of(request.POST)
    sent = {name: request.POST.get(name, "") for name in ("seen", "value")}
    if secrets.edit(principal, secret_id, form, **sent) is None:
        return _shown(request, "secret", secrets.one(principal, secret_id, {}) | form.shown(), refused=True)
    messages.success(request, "Stored. Runs that start now go by it.")
    return redirect("manage_secret", secret_id=secret_id)


@never_cache
@login_required
@form_view
def secret_delete(request: HttpRequest, secret_id: str) -> HttpResponse:
    """Says what a deletion would cut off; a POST with the secret's name deletes it."""
    principal = signed_in(request.user)
    if request.method != "POST":
        return _shown(request, "secret_delete", secrets.doomed(principal, secret_id))
    gone = secrets.delete(principal, secret_id, request.POST.get("name", ""))
    if gone is None:
        context = secrets.doomed(principal, secret_id) | {"error": "That is not its name. Nothing was deleted."}
        return _shown(request, "secret_delete", context, refused=True)
    messages.success(request, f"Deleted {gone}. Its values are wiped, and runs that used it are cut off.")
    return redirect("manage_secrets")


# -- hosts ---------------------------------------------------------------------------------------------------------
@never_cache
@login_required
@form_view
def host_list(request: HttpRequest) -> HttpResponse:
    """The host policy and what was blocked; a POST adds an entry."""
    principal = signed_in(request.user)
    if request.method != "POST":
        return _shown(request, "hosts", hosts.page(principal, request.GET.dict()))
    typed = {name: request.POST.get(name, "").replace("\x00", "").strip() for name in ("host", "mode")}
    try:
        _tell(request, entries.add(principal, typed["host"], typed["mode"]))
    except DomainError as refusal:
        form = {**typed, "error": refusal.detail}
        return _shown(request, "hosts", hosts.page(principal, {}, form), refused=True)
    return redirect("manage_hosts")


@login_required
@require_POST
def host_allow(request: HttpRequest) -> HttpResponse:
    """One click beside a blocked host: allow it from now on, and go back to where it was told."""
    try:
        _tell(request, entries.add(signed_in(request.user), request.POST.get("host", "")))
    except DomainError as refusal:
        messages.error(request, refusal.detail)
    run = request.POST.get("run", "")
    try:
        return redirect("run", run_id=UUID(run)) if run else redirect("manage_hosts")
    except ValueError:
        return redirect("manage_hosts")


@login_required
@require_POST
def host_remove(request: HttpRequest, entry_id: str) -> HttpResponse:
    entries.remove(signed_in(request.user), entry_id)
    messages.success(request, "Removed. What holds without an entry holds for its hosts again.")
    return redirect("manage_hosts")


@login_required
@require_POST
def host_default(request: HttpRequest) -> HttpResponse:
    try:
        mode = entries.set_default(signed_in(request.user), request.POST.get("mode", "")).mode
    except DomainError as refusal:
        messages.error(request, refusal.detail)
    else:
        says = {"allow": "The usual hosts are open.", "block": "Every host that has no entry here is blocked."}
        messages.success(request, says[mode])
    return redirect("manage_hosts")


@login_required
@require_POST
def host_starter_pack(request: HttpRequest) -> HttpResponse:
    try:
        added = sum(each.new for each in entries.add_starter_pack(signed_in(request.user)))
    except DomainError as refusal:
        messages.error(request, refusal.detail)
    else:
        messages.success(request, f"Added {added} entr{'y' if added == 1 else 'ies'}; the others were there.")
    return redirect("manage_hosts")


def _tell(request: HttpRequest, added: entries.Added) -> None:
    pattern, mode = added.entry.host_pattern, added.entry.mode
    says = {"allow": "is allowed from now on", "block": "is blocked from now on"}[mode]
    messages.success(request, f"{pattern} {says}, also for runs that are going.")
    if added.against:
        messages.warning(request, f"It stays blocked: the entry {added.against} blocks it, and block beats allow.")
