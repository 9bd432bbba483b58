"""One task of a run in full: what went in, what was expected, what came out, and the model calls between."""

import json
from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from accounts.principal import Principal
from kernel import secret_signs, strict_json
from kernel.clock import stamp
from kernel.errors import DomainError
from kernel.money import shown
from registry.models import Task
from runs.artifacts import reading
from runs.call_bodies import assembled, unpack
from runs.models import ModelCall, Output, Run, TaskResult
from runs.objects import task_row

MOST_TRIALS = 8  # that are named
BODY_BYTES = 256 << 10  # of one request or response; a longer one is cut


def result(run: Run, result_id: str) -> TaskResult:
    """One result of this run: by its id, or by its task's where that has one trial.

    Raises not_found, also for a result of another run and for a task of several trials.
    """
    if "\x00" in result_id:
        raise DomainError("not_found", "This run has no such task result.")
    results = TaskResult.objects.filter(run=run)
    found = results.filter(id=result_id).first()
    return found if found is not None else _of_task(results.filter(live=True, task_id=result_id), result_id)


def _of_task(results: QuerySet[TaskResult], task_id: str) -> TaskResult:
    found = list(results.order_by("ordinal")[:MOST_TRIALS])
    if len(found) == 1:
        return found[0]
    if not found:
        raise DomainError("not_found", "This run has no result with that id, and none of a task with that id yet.")
    named = ", ".join(f"{row.id} (trial {row.trial + 1})" for row in found)
    raise DomainError("not_found", f"The task {task_id!r} was asked more than once. Name one of its results: {named}.")


def payload(run: Run, row: TaskResult, viewer: Principal | None) -> dict[str, Any]:
    """The slim row, and input, expected, output, explanation, metrics, calls[], artifacts[].

    The expected answer, the scorer's explanation and its metrics are hidden from those who may not see answers.
    """
    source = _source(run, row)
    answers = may_see_answers(run, viewer)
    given = reading.extracted(run, row.ordinal, row.position) or {}
    return {
        **task_row(row, answers=answers),
        "run": str(run.id),
        "input": source.get("input", {k: v for k, v in source.items() if k not in ("task_id", "expected")}),
        "expected": source.get("expected") if answers else None,
        "expected_hidden": not answers,
        # What extract made of the row, where that is something else than the row says; else None.
        "solve_input": given.get("input"),
        "score_expected": given.get("expected") if answers else None,
        "output": _output(run, row),
        "explanation": row.explanation if answers else None,
        "metrics": row.metrics if answers else None,
        "calls": [call_object(call) for call in _calls(run, row)],
        "artifacts": [
            reading.artifact_object(found) for found in reading.of_cell(run, row.ordinal, viewer, answers=answers)
        ],
    }


def may_see_answers(run: Run, viewer: Principal | None) -> bool:
    """Nobody without a token; else the subset's owner always, others where its answers are open."""
    if viewer is None or run.subset is None:
        return False
    owner = run.benchmark is not None and run.benchmark.owner_id == viewer.account.pk
    return owner or run.subset.answers == "open"


def _source(run: Run, row: TaskResult) -> dict[str, Any]:
    """The uploaded row; plain JSON as it was sent."""
    text = Task.objects.filter(subset=run.subset_id, position=row.position).values_list("row", flat=True).first()
    found = json.loads(text) if text is not None else {}
    return found if isinstance(found, dict) else {"input": found}


def _output(run: Run, row: TaskResult) -> Any:
    """What solve returned in the attempt that counted; None where it ended without."""
    stored = Output.objects.filter(run=run, ordinal=row.ordinal, attempt=row.attempt)
    text = stored.values_list("output", flat=True).first()
    return None if text is None else strict_json.clean(json.loads(text))


def _calls(run: Run, row: TaskResult) -> Iterable[ModelCall]:
    return ModelCall.objects.filter(run=run, ordinal=row.ordinal).order_by("id")[:200]


def call_object(call: ModelCall) -> dict[str, Any]:
    """One model call of the cell, as the gateway wrote it down."""
    return {
        "object": "model_call",
        "attempt": call.attempt,
        "occurrence": call.occurrence,
        "status": call.status,
        "http_status": call.http_status,
        "request": _body(call.request),
        "response": _body(call.response, call.streamed),
        "streamed": call.streamed,
        "model_served": call.model_served,
        "upstream": call.upstream,
        "finish_reason": call.finish_reason,
        "tokens_in": call.tokens_in,
        "tokens_out": call.tokens_out,
        "tokens_reasoning": call.tokens_reasoning,
        "tokens_cached": call.tokens_cached,
        "usage_estimated": call.usage_estimated,
        "cost": None if call.cost is None else shown(call.cost),
        "priced_by": call.priced_by,
        "tries": call.tries,
        "waited_ms": call.waited_ms,
        "latency_ms": call.latency_ms,
        "error_class": call.error_class,
        "created_at": stamp(call.created_at),
        "settled_at": stamp(call.settled_at),
    }


def _body(stored: bytes | memoryview | None, streamed: bool = False) -> Any:
    """JSON where it is JSON, else text; None where there is none. A stream is put together. Cut where it is long."""
    if stored is None:
        return None
    raw = unpack(stored)
    whole = assembled(raw) if streamed and raw.startswith((b"data:", b"event:")) else None
    if whole is not None:
        raw = json.dumps(whole).encode()
    text = strict_json.clean_text(raw[:BODY_BYTES].decode("utf-8", "replace"))
    if len(raw) > BODY_BYTES:
        return f"{secret_signs.redact(text)}… ({len(raw)} bytes in all)"
    try:
        return secret_signs.redact_values(strict_json.clean(json.loads(text)))
    except ValueError:
        return secret_signs.redact(text)
