"""The pages under /manage. Every act is a form; scripts only make copying easier."""

import secrets
from datetime import datetime, timedelta
from typing import Any

from allauth.core.exceptions import ReauthenticationRequired
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import notices, second_step, tokens
from accounts.manage_api import browser_session, signed_in_recently
from accounts.models import PersonalAccessToken
from accounts.pages import sessions
from accounts.scopes import SCOPES, STARTER
from kernel import clock
from kernel.errors import DomainError

EXPIRIES = {"90": "in 90 days", "365": "in 1 year", "never": "never"}
SOON = timedelta(days=14)
_SEEN = "token_forms_sent"  # in the session: forms already sent, so that a reload makes no second token


@login_required
def manage(request: HttpRequest) -> HttpResponse:
    return redirect("manage_tokens")


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def token_list(request: HttpRequest) -> HttpResponse:
    """The tokens; a POST makes one and shows its text this once."""
    if request.method != "POST":
        return _page(request)
    _fresh(request)
    if not _first_time(request):
        messages.info(request, "That form was sent before: its token exists already, and its text is shown only once.")
        return redirect("manage_tokens")
    try:
        expiry = _expiry(request.POST.get("expires", ""))
        minted = tokens.mint(
            browser_session(request), request.POST.get("name", ""), request.POST.getlist("scopes"), expiry
        )
    except DomainError as error:
        return _page(request, error=error, status=422)
    notices.token_made(minted[0])
    return _page(request, fresh=minted, status=201)


@never_cache
@login_required
@require_POST
def token_rotate(request: HttpRequest, token_id: str) -> HttpResponse:
    """New text for a token; the old text stops working."""
    _fresh(request)
    if not _first_time(request):
        messages.info(request, "That was done before. The new text is shown only once; rotate again if it is lost.")
        return redirect("manage_tokens")
    return _page(request, fresh=tokens.rotate(browser_session(request), token_id))


@never_cache
@login_required
@require_POST
def token_revoke(request: HttpRequest, token_id: str) -> HttpResponse:
    tokens.revoke(browser_session(request), token_id)
    messages.success(request, "Revoked. Requests with that token are refused from now on.")
    return redirect("manage_tokens")


@never_cache
@login_required
@require_safe
def security(request: HttpRequest) -> HttpResponse:
    """How this account signs in, and where it is signed in now."""
    user = browser_session(request).account
    context = {"sessions": sessions.listed(request, user), "second_step": second_step.has_one(user)}
    return render(request, "manage/security.html", context)


@never_cache
@login_required
@require_POST
def session_end(request: HttpRequest, session_id: str) -> HttpResponse:
    """End one session; one's own, and the next page is the sign-in."""
    if not sessions.end(browser_session(request).account, session_id):
        raise Http404
    messages.success(request, "Ended. That browser is asked to sign in again.")
    return redirect("manage_security")


@never_cache
@login_required
@require_POST
def sessions_end(request: HttpRequest) -> HttpResponse:
    """End all sessions but this one."""
    ended = sessions.end_others(request, browser_session(request).account)
    messages.success(request, f"Ended {ended} other session{'' if ended == 1 else 's'}.")
    return redirect("manage_security")


def _fresh(request: HttpRequest) -> None:
    """Ask for the password again where it was given long ago; allauth then goes on with this very request."""
    if not signed_in_recently(request):
        raise ReauthenticationRequired


def _first_time(request: HttpRequest) -> bool:
    nonce = request.POST.get("form", "")
    seen: list[str] = request.session.get(_SEEN, [])
    if not nonce or nonce in seen:
        return False
    request.session[_SEEN] = [*seen[-19:], nonce[:40]]
    return True


def _expiry(choice: str) -> datetime | None:
    if choice not in EXPIRIES:
        raise DomainError("validation_failed", "Choose when the token expires.", errors=[{"loc": ["expires"]}])
    return None if choice == "never" else clock.now() + timedelta(days=int(choice))


def _page(
    request: HttpRequest,
    *,
    fresh: tuple[PersonalAccessToken, str] | None = None,
    error: DomainError | None = None,
    status: int = 200,
) -> HttpResponse:
    posted = error is not None
    chosen = request.POST.getlist("scopes") if posted else list(STARTER)
    context = {
        "tokens": [_row(token) for token in tokens.listed(browser_session(request))],
        "scopes": [{"name": name, "says": says, "on": name in chosen} for name, says in SCOPES.items()],
        "expiries": EXPIRIES,
        "expires": request.POST.get("expires", "90") if posted else "90",
        "name": request.POST.get("name", "") if posted else "",
        "form_nonce": secrets.token_urlsafe(16),
        "fresh": fresh,
        "error": error,
        "error_field": str(error.errors[0]["loc"][-1]) if error and error.errors else "",
    }
    return render(request, "manage/tokens.html", context, status=status)


def _row(token: PersonalAccessToken) -> dict[str, Any]:
    now, end = clock.now(), token.expires_at
    return {
        "row": token,
        "ended": end is not None and end <= now,
        "soon": end is not None and now < end < now + SOON,
    }
