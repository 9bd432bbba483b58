"""The facts of a run's report, as plain JSON: bounded in size whatever the run's, and the same for the same run.

Nothing in them tells an expected answer, what a scorer explained, or what its owner alone may know.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db.models import Count, F, Max, Q

from kernel.clock import stamp
from kernel.money import known
from kernel.version import VERSION as CODE
from registry import graders
from runs import events, gateway_keys, queries
from runs.asked import sampling, scope
from runs.fingerprint import fingerprint
from runs.models import ModelCall, Run, TaskResult
from runs.pages.lineage.naming import title
from runs.reporting import spread
from runs.reporting.failures import classes, cutoff, likeness
from runs.statistics import interval
from runs.summary import OUTCOMES

VERSION = 2  # of this shape
MOST_KINDS = 40
LISTED = 8  # slowest and dearest cells
MOST_SERVED = 20
FEW = 10  # under this many scored cells there is no percentage


def gather(run: Run) -> dict[str, Any]:
    """The facts of an ended run, or of one whose cells have all ended."""
    summary = queries.summary(run)
    cut, ran = cutoff.of(run), scope.of(run)
    return {
        "object": "report",
        "version": VERSION,
        "run": _run(run, ending(run, summary)),
        "scope": ran.document() if ran else None,
        "summary": summary,
        "score": _score(summary),
        "by_kind": _kinds(summary),
        "not_passed": not_passed(run, answers=False),
        "likeness": likeness.EXPLAINED,
        "answers": _answers(run, summary, cut.cells),
        "truncation": cut.document() if cut.cells else None,
        "slowest": _listed(run, "duration_ms"),
        "dearest": _listed(run, "cost"),
        "latency": spread.of_latency(run),
        "costs": spread.of_cost(run),
        "provenance": _provenance(run),
    }


def ending(run: Run, summary: Mapping[str, Any]) -> str:
    """The status that the run has, or, where only its last phase goes on, the one that it will have."""
    if run.status in queries.TERMINAL:
        return run.status
    scored = summary["passed"] or summary["failed"] or summary["unscored"]
    return "ok" if scored or not run.planned else "failed"


def _run(run: Run, status: str) -> dict[str, Any]:
    last = TaskResult.objects.filter(run=run, live=True).aggregate(last=Max("created_at"))["last"]
    page = f"{settings.PUBLIC_URL}/runs/{run.id}"
    return {
        "id": str(run.id),
        "title": title(run),
        "status": status,
        "mode": run.mode,
        "benchmark": run.benchmark.name if run.benchmark else None,
        "model": run.sut.get("model"),
        "provider": run.sut.get("provider"),
        "trials": run.trials,
        "planned": run.planned,
        "started_at": stamp(run.started_at),
        "last_result_at": stamp(last),
        "took_s": round((last - run.started_at).total_seconds(), 1) if last and run.started_at else None,
        "halt_reason": run.halt_reason,
        "error": events.told_error(run.error, mine=False),
        "badges": [*([run.sut["provider"]] if run.sut.get("provider") in ("simulated", "local") else []),
                   *(["unsandboxed"] if run.unsandboxed else []),
                   *(["rescored"] if run.fork_mode == "rescore" else [])],
        "link": page,
    }  # fmt: skip


def _score(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The headline's figures. ``few``: a rate of so few cells would say more than is known."""
    scored = summary["passed"] + summary["failed"] + summary["unscored"]
    return {
        "rate": summary["pass_rate"],
        "ci95": summary["ci95"],
        "scored": scored,
        "few": 0 < scored < FEW,
        "coverage": summary["coverage"],
        "bounds": summary["bounds"],
        # Whether the bounds say more than the rate.
        "bounded": bool(summary["total"]) and (scored < summary["total"] or summary["unscored"] > 0),
        "counts": {name: summary[name] for name in OUTCOMES},
        "total": summary["total"],
    }


