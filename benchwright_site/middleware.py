"""Around every request: an id, one log line, the words for errors under /v1, and the headers that browsers obey."""

import json
import logging
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.defaults import page_not_found, permission_denied

from benchwright_site import problems
from kernel import ids
from kernel.errors import DomainError

log = logging.getLogger("benchwright.requests")

API = "/v1/"
JSON_DOORS = (API, "/manage/api/")
_SANE_ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}", re.ASCII)
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_OVERRIDES = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override")

View = Callable[[HttpRequest], Any]


class Around:
    """A middleware for both kinds of views: ``before`` may answer at once, ``after`` gets the answer."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self.is_async:
            return self._acall(request)
        found: HttpResponseBase = self.before(request) or self.get_response(request)
        return self.after(request, found)

    async def _acall(self, request: HttpRequest) -> HttpResponseBase:
        return self.after(request, self.before(request) or await self.get_response(request))

    def before(self, request: HttpRequest) -> HttpResponseBase | None:
        return None

    def after(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return response


def _session_user(request: HttpRequest) -> Any:
    """The signed-in user, where the request looked at its session; never a query of our own."""
    session, user = getattr(request, "session", None), getattr(request, "user", None)
    if session is None or not session.accessed or user is None or not user.is_authenticated:
        return None
    return user


class RequestLog(Around):
    """``X-Request-Id`` in and out, and one JSON log line per request: no bodies, no tokens, no query strings."""

    def before(self, request: HttpRequest) -> HttpResponseBase | None:
        given = request.headers.get("X-Request-Id", "")
        noted = cast(Any, request)
        noted.request_id = given if _SANE_ID.fullmatch(given) else f"req_{ids.ulid()}"
        noted.began = time.monotonic()
        return None

    def after(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        noted = cast(Any, request)
        response["X-Request-Id"] = noted.request_id
        who = getattr(request, "principal", None)
        person = _session_user(request)
        line = {
            "request_id": noted.request_id,
            "method": request.method,
            "path": request.path,
            "status": response.status_code,
            "ms": round((time.monotonic() - noted.began) * 1000, 1),
            "actor": who.account.id if who else person.pk if person else None,
            "token": who.token_id if who else None,
        }
        log.info(json.dumps(line))
        return response


class ApiManners(Around):
    """Under /v1: HEAD and OPTIONS, scope headers, no stored answers, and the framework's errors said as problems."""

    def before(self, request: HttpRequest) -> HttpResponseBase | None:
        if request.method not in _METHODS or (_api(request) and any(name in request.headers for name in _OVERRIDES)):
            return HttpResponse(status=405, headers={"Allow": ", ".join(sorted(_METHODS))})
        if _api(request) and request.method == "HEAD":
            cast(Any, request).asked_head = True
            request.method = "GET"
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """A refusal that a page's view let pass becomes the page for it."""
        if not isinstance(error, DomainError) or _json_door(request):
            return None
        if error.status in (404, 410):
            return page_not_found(request, error)
        return permission_denied(request, error) if error.status == 403 else None

    def after(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not _json_door(request):
            return response
        if response.status_code == 405:
            response = _allowed(request, response)
        if response.status_code >= 400 and response.get("Content-Type") != "application/problem+json":
            response = problems.from_status(request, response)
        if _api(request):
            _scope_headers(request, response)
        response.setdefault("Cache-Control", "no-store")
        return _without_body(response) if getattr(request, "asked_head", False) else response


def _api(request: HttpRequest) -> bool:
    return request.path.startswith(API) or request.path == "/v1"


def _json_door(request: HttpRequest) -> bool:
    return _api(request) or request.path.startswith(JSON_DOORS)


def _allowed(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Complete ``Allow``; an OPTIONS request is answered with it."""
    allow = {name.strip() for name in response.get("Allow", "").split(",") if name.strip()} | {"OPTIONS"}
    if "GET" in allow:
        allow.add("HEAD")
    shown = ", ".join(sorted(allow))
    if request.method == "OPTIONS":
        return HttpResponse(status=204, headers={"Allow": shown})
    response["Allow"] = shown
    return response


def _scope_headers(request: HttpRequest, response: HttpResponseBase) -> None:
    accepted = getattr(request, "accepted_scopes", None)
    who = getattr(request, "principal", None)
    if accepted is not None:
        response["X-Accepted-Scopes"] = ", ".join(accepted)
    if who is not None:
        response["X-Token-Scopes"] = ", ".join(sorted(who.scopes))


def _without_body(response: HttpResponseBase) -> HttpResponseBase:
    """The answer to HEAD: the headers of GET. A stream is never begun."""
    if isinstance(response, HttpResponse):
        response.setdefault("Content-Length", str(len(response.content)))
        response.content = b""
        return response
    bare = HttpResponse(status=response.status_code, headers=dict(response.items()))
    if isinstance(response, StreamingHttpResponse):
        response.close()
    return bare


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
    return not request.path.startswith("/static/") and _session_user(request) is not None
