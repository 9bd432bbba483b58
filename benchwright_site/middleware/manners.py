"""Under /v1 and /manage/api: HTTP's own methods, the headers that the door adds, and errors said as problems."""

from typing import Any, cast

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.defaults import page_not_found, permission_denied

from accounts import rates
from benchwright_site import problems
from benchwright_site.middleware.around import Around
from kernel.errors import DomainError

API = "/v1/"
JSON_DOORS = (API, "/manage/api/")
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_OVERRIDES = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override")


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
            _door_headers(request, response)
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


def _door_headers(request: HttpRequest, response: HttpResponseBase) -> None:
    for name, value in rates.headers(request).items():
        response[name] = value
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
