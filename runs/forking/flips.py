"""Which cells of a fork or a replay ended otherwise than its parent's, and whether that tells the two apart.

Cells are the same where task and trial are; what only one of the two ran is left out.
"""

from dataclasses import dataclass
from typing import Any

from django.db import connection

from runs import statistics
from runs.models import Run
from runs.objects import PASSED

KINDS = ("fixed", "broken", "changed")
SIGNIFICANT = 0.05

# Fixed text, put together from constants: only ids, the kind and the place are parameters. Where both runs have the
# same task list, a cell has the same ordinal in both, and that has an index.
_PAIRS = (
    "FROM runs_taskresult a JOIN runs_taskresult b "
    "ON b.run_id = %(before)s AND b.live AND b.position = a.position AND b.trial = a.trial "
    "AND (NOT %(aligned)s OR b.ordinal = a.ordinal) "
    "WHERE a.run_id = %(after)s AND a.live"
)
_DIFFER = "(a.outcome <> b.outcome OR a.score IS DISTINCT FROM b.score)"
_KIND = (
    "CASE WHEN b.outcome = 'failed' AND a.outcome = 'passed' THEN 'fixed' "
    "WHEN b.outcome = 'passed' AND a.outcome = 'failed' THEN 'broken' ELSE 'changed' END"
)
_SCORED = "a.outcome IN ('passed', 'failed', 'unscored') AND b.outcome IN ('passed', 'failed', 'unscored')"
_LIST = (
    f"SELECT a.ordinal, a.id, b.id, a.task_id, a.trial, {_KIND}, b.outcome, b.score, a.outcome, a.score, "
    f"a.error_class, a.reused {_PAIRS} AND {_DIFFER} AND (%(kind)s::text IS NULL OR {_KIND} = %(kind)s::text) "
)
_UP = "AND (%(last)s::int IS NULL OR a.ordinal > %(last)s::int) ORDER BY a.ordinal LIMIT %(limit)s"
_DOWN = "AND (%(last)s::int IS NULL OR a.ordinal < %(last)s::int) ORDER BY a.ordinal DESC LIMIT %(limit)s"
_COUNTS = (
    f"SELECT count(*), count(*) FILTER (WHERE {_SCORED}), "
    f"count(*) FILTER (WHERE {_SCORED} AND b.outcome = 'passed'), "
    f"count(*) FILTER (WHERE {_SCORED} AND a.outcome = 'passed'), "
    + ", ".join(f"count(*) FILTER (WHERE {_DIFFER} AND {_KIND} = '{kind}')" for kind in KINDS)
    + f" {_PAIRS}"
)
# By task: the trials of one task resemble each other, so that only tasks are independent draws.
_TASKS = (
    "SELECT count(*) FILTER (WHERE gain > 0), count(*) FILTER (WHERE gain < 0) FROM ("  # noqa: S608
    f"SELECT sum((a.outcome = 'passed')::int - (b.outcome = 'passed')::int) AS gain {_PAIRS} AND {_SCORED} "
    "GROUP BY a.position) AS tasks"
)


@dataclass(frozen=True)
class Flip:
    """One cell that ended otherwise. ``before`` and ``after``: (outcome, score)."""

    ordinal: int
    result_id: str
    parent_result_id: str
    task_id: str
    trial: int
    kind: str
    before: tuple[str, float | None]
    after: tuple[str, float | None]
    error_class: str | None
    reused: bool


def listed(
    run: Run, parent: Run, kind: str | None = None, *, last: int | None = None, down: bool = False, limit: int = 100
) -> list[Flip]:
    """Up to ``limit`` flips in task order (or against it), those behind the cell ``last``."""
    asked = {**_both(run, parent), "kind": kind, "last": last, "limit": limit}
    with connection.cursor() as cursor:
        cursor.execute(_LIST + (_DOWN if down else _UP), asked)
        return [_flip(row) for row in cursor.fetchall()]


def _both(run: Run, parent: Run) -> dict[str, Any]:
    aligned = (run.trials, run.task_positions) == (parent.trials, parent.task_positions)
    return {"before": parent.id, "after": run.id, "aligned": aligned}


def _flip(row: tuple[Any, ...]) -> Flip:
    ordinal, result, parent_result, task_id, trial, kind, old, old_score, new, new_score, error_class, reused = row
    before, after = (old, old_score), (new, new_score)
    return Flip(ordinal, result, parent_result, task_id, trial, kind, before, after, error_class, reused)


def summary(run: Run, parent: Run) -> dict[str, Any]:
    """How many cells both have, how many of them flipped, and the exact test, in figures and in words."""
    asked = _both(run, parent)
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, asked)
        shared, scored, passed_before, passed_after, *kinds = cursor.fetchone()
        cursor.execute(_TASKS, asked)
        gained, lost = cursor.fetchone()
    found = dict(zip(KINDS, kinds, strict=True))
    p = statistics.sign_test(gained, lost)
    return {
        "shared": shared,
        "scored": scored,
        **found,
        "pass_rate": {
            "before": passed_before / scored if scored else None,
            "after": passed_after / scored if scored else None,
        },
        "test": {"name": "exact sign test", "gained": gained, "lost": lost, "p_value": p},
        "verdict": nothing_scored(run, parent)
        or verdict(found, gained, lost, p, rescored=run.fork_mode == "rescore", shared=shared),
    }


def nothing_scored(run: Run, parent: Run) -> str:
    """Why the two can't be compared: one of them scored nothing, so that no flip says anything; else ""."""
    for who, one in (("This run", run), ("Its parent", parent)):
        if one.finished_at is not None and one.planned and not one.passed + one.failed:
            why = f"{one.unscored:,} unscored, {one.errored:,} errored, {one.skipped:,} skipped"
            return (
                f"{who} scored nothing ({why}), so the two can't be compared: what changed is no better and no worse."
            )
    return ""


def verdict(found: dict[str, int], gained: int, lost: int, p: float, *, rescored: bool, shared: int = 1) -> str:
    """``3 fixed, 1 broken; can't tell these apart (exact sign test, p = 0.62).``"""
    if not shared:
        return "No cell has ended in both."
    if not any(found.values()):
        return "Every cell that both have ended alike."
    parts = [f"{found['fixed']:,} fixed, {found['broken']:,} broken"]
    if found["changed"]:
        parts.append(f"{found['changed']:,} changed otherwise")
    told = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    if p >= SIGNIFICANT:
        apart = "can't tell these apart"
    else:
        apart = "more tasks pass now" if gained > lost else "fewer tasks pass now"
    said = f"{', '.join(parts)}; {apart} (exact sign test, {told})."
    return said + (" The outputs are the same, so every flip is the scorer's doing." if rescored else "")


def flip_object(flip: Flip) -> dict[str, Any]:
    return {
        "object": "flip",
        "id": flip.result_id,
        "task_id": flip.task_id,
        "trial": flip.trial,
        "kind": flip.kind,
        "before": _side(flip.parent_result_id, flip.before),
        "after": {**_side(flip.result_id, flip.after), "error_class": flip.error_class, "reused": flip.reused},
    }


def _side(result_id: str, ending: tuple[str, float | None]) -> dict[str, Any]:
    outcome, score = ending
    return {"result": result_id, "outcome": outcome, "passed": PASSED.get(outcome), "score": score}
