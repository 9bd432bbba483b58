"""What the gateway says itself, in the shape that OpenAI clients understand, and the repair of odd provider answers."""

import base64
import json
import math
from typing import Any
from urllib.parse import quote

import orjson

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    405: "invalid_request_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}


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


def tidy(value: dict[str, Any]) -> bool:
    """Drops null ``tool_calls`` from the messages, since scorers say ``.get("tool_calls", [])``. True if any."""
    changed = False
    choices = value.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        message = choice.get("message") if isinstance(choice, dict) else None
        if isinstance(message, dict) and "tool_calls" in message and message["tool_calls"] is None:
            del message["tool_calls"]
            changed = True
    return changed


def normalised(raw: bytes) -> tuple[bytes, dict[str, Any]]:
    """What the client gets for a provider's 200 answer, and the object. ValueError if it is no JSON object."""
    value, odd = parse(raw)
    if not isinstance(value, dict):
        raise ValueError("the provider's answer is no JSON object")
    if tidy(value) or odd:
        return orjson.dumps(value), value
    return raw, value


class Redactor:
    """Takes a secret's value out of what a provider sends back: as it is, quoted, and in Base64."""

    def __init__(self, value: bytes) -> None:
        self.value = value if len(value) >= 8 else b""
        found = {self.value, json.dumps(self.value.decode("utf-8", "replace"))[1:-1].encode()} if self.value else set()
        if self.value:
            found.add(quote(self.value, safe="").encode())
            for lead in range(3):  # the three ways in which Base64 can be aligned to a text around it
                coded = base64.b64encode(bytes(lead) + self.value)
                found.add(coded[(0, 2, 3)[lead] : -(len(self.value) + lead) % 3 * -2 or None].rstrip(b"="))
        self.patterns = sorted(found, key=len, reverse=True)
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
