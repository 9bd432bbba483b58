"""The headers that browsers obey: what a page may load, and what may be kept of it."""

import re

from django.http import HttpRequest, HttpResponseBase

from benchwright_site.middleware.around import Around
from benchwright_site.middleware.requests import session_user

_POLICY = {
    "default-src": "'none'",
    "style-src": "'self'",
    "script-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}


class SecurityHeaders(Around):
    """What a browser may load and keep. Pages of a signed-in user are never stored."""

    def after(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response.setdefault("Content-Security-Policy", _csp(request))
        response.setdefault("X-Content-Type-Options", "nosniff")
        response.setdefault("X-Frame-Options", "DENY")
        response.setdefault("Referrer-Policy", "same-origin")
        response.setdefault("Cross-Origin-Opener-Policy", "same-origin")
        response.setdefault("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=()")
        if _private(request):
            response["Cache-Control"] = "no-store"
        return response


def _csp(request: HttpRequest) -> str:
    policy = dict(_POLICY)
    host = request.META.get("HTTP_HOST", "")
    if re.fullmatch(r"[A-Za-z0-9.:\[\]-]{1,255}", host):
        policy["connect-src"] = f"'self' ws://{host} wss://{host}"  # older browsers do not count sockets as 'self'
    return "; ".join(f"{name} {value}" for name, value in policy.items())


def _private(request: HttpRequest) -> bool:
    """Whether the page was made for somebody."""
    return not request.path.startswith("/static/") and session_user(request) is not None
