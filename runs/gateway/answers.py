"""What the gateway says itself, in the shape that OpenAI clients understand, and the repair of odd provider answers."""

import base64
import email.utils
import json
import math
import time
from typing import Any
from urllib.parse import quote

import orjson

from runs.gateway.http.outbound import UpstreamError

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    405: "invalid_request_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}


RETRIED = frozenset({408, 409, 425, 429})  # what a provider may answer otherwise a little later


class Refused(Exception):
    """The gateway itself says no. ``status`` is the HTTP status, ``code`` and ``param`` go into the error object."""

    def __init__(self, status: int, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.param = param

    def body(self) -> bytes:
        return error_body(self.status, self.code, self.message, self.param)


def error_body(status: int, code: str, message: str, param: str | None = None) -> bytes:
    kind = TYPES.get(status, "server_error")
    return orjson.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}})


def parse(raw: bytes) -> tuple[Any, bool]:
    """``(object, was_odd)`` of a provider's JSON. NaN, lone surrogates and bad UTF-8 are repaired, not refused.

    ValueError where it is no JSON even so.
    """
    try:
        return orjson.loads(raw), False
    except orjson.JSONDecodeError:
        value = json.loads(raw.decode("utf-8", "replace"), strict=False)
        return _clean(value), True


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 63:
        return float(value)
    return value


class Failed(Exception):
    """The call ended without an answer that counts. What the client gets, and how the journal calls it."""

    def __init__(
        self, status: int, body: bytes, error_class: str, message: str, *, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = body
        self.error_class = error_class
        self.message = message
        self.retry_after = retry_after
        self.retry = False


def refusal(status: int, headers: dict[bytes, bytes], raw: bytes, label: str) -> Failed:
    """What a provider's answer other than 200 means."""
    message = f"{label} answered {status}: {told(raw)}"
    error_class = "provider_error"
    if status == 429:
        error_class = "rate_limited"
    elif status == 408:
        error_class = "timeout"
    elif status in (401, 403):
        message = f"{label} rejected the key ({status}): {told(raw)}"
    if 300 <= status < 400 or status < 200 or 200 < status < 300:
        body = error_body(502, "upstream_error", f"{label} answered with an unexpected status {status}")
        return Failed(502, body, error_class, message)
    body = raw if raw[:1] in (b"{", b"[") else error_body(status, "upstream_error", message)
    failed = Failed(status, body, error_class, message, retry_after=retry_after(headers))
    failed.retry = status in RETRIED or status >= 500
    return failed


def unheard(bad: UpstreamError) -> Failed:
    """What it means that the provider could not be heard."""
    kind = "timeout" if bad.kind == "timeout" else "provider_error"
    code = {"timeout": "upstream_timeout", "limit": "upstream_limit"}.get(bad.kind, "upstream_error")
    status = 504 if bad.kind == "timeout" else 502
    failed = Failed(status, error_body(status, code, str(bad)), kind, str(bad))
    failed.retry = not bad.begun and bad.kind in ("connect", "cut", "timeout")
    if bad.reused and failed.retry and bad.kind == "cut":
        failed.retry_after = 0.0  # an idle connection that had died: the next one will do
    return failed


def told(raw: bytes) -> str:
    """The provider's own words, short."""
    try:
        error = orjson.loads(raw)["error"]
        text = error["message"] if isinstance(error, dict) else error
    except (orjson.JSONDecodeError, KeyError, TypeError, IndexError):
        text = raw[:300].decode("utf-8", "replace")
    return str(text)[:300]


def retry_after(headers: dict[bytes, bytes]) -> float | None:
    """Seconds that the provider asks us to wait; None where it says nothing usable."""
    exact = headers.get(b"retry-after-ms")
    value = headers.get(b"retry-after")
    try:
        if exact is not None:
            return max(0.0, float(exact) / 1000)
        if value is None:
            return None
        seconds = float(value)
        return max(0.0, seconds) if seconds == seconds and seconds < 1e6 else None
    except ValueError:
        when = email.utils.parsedate_tz((value or b"").decode("latin-1"))
        return max(0.0, email.utils.mktime_tz(when) - time.time()) if when else None


class Redactor:
    """Takes a secret's value out of what a provider sends back: as it is, backwards, quoted, in hex and in Base64."""

    def __init__(self, value: bytes) -> None:
        self.value = value if len(value) >= 8 else b""
        self.patterns = sorted(spellings(self.value), key=len, reverse=True) if self.value else []
        self.found = 0

    def clean(self, data: bytes) -> bytes:
        for pattern in self.patterns:
            if pattern in data:
                self.found += 1
                data = data.replace(pattern, b"[redacted]")
        return data

    def held(self, text: bytes) -> int:
        """How many bytes at the end of ``text`` may be the beginning of the secret."""
        most = min(len(text), len(self.value) - 1)
        for size in range(most, 0, -1):
            if self.value.startswith(text[-size:]):
                return size
        return 0


def spellings(value: bytes) -> set[bytes]:
    """How a value may stand in a text. Most values hold letters and digits alone, which quoting does not change."""
    found = {quote(value, safe="").encode(), value.hex().encode(), value.hex().upper().encode()}
    for text in (value.decode("utf-8", "replace"), value[::-1].decode("utf-8", "replace")):
        once = json.dumps(text)[1:-1]
        found |= {once.encode(), json.dumps(once)[1:-1].encode()}  # JSON in JSON: what a scorer decodes is JSON
    for lead in range(3):  # the three ways in which Base64 can be aligned to a text around it
        coded = base64.b64encode(bytes(lead) + value)
        core = coded[(0, 2, 3)[lead] : -(len(value) + lead) % 3 * -2 or None].rstrip(b"=")
        found |= {core, core.replace(b"+", b"-").replace(b"/", b"_")}
    return found | {value, value[::-1]}
