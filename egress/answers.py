"""What the proxy says itself: refusals and faults, as JSON that names a code and says what to do."""

import json
import re
from dataclasses import dataclass

CODES = {
    400: "bad_request",
    407: "proxy_authentication_required",
    413: "payload_too_large",
    421: "misdirected_request",
    431: "bad_request",
    502: "upstream_error",
    504: "upstream_timeout",
}
WORDS = {
    "bad_request": "The request is not HTTP as it should be",
    "payload_too_large": "The request's body is too large",
    "upstream_error": "The host could not be heard, or did not answer as it should",
    "upstream_timeout": "The host took too long",
    "upstream_tls": "The host's certificate is not valid for it, or its TLS is too old",
}
_MARKED = re.compile(r"(upstream_[a-z]+|bad_request|payload_too_large): ([ -~]{1,300})")


@dataclass(frozen=True)
class Refused(Exception):
    """The proxy does not pass this on. ``status``, ``code`` and ``words`` are what the client gets."""

    status: int
    code: str
    words: str

    def body(self) -> bytes:
        return json.dumps({"error": {"code": self.code, "message": self.words, "from": "benchwright egress"}}).encode()


def status_of(code: str, otherwise: int = 502) -> int:
    return 504 if code == "upstream_timeout" else otherwise


def told(status: int, message: str) -> Refused:
    """What a fault's own message may tell. It can quote the request or the answer, so only words of ours are kept."""
    marked = _MARKED.fullmatch(message)
    if marked is not None:
        return Refused(status_of(marked[1], status), marked[1], marked[2])
    code = CODES.get(status, "upstream_error")
    if status == 502 and ("ertificate" in message or "TLS" in message):
        code = "upstream_tls"
    return Refused(status, code, WORDS.get(code, "The proxy can't pass this on"))