def _kinds(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """By kind, the largest first; [] where all tasks are of one."""
    by_kind = summary.get("by_kind") or {}
    if len(by_kind) < 2:
        return []
    rows = []
    for kind, counts in by_kind.items():
        scored = counts["passed"] + counts["failed"] + counts["unscored"]
        pair = interval(counts["passed"], scored)
        rows.append(
            {"kind": kind, "total": counts["total"], "scored": scored, "passed": counts["passed"],
             "rate": counts["pass_rate"], "ci95": list(pair) if pair else None, "few": 0 < scored < FEW}
        )  # fmt: skip
    return sorted(rows, key=lambda row: (-row["total"], row["kind"]))[:MOST_KINDS]


def not_passed(run: Run, *, answers: bool) -> list[dict[str, Any]]:
    """What did not pass by class and by likeness; with ``answers`` also what scorers said."""
    return [_class(run, group, answers=answers) for group in classes.classes(run, answers=answers)]


def _class(run: Run, group: Mapping[str, Any], *, answers: bool) -> dict[str, Any]:
    return {
        "outcome": group["outcome"],
        "error_class": group["error_class"],
        "count": group["count"],
        "meaning": group["meaning"],
        "message": group["message"] or None,
        "compared": min(group["count"], classes.LOOKED_AT),
        "groups": classes.alike(run, group, answers=answers),
    }


def _answers(run: Run, summary: Mapping[str, Any], cut: int) -> dict[str, Any]:
    """How many of the scored answers were cut, empty, refused or not in the form that the scorer reads."""
    live = TaskResult.objects.filter(run=run, live=True, outcome__in=("passed", "failed", "unscored"))
    return {
        "scored": summary["passed"] + summary["failed"] + summary["unscored"],
        "truncated": cut,
        "empty": live.filter(Q(error_class="no_answer") | Q(output_preview="", tokens_out__gt=0)).count(),
        "refused": live.filter(Q(error_class="refused") | Q(stop_reason="content_filter")).count(),
        "unreadable": live.filter(error_class="format_miss").count(),
    }


def _listed(run: Run, column: str) -> list[dict[str, Any]]:
    """The cells with the most of it."""
    rows = TaskResult.objects.filter(run=run, live=True).exclude(outcome="skipped").exclude(**{column: 0})
    names = ("id", "task_id", "trial", "outcome", "duration_ms", "model_ms", "tokens_in", "tokens_out", "attempt")
    found = rows.order_by(F(column).desc(), "ordinal").values(*names, "cost", "unpriced")[:LISTED]
    return [{**{name: row[name] for name in names}, "cost": known(row["cost"], row["unpriced"])} for row in found]


def _provenance(run: Run) -> dict[str, Any]:
    """What decides the score, and what was seen of it."""
    marks = fingerprint(run)
    served = sorted((run.served or {}).items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_SERVED]
    return {
        "fingerprint": marks["sha256"],
        "benchmark": run.benchmark_id,
        "subset": marks["parts"]["subset"],
        "tasks": run.task_count,
        "slice": run.task_positions is not None,
        "impl": marks["parts"]["impl"],
        "grader": run.impl.grader.get("kind") if run.impl is not None and run.impl.grader else None,
        "grader_told": graders.told(run.impl.grader) if run.impl is not None and run.impl.grader else None,
        "harness": marks["parts"]["harness"],
        "model": marks["parts"]["model"],
        "sampling": marks["sampling"],
        "sampling_told": sampling.words_of(run),
        "served": [{"name": name, "calls": calls} for name, calls in served],
        "judge": _judge(run, (marks["parts"]["impl"] or {}).get("judge")),
        "limits": marks["parts"]["limits"],
        "sandbox": run.backend,
        "unsandboxed": run.unsandboxed,
        "code": CODE,
        "parent": str(run.parent_id) if run.parent_id else None,
        "relation": run.relation,
        "completes": run.completes,
    }


def _judge(run: Run, asked: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Who judged, as asked for and as the answers name themselves; None where the scorer asks nobody."""
    if asked is None:
        return None
    calls = ModelCall.objects.filter(run=run, ordinal__lte=gateway_keys.judged(0), status="settled")
    named = calls.exclude(model_served=None).values_list("model_served", "upstream").annotate(calls=Count("id"))
    served = [
        {"name": f"{model} via {upstream}" if upstream else str(model), "calls": count}
        for model, upstream, count in named.order_by("-calls", "model_served", "upstream")[:MOST_SERVED]
    ]
    return {**asked, "served": served}
