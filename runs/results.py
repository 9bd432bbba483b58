"""How a cell ends: from what solve, the gateway and score told, to exactly one outcome. Pure.

The journal decides: after a model call that failed and never later succeeded the cell is ``errored``, whatever the
scorer made of it. An infrastructure fault is never a wrong answer.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernel.secret_signs import redact, redact_values

PASSED, FAILED, UNSCORED, ERRORED, SKIPPED = OUTCOMES = ("passed", "failed", "unscored", "errored", "skipped")
FAILED_CLASSES = ("wrong", "no_answer", "format_miss", "truncated", "refused")
UNSCORED_CLASSES = ("scorer_exception", "invalid_score", "judge_unparsed", "scorer_timeout")
MAX_ATTEMPTS = 3
_KEPT_OUT_CLASSES = {
    "host_blocked": "blocked_host",
    "destination_forbidden": "blocked_host",
    "secret_revoked": "missing_secret",
    "secret_unavailable": "missing_secret",
}
_KEPT_OUT = re.compile(rf"\b({'|'.join(_KEPT_OUT_CLASSES)})\b")
MESSAGE_LIMIT = 2_000
PREVIEW_LIMIT = 200
SECRET_LIMIT = 500  # a secret may begin before the cut; it is recognised whole


@dataclass(frozen=True, slots=True)
class Ending:
    """One outcome with its class and words. ``retry`` = another attempt may change it."""

    outcome: str
    error_class: str | None = None
    message: str | None = None
    score: float | None = None
    explanation: str | None = None
    metrics: Mapping[str, Any] | None = None
    retry: bool = False


def clean(text: str, limit: int) -> str:
    """Text that PostgreSQL, JSON and readers may have: NUL and lone surrogates become U+FFFD, what looks like a secret
    is taken out; cut to ``limit`` characters."""
    text = redact(text[: limit + SECRET_LIMIT])[:limit].replace("\x00", "\ufffd")
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def preview(output: object) -> str:
    """What a list shows of an output: up to 200 characters."""
    return clean(output if isinstance(output, str) else repr(output), PREVIEW_LIMIT)


def told(error: Mapping[str, Any]) -> str:
    """What user code raised: ``ValueError: words (task_impl.py line 12)``."""
    where = f" (task_impl.py line {error['line']})" if error.get("line") else ""
    said = f"{error.get('class', 'Exception')}: {error.get('message', '')}"
    return clean(said, MESSAGE_LIMIT - len(where)) + where


def shown_message(error_class: str | None, message: str | None, *, answers: bool) -> str | None:
    """A cell's message for a reader: what a scorer raised may quote the expected answer, so it needs ``answers``."""
    return None if not answers and (error_class or "") in UNSCORED_CLASSES else message


def errored(error_class: str, message: str, *, retry: bool = True) -> Ending:
    return Ending(ERRORED, error_class, clean(message, MESSAGE_LIMIT), retry=retry)


def kept_out(fault: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The fault of an attempt that raised since the egress proxy refused it a host; None where it raised otherwise.

    Its refusals carry a code that every client shows. A host that the run may not reach makes no answer wrong.
    """
    if fault is None or "infra" in fault:
        return None
    found = _KEPT_OUT.search(str(fault.get("message", "")))
    return {"infra": _KEPT_OUT_CLASSES[found[1]], "message": told(fault)} if found else None


def after_solve(fault: Mapping[str, Any] | None, facts: Mapping[str, Any]) -> Ending | None:
    """The ending that solve alone decides, or None where the output goes on to be scored.

    ``fault`` is ``{"class", "message", …}`` where solve raised, ``{"infra": class, "message"}`` where the sandbox or
    the clock ended it; ``facts`` is the gateway's account (runs.gateway_client).
    """
    if fault is not None and "infra" in fault:
        return errored(fault["infra"], fault["message"])
    if facts.get("unresolved"):
        return errored(
            facts.get("error_class") or "provider_error",
            facts.get("error_message") or "A model call failed and no later one succeeded.",
        )
    if fault is not None:
        return Ending(UNSCORED, "scorer_exception", told(fault))
    return None


def _failed_class(output: object, facts: Mapping[str, Any], metrics: Mapping[str, Any] | None) -> str:
    said = (metrics or {}).get("class")
    if facts.get("stop_reason") in {"length", "max_tokens"}:
        return "truncated"
    if facts.get("stop_reason") == "content_filter":
        return "refused"
    if isinstance(said, str) and said in FAILED_CLASSES:
        return said
    if output is None or (isinstance(output, str) and not output.strip()):
        return "no_answer"
    return "wrong"


def after_score(reply: Mapping[str, Any], output: object, facts: Mapping[str, Any], threshold: float) -> Ending:
    """The ending of a scored (or unscored) output. ``reply`` is the score role's message."""
    if reply["op"] == "unscored":
        error = reply.get("error") or {}
        said = error.get("class")
        return Ending(
            UNSCORED,
            said if said in UNSCORED_CLASSES else "scorer_exception",
            clean(str(error.get("message", "")), MESSAGE_LIMIT),
        )
    score, metrics = float(reply["score"]), reply.get("metrics")
    explanation = reply.get("explanation")
    passed = score >= threshold
    return Ending(
        PASSED if passed else FAILED,
        None if passed else _failed_class(output, facts, metrics),
        score=score,
        explanation=clean(explanation, 20_000) if isinstance(explanation, str) else None,
        metrics=redact_values(dict(metrics)) if isinstance(metrics, Mapping) else None,
    )
