"""Each request gets an id and leaves one line in the log."""

import json
import logging
import re
import time
from typing import Any, cast

from django.http import HttpRequest, HttpResponseBase

from benchwright_site.middleware.around import Around
from kernel import ids

log = logging.getLogger("benchwright.requests")

_SANE_ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}", re.ASCII)


def session_user(request: HttpRequest) -> Any:
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
        person = session_user(request)
        line = {
            "request_id": noted.request_id,
            "method": request.method,
            "path": request.path,
            "status": response.status_code,
            "ms": round((time.monotonic() - noted.began) * 1000, 1),
            "actor": who.account.id if who else person.pk if person else None,
            "token": who.token_id if who else None,
            "code": getattr(response, "problem_code", None),
        }
        log.info(json.dumps(line))
        return response
