"""The WSGI door, for installations that serve API and pages apart from streams."""

import json
import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

from kernel import ids
from kernel.errors import DomainError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchwright_site.settings")
django_application = get_wsgi_application()

_LIVE = re.compile(r"/v1/runs/[^/]+/stream$|/ws/")
_DETAIL = (
    "Streams and sockets are served by the ASGI part of this installation. Whoever runs it: let the front send "
    "/v1/runs/*/stream and /ws/ there (deploy/nginx.conf)."
)


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Django, but for what would hold a thread until a run has ended: that is refused with 503."""
    if not _LIVE.match(str(environ.get("PATH_INFO", ""))):
        return django_application(environ, start_response)
    request_id = f"req_{ids.ulid()}"
    body = json.dumps(DomainError("unavailable", _DETAIL).document(request_id)).encode()
    head = [("Content-Type", "application/problem+json"), ("Content-Length", str(len(body)))]
    start_response("503 Service Unavailable", [*head, ("X-Request-Id", request_id)])
    return [body]
