"""What can go wrong, as types. ``str(error)`` says what happened and what to do next."""

from collections.abc import Mapping
from typing import Any

# What only the client's side knows how to mend, by problem code. The server's own detail comes first.
_CURES = {
    "unauthenticated": "Set BW_PAT to a token of this server, or run `benchwright login`.",
    "token_expired": "Mint a new token under Manage → API keys, then set BW_PAT or run `benchwright login`.",
    "token_revoked": "Mint a new token under Manage → API keys, then set BW_PAT or run `benchwright login`.",
    "insufficient_scope": "Mint a token that has this scope under Manage → API keys.",
    "not_found": "Check the id, and that the token's account may read it.",
    "precondition_failed": "Read the object again and retry with its new etag.",
    "idempotency_key_reused": "Use another idempotency_key for another request.",
    "rate_limited": "Wait a moment and try again.",
    "internal_error": "Try again; if it stays, report the request id.",
    "unavailable": "The server is starting or overloaded; try again.",
}


class BenchwrightError(Exception):
    """The base of all errors of this package."""


class ConfigError(BenchwrightError):
    """The local configuration can't be used (no token, a broken config file, an unknown profile)."""


class APIConnectionError(BenchwrightError):
    """The server gave no answer: unreachable, cut off or too slow. Nothing is known about the request's fate."""


class WaitTimeout(BenchwrightError):
    """``runs.wait(timeout=…)`` ran out. The run goes on; ``error.run`` is its last known state."""

    def __init__(self, message: str, run: Any = None) -> None:
        super().__init__(message)
        self.run = run


class NeedsInput(BenchwrightError):
    """The run waits for a decision. ``error.run`` is the run, ``error.asked`` what it asks, with its choices."""

    def __init__(self, run: Any) -> None:
        self.run = run
        self.asked = run.get("asked") or {}
        choices = ", ".join(str(choice["id"]) for choice in self.asked.get("choices") or [])
        super().__init__(
            f"Run {run['id']} asks: {self.asked.get('question')}"
            + (f" Choices: {choices}." if choices else "")
            + " Answer with runs.approve(run_id, choice=…), or stop it with runs.halt(run_id)."
        )


class SignatureError(BenchwrightError):
    """A webhook's signature is missing, wrong or too old: do not trust the payload."""


class APIError(BenchwrightError):
    """The server refused or failed.

    ``status`` is the HTTP status, ``code`` the problem code (docs/problems.md), ``detail`` the server's sentence,
    ``errors`` a list of ``{"loc": [...], "msg": str}`` for fields, ``body`` the whole problem document, ``server`` the
    base URL that was asked.
    """

    def __init__(
        self,
        status: int,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        call: str = "",
        server: str = "",
    ) -> None:
        problem: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
        self.status = status
        self.body = body
        self.call = call
        self.server = server
        self.headers = dict(headers or {})
        self.code = str(problem.get("code") or "")
        self.title = str(problem.get("title") or "")
        self.detail = str(problem.get("detail") or self.title or _unexplained(status, body))
        self.request_id = problem.get("request_id") or self.headers.get("x-request-id")
        self.errors: list[dict[str, Any]] = [e for e in problem.get("errors") or [] if isinstance(e, dict)]
        super().__init__(self.detail)

    def __str__(self) -> str:
        parts = [self.detail.rstrip()]
        shown = [f"  {_where(e)}: {e.get('msg', '')}" for e in self.errors[:10] if e.get("msg") != self.detail]
        if len(self.errors) > 10:
            shown.append(f"  … and {len(self.errors) - 10} more")
        parts += shown
        cure = None if "not available yet" in self.detail else _CURES.get(self.code)
        if cure:
            parts.append(cure)
        doubted = self.server and (not self.code or self.status == 401)  # another server than was meant?
        call = f"{self.call} at {self.server}" if doubted else self.call
        facts = [f"HTTP {self.status}", self.code, call, f"request {self.request_id}" if self.request_id else ""]
        parts.append("(" + ", ".join(fact for fact in facts if fact) + ")")
        return "\n".join(parts) if shown else " ".join(parts)


class BadRequestError(APIError):
    """400: a parameter, filter, sort key or page token that can't be used."""


class AuthenticationError(APIError):
    """401: no token, or one that is wrong, expired or revoked."""


class InsufficientBalanceError(APIError):
    """402: the account has not enough credit."""


class PermissionDeniedError(APIError):
    """403: the token lacks a scope, or only a browser session may do this."""


class NotFoundError(APIError):
    """404: no such object, or not yours."""


class ConflictError(APIError):
    """409: the object's state forbids it (frozen subset, terminal run, taken name)."""


class GoneError(APIError):
    """410: destroyed."""


class PreconditionFailedError(APIError):
    """412: it changed since you read it (``if_match``)."""


class PayloadTooLargeError(APIError):
    """413: the body is too large."""


class ValidationError(APIError):
    """422: some fields can't be used; ``errors`` names them."""


class RateLimitError(APIError):
    """429, still after the retries. ``retry_after`` is in seconds, or None."""

    @property
    def retry_after(self) -> float | None:
        value = self.headers.get("retry-after", "")
        return float(value) if value.replace(".", "", 1).isdigit() else None


class ServerError(APIError):
    """5xx, still after the retries."""


_BY_STATUS: dict[int, type[APIError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    402: InsufficientBalanceError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    412: PreconditionFailedError,
    413: PayloadTooLargeError,
    422: ValidationError,
    429: RateLimitError,
}


def for_answer(status: int, body: Any, headers: Mapping[str, str], call: str, server: str = "") -> APIError:
    """The typed error of an answer with status >= 300."""
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else APIError)
    return kind(status, body, headers, call, server)


def _unexplained(status: int, body: Any) -> str:
    if 300 <= status < 400:
        return "The server redirects elsewhere. Check the base URL (scheme, host and port)."
    text = body.strip().splitlines()[0][:200] if isinstance(body, str) and body.strip() else ""
    about = f": {text}" if text and not text.startswith("<") else ""
    return f"The server answered {status} without a problem document{about}. Check that the base URL is Benchwright's."


def _where(error: Mapping[str, Any]) -> str:
    loc = error.get("loc") or []
    return ".".join(str(part) for part in loc if part != "body") or "body"
