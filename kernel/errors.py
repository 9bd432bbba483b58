"""What the product says when something can't be done: one exception type, one registry of problem codes."""

from collections.abc import Mapping, Sequence
from typing import Any

# code -> (HTTP status, title). docs/problems.md lists the same; a test compares the two.
PROBLEMS: dict[str, tuple[int, str]] = {
    "bad_request": (400, "The request can't be read"),
    "malformed_json": (400, "The body is not valid JSON"),
    "invalid_parameter": (400, "A parameter has a value that can't be used"),
    "invalid_page_token": (400, "The page token does not belong to this list"),
    "invalid_filter": (400, "Unknown filter"),
    "invalid_sort": (400, "Unknown sort key"),
    "invalid_expand": (400, "This field can't be expanded"),
    "invalid_idempotency_key": (400, "The idempotency key can't be used"),
    "unauthenticated": (401, "No valid token"),
    "token_expired": (401, "The token has expired"),
    "token_revoked": (401, "The token was revoked"),
    "insufficient_scope": (403, "The token lacks a scope"),
    "session_required": (403, "Only a browser session may do this"),
    "reauthentication_required": (403, "Sign in again to do this"),
    "csrf_failed": (403, "The form's security token is missing or old"),
    "model_not_allowed": (403, "This run may not call that model"),
    "parameter_not_allowed": (403, "This parameter is not allowed"),
    "secret_revoked": (403, "The secret was deleted"),
    "not_found": (404, "Not found"),
    "method_not_allowed": (405, "Method not allowed"),
    "idempotency_in_progress": (409, "The first request with this key is still running"),
    "subset_frozen": (409, "The subset is frozen"),
    "subset_incomplete": (409, "The subset's upload is not finished"),
    "subset_exists": (409, "The benchmark already has a subset with these tasks"),
    "slug_taken": (409, "The slug is taken"),
    "secret_rule_conflict": (409, "Two secrets would answer for the same host"),
    "name_taken": (409, "The name is taken"),
    "run_not_replayable": (409, "The run can't be replayed"),
    "not_comparable": (409, "There is nothing to compare the run with"),
    "run_terminal": (409, "The run has already ended"),
    "run_active": (409, "The run is still going"),
    "no_result": (409, "The run has no result"),
    "not_waiting": (409, "The run asks for nothing"),
    "impl_unavailable": (409, "The scorer is not available"),
    "secret_found": (409, "A secret's value stands in the run"),
    "scan_pending": (409, "The run is still being looked through"),
    "in_use": (409, "Something else depends on this"),
    "gone": (410, "Destroyed"),
    "precondition_failed": (412, "It changed since you read it"),
    "payload_too_large": (413, "The body is too large"),
    "unsupported_media_type": (415, "The content type is not supported"),
    "range_not_satisfiable": (416, "The range lies beyond the end"),
    "validation_failed": (422, "Some fields can't be used"),
    "unknown_field": (422, "Unknown field"),
    "mutually_exclusive": (422, "These fields exclude each other"),
    "idempotency_key_reused": (422, "The key was used for another request"),
    "duplicate_task_id": (422, "Task ids repeat"),
    "too_many_rows": (422, "Too many rows in one request"),
    "secret_in_payload": (422, "A secret does not belong here"),
    "missing_secret": (422, "No key for this provider"),
    "not_available": (422, "Not available on this installation"),
    "rate_limited": (429, "Too many requests"),
    "too_many_runs": (429, "Too many runs under way"),
    "too_many_streams": (429, "Too many open streams"),
    "internal_error": (500, "Something broke on our side"),
    "upstream_error": (502, "The provider failed"),
    "unavailable": (503, "Not ready"),
}


class DomainError(Exception):
    """Refusal or failure that a user can understand.

    ``code`` is a key of PROBLEMS. ``detail`` says what happened, what it means and what to do next.
    ``errors`` are ``{"loc": [...], "msg": str}`` for fields; ``extra`` goes into the problem document;
    ``headers`` into the response.
    """

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        errors: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        self.status, self.title = PROBLEMS[code]
        self.code = code
        self.detail = detail or self.title
        self.errors = list(errors)
        self.headers = dict(headers or {})
        self.extra = extra
        super().__init__(f"{code}: {self.detail}")

    def document(self, request_id: str | None) -> dict[str, Any]:
        """The problem document (RFC 9457)."""
        return {
            "type": f"https://benchwright.ai/problems/{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "request_id": request_id,
            "errors": self.errors,
            **self.extra,
        }


def invalid(loc: Sequence[str | int], msg: str, code: str = "validation_failed") -> DomainError:
    """The common case: one field of the body that can't be used."""
    return DomainError(code, msg, errors=[{"loc": list(loc), "msg": msg}])
