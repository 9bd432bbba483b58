"""ETag, If-Match and If-None-Match (RFC 9110 §13)."""

import hashlib
import re
from typing import Any

from django.http import HttpRequest

from kernel import strict_json
from kernel.errors import DomainError

_TAG = re.compile(r'(W/)?("[^"]*")')


def etag(*parts: Any) -> str:
    """A strong tag (with its quotes) of anything JSON can write; other things count by their ``str``."""
    plain = [part if isinstance(part, str | int | float | bool | list | dict | None) else str(part) for part in parts]
    return f'"{hashlib.sha256(strict_json.canonical(plain)).hexdigest()[:32]}"'


def check_match(request: HttpRequest, tag: str) -> None:
    """Raise DomainError ``precondition_failed`` if the caller's If-Match does not name ``tag``. Absent: fine."""
    asked = request.headers.get("If-Match")
    if asked is None or asked.strip() == "*":
        return
    # If-Match compares strongly: a weak tag never matches.
    if tag not in {value for weak, value in _TAG.findall(asked) if not weak}:
        raise DomainError(
            "precondition_failed",
            "It changed since you read it. Read it again, apply your change, and send the new ETag in If-Match.",
            headers={"ETag": tag},
        )


def not_modified(request: HttpRequest, tag: str) -> bool:
    """Whether If-None-Match names ``tag``: then answer 304 with the tag and no body."""
    asked = request.headers.get("If-None-Match")
    if asked is None:
        return False
    return asked.strip() == "*" or tag in {value for _, value in _TAG.findall(asked)}
