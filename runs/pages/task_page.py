"""One result of a run with its payload, as plain values for its template."""

import json
from collections.abc import Mapping
from typing import Any

from accounts.principal import Principal
from kernel.errors import DomainError
from runs import payloads
from runs.models import Run, TaskResult
from runs.pages import left, table
from runs.pages.lineage import naming
from runs.reporting.failures import classes

FOLD = 1_500  # characters of a value shown before it folds
LONGEST = 100_000  # characters of a value that a page carries; the API has the rest
CALLS = 20


def page(run: Run, result_id: str, *, viewer: Principal | None, mine: bool) -> dict[str, Any] | None:
    """Everything the page of one result shows; None where the run has no such result."""
    try:
        row = payloads.result(run, result_id)
    except DomainError:
        return None
    full = payloads.payload(run, row, viewer)
    earlier, later = _neighbours(run, row)
    return {
        "run": run,
        "row": row,
        "message": full["error_message"],
        "title": naming.title(run, mine=mine),
        "badges": naming.badges(run),
        "mine": mine,
        "unpriced": bool(table.unpriced_cells(run, [row.ordinal])),
        "ran_code": row.outcome != "skipped" and not row.reused,
        "meaning": classes.meaning_of(row),
        "threshold": run.impl.pass_threshold if run.impl else None,
        "input": shown(full["input"]),
        "expected": shown(full["expected"]),
        "expected_hidden": full["expected_hidden"],
        "solve_input": shown(full["solve_input"]),
        "score_expected": shown(full["score_expected"]),
        "output": shown(full["output"]),
        "explanation": full["explanation"],
        "metrics": shown(full["metrics"]),
        "calls": [_call(call) for call in full["calls"][:CALLS]],
        "calls_more": max(len(full["calls"]) - CALLS, 0),
        "left": left.of_task(run, row.ordinal, viewer),
        "earlier": earlier,
        "later": later,
        "history": _history(run, row),
    }


def shown(value: Any) -> dict[str, Any] | None:
    """A JSON value as text: strings as they are, the rest indented. ``long`` ones are folded by the page."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return {
        "text": text[:LONGEST],
        "head": text[:FOLD],
        "long": len(text) > FOLD or text.count("\n") > 40,
        "length": len(text),
        "cut": len(text) > LONGEST,
        "blank": not text.strip(),
        "kind": "text" if isinstance(value, str) else "JSON",
    }


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {**call, "request": shown(call["request"]), "response": shown(call["response"])}


def _neighbours(run: Run, row: TaskResult) -> tuple[str | None, str | None]:
    """The results before and after this one, in task order."""
    rows = TaskResult.objects.filter(run=run, live=True)
    before = rows.filter(ordinal__lt=row.ordinal).order_by("-ordinal").values_list("id", flat=True).first()
    after = rows.filter(ordinal__gt=row.ordinal).order_by("ordinal").values_list("id", flat=True).first()
    return before, after


def _history(run: Run, row: TaskResult) -> list[TaskResult]:
    """All results of this cell where there are several, newest first."""
    rows = list(TaskResult.objects.filter(run=run, ordinal=row.ordinal).order_by("-version")[:20])
    return rows if len(rows) > 1 else []
