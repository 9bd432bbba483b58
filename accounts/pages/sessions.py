"""The browsers in which an account is signed in."""

import re
from typing import Any

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.http import HttpRequest

from accounts.models import User
from kernel import clock

SHOWN = 50
_BROWSERS = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
_SYSTEMS = (("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"),
            ("Mac OS X", "macOS"), ("Linux", "Linux"))  # fmt: skip


def listed(request: HttpRequest, user: User) -> list[dict[str, Any]]:
    """The live ones, this one first, then the newest. Notes this one as seen now."""
    UserSession.objects.create_from_request(request)
    rows = list(UserSession.objects.filter(user=user).order_by("-last_seen_at")[:SHOWN])
    keys = [row.session_key for row in rows]
    live = set(
        Session.objects.filter(session_key__in=keys, expire_date__gt=clock.now()).values_list("session_key", flat=True)
    )
    gone = [row.pk for row in rows if row.session_key not in live]
    if gone:
        UserSession.objects.filter(pk__in=gone).delete()
    here = request.session.session_key
    found = [_shown(row, row.session_key == here) for row in rows if row.session_key in live]
    return sorted(found, key=lambda one: not one["here"])


def _shown(row: UserSession, here: bool) -> dict[str, Any]:
    return {
        "id": row.pk,
        "here": here,
        "what": browser(row.user_agent),
        "agent": row.user_agent,
        "ip": row.ip,
        "began": row.created_at,
        "seen": row.last_seen_at,
    }


def browser(agent: str) -> str:
    """``Firefox on Linux``; a guess, since a browser says what it likes."""
    name = next((name for mark, name in _BROWSERS if mark in agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in agent), "")
    if name:
        return f"{name} on {system}" if system else name
    return re.split(r"[\s/(]", agent, maxsplit=1)[0][:40] or "Unknown browser"


def end(user: User, session_id: str) -> bool:
    """End one of the account's sessions at once. False where it has no such session."""
    number = int(session_id) if session_id.isascii() and session_id.isdigit() and len(session_id) < 18 else None
    row = UserSession.objects.filter(user=user, pk=number).first()
    if row is None:
        return False
    row.end()
    return True


def end_others(request: HttpRequest, user: User) -> int:
    """End all sessions of the account but this one; how many."""
    rows = list(UserSession.objects.filter(user=user).exclude(session_key=request.session.session_key))
    for row in rows:
        row.end()
    return len(rows)
