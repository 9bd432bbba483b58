"""Refusals and failures as problem documents (RFC 9457)."""

import logging
import re
from collections.abc import Callable
from typing import Any

from django.db import DataError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from ninja.errors import AuthenticationError, HttpError
from ninja.errors import ValidationError as NinjaValidationError

from kernel import bodies, strict_json
from kernel.errors import PROBLEMS, DomainError
from kernel.secret_signs import redact_values

log = logging.getLogger("benchwright.errors")

LONGEST, LONGEST_NAME = 4000, 200  # characters of a sentence, and of a name in it
MOST_ERRORS = 1000

# What a bare status from the framework means under our codes.
BY_STATUS = {
    400: "bad_request",
    401: "unauthenticated",
    403: "csrf_failed",
    404: "not_found",
    405: "method_not_allowed",
    413: "payload_too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
    503: "unavailable",
}


def response(request: HttpRequest, error: DomainError) -> HttpResponse:
    """The problem as a response."""
    document = _fit(error.document(getattr(request, "request_id", None)))
    made = HttpResponse(
        strict_json.dumps(strict_json.clean(document)),
        status=error.status,
        content_type="application/problem+json",
        headers=error.headers,
    )
    made.problem_code = error.code  # type: ignore[attr-defined]  # for the request's log line
    return made


def _fit(document: dict[str, Any]) -> dict[str, Any]:
    """Its words may repeat what was sent: no secret of the sender's, and no more than helps."""
    errors = [
        {**each, "loc": [_cut(part, LONGEST_NAME) for part in each["loc"]], "msg": _cut(each["msg"], LONGEST)}
        for each in document["errors"][:MOST_ERRORS]
    ]
    fit: dict[str, Any] = redact_values({**document, "detail": _cut(document["detail"], LONGEST), "errors": errors})
    return fit


def _cut(said: Any, most: int) -> Any:
    return said if not isinstance(said, str) or len(said) <= most else said[: most - 1] + "…"


# What the contract names and this version does not serve yet.
TO_COME = re.compile(
    r"/v1/(billing|webhooks|settings|compare|build)(/.*)?"
    r"|/v1/registry/(benchmarks/[^/]+/range|subsets/[^/]+/leaderboard)"
)


def _nothing(request: HttpRequest) -> str:
    if TO_COME.fullmatch(request.path):
        return f"{request.path} is not available yet: this version of Benchwright does not serve it."
    return f"There is nothing at {request.path}."


def from_status(request: HttpRequest, found: HttpResponseBase) -> HttpResponse:
    """A framework's own error response (HTML or text), said as a problem."""
    code = BY_STATUS.get(found.status_code, "internal_error" if found.status_code >= 500 else "bad_request")
    details = {
        "not_found": _nothing(request),
        "method_not_allowed": f"{request.method} is not possible here. Allowed: {found.get('Allow', '')}.",
        "internal_error": "Something broke on our side. The request id names it in our log.",
    }
    made = response(request, DomainError(code, details.get(code, "")))
    made.status_code = found.status_code if found.status_code in BY_STATUS else PROBLEMS[code][0]
    for header in ("Allow", "Retry-After", "WWW-Authenticate"):
        if header in found:
            made[header] = found[header]
    return made


def of_domain(request: HttpRequest, error: DomainError) -> HttpResponse:
    return response(request, error)


def of_not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    return response(request, DomainError("not_found", _nothing(request)))


def of_http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    if isinstance(error.__cause__, DomainError):  # what our body parser refused
        return response(request, error.__cause__)
    if isinstance(error, AuthenticationError):
        return response(request, DomainError("unauthenticated"))
    if error.__cause__ is not None:
        return of_failure(request, error)
    return response(request, DomainError(BY_STATUS.get(error.status_code, "bad_request"), str(error)))


def _note(what: str, request: HttpRequest, error: Exception) -> None:
    known = {"request_id": getattr(request, "request_id", None)}
    log.error("%s: %s %s", what, request.method, request.path, exc_info=error, extra=known)


def of_failure(request: HttpRequest, error: Exception) -> HttpResponse:
    """What nobody foresaw: logged in full, told in one sentence."""
    _note("unhandled", request, error)
    detail = "Something broke on our side. The request id names it in our log."
    return response(request, DomainError("internal_error", detail))


def of_database(request: HttpRequest, error: Exception) -> HttpResponse:
    """The database can't be reached just now (it restarts, or every connection is busy)."""
    _note("database", request, error)
    detail = "The database can't be reached just now. Nothing was done; ask again in a moment."
    return response(request, DomainError("unavailable", detail, headers={"Retry-After": "1"}))


def of_data(request: HttpRequest, error: DataError) -> HttpResponse:
    """A value that our own checks let pass and the database refused. Logged: those checks should know it."""
    _note("refused by the database", request, error)
    detail = "One of the values can't be stored or compared. Nothing was done."
    return response(
        request, DomainError("invalid_parameter" if request.method == "GET" else "validation_failed", detail)
    )


def of_validation(request: HttpRequest, error: NinjaValidationError) -> HttpResponse:
    # The view's own name for its body is no part of the place.
    errors = [
        {**item, "loc": (item["loc"][0], *item["loc"][2:]) if item["loc"][0] == "body" else item["loc"]}
        for item in error.errors
    ]
    return response(request, bodies.refused(errors))


# What django-ninja hands us, and how it is said.
SAID: dict[type[Exception], Callable[..., HttpResponse]] = {
    DomainError: of_domain,
    NinjaValidationError: of_validation,
    HttpError: of_http_error,
    Http404: of_not_found,
    DataError: of_data,
    OperationalError: of_database,
    InterfaceError: of_database,
    Exception: of_failure,
}
