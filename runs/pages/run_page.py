"""The page of one run, going or done, as plain values for its templates."""

import shlex
from collections.abc import Mapping
from typing import Any

from accounts.pages import once
from kernel import clock
from runs import events, objects, publishing, queries, replays
from runs.asked import sampling, scope
from runs.forking import making
from runs.models import Run
from runs.pages import now, remedies, score, strip, table, words
from runs.pages.event_words import halt_words
from runs.pages.launch import again, authored, paying
from runs.pages.lineage.naming import badges, title
from runs.pages.vault import hosts
from runs.reporting import remedies as mending
from runs.reporting import sentences, storing
from runs.reporting.failures import classes
from runs.review import shapes
from runs.states import TERMINAL
from secrets_vault import leases
from secrets_vault import queries as vault


def going(run: Run, *, mine: bool, answers: bool = False) -> dict[str, Any]:
    """The parts of a going run that change: what the page shows first and the socket sends again."""
    seen = now.read(run)
    summary = queries.live_summary(run) if run.trials > 1 else None
    return {
        "run": run,
        "now": seen,
        "flight": seen.flight[: now.FLIGHT_SHOWN],
        "flight_more": len(seen.flight) - now.FLIGHT_SHOWN,
        "score": score.of(run, summary),
        "scope": scope.of(run),
        "strip": strip.drawn(run, (cell.ordinal for cell in seen.flight)),
        "cells_per_bar": strip.cells_per_bar(run),
        "phases": now.phases(run),
        "spend": now.spend(run, mine=mine),
        "noun": noun(run),
        "title": title(run, mine=mine),
        **hosts.of_run(run, mine=mine),
        "mine": mine,
        "moment": clock.now(),
        "elapsed": (clock.now() - (run.started_at or run.created_at)).total_seconds(),
    }


def noun(run: Run) -> str:
    """What the denominator counts."""
    return "task" if run.trials == 1 else "trial"


def done(run: Run, *, mine: bool, answers: bool) -> dict[str, Any]:
    """The parts of an ended run."""
    summary = queries.summary(run)
    groups = classes.classes(run, answers=answers)
    reruns = mending.reruns(run, mine=mine)
    return {
        "run": run,
        "summary": summary,
        "score": score.of(run, summary),
        "scope": scope.of(run),
        "strip": strip.drawn(run),
        "cells_per_bar": strip.cells_per_bar(run),
        "phases": now.phases(run),
        "spend": now.spend(run, mine=mine),
        "remedies": remedies.of(run, groups, mine=mine),
        "reruns": sentences.reruns(reruns),
        "later": reruns["later"],
        "audit": storing.audit_shown(run, answers=answers),
        "not_passed": sum(group["count"] for group in groups),
        "kinds": _kinds(summary),
        **hosts.of_run(run, mine=mine),
        "completed": score.of_summary(summary["completed"]) if summary.get("completed") else None,
        "noun": noun(run),
        "per_cell": _per_cell(run),
        "price": paying.estimate(run, run.planned),
        "took": (run.finished_at - run.started_at).total_seconds() if run.started_at and run.finished_at else None,
        "halted": halt_words(run.halt_reason, run.halt_note if mine else "") if run.status == "halted" else "",
        "error": events.told_error(run.error, mine=mine) or {},
        **_ways_on(run, mine=mine),
    }


def _ways_on(run: Run, *, mine: bool) -> dict[str, Any]:
    """What may be made of an ended run; of one that came to nothing, the way back to the form that made it."""
    asked = mine and again.in_words(run)
    unchanged = mine and run.mode == "fork" and run.status == "failed" and run.from_phase == "atomize"
    return {
        "replayable": not replays.refusal(run),
        "forkable": not making.refusal(run),
        "again": again.link(run) if asked else "",
        "again_command": _again_command(run) if asked else "",
        "offers": again.offers(run) if asked else [],
        "fork_again": f"/runs/{run.parent_id}/fork?again={run.id}" if unchanged and run.parent_id else "",
    }


def _per_cell(run: Run) -> str:
    """What one cell cost; "" where nothing was spent."""
    ended = run.passed + run.failed + run.unscored + run.errored
    if run.unpriced_calls:
        return words.UNKNOWN
    return words.per_task(round(run.cost_model / ended)) if run.cost_model and ended else ""


def _kinds(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """By kind of task, where there are several: the rate and its caliper."""
    by_kind = summary.get("by_kind") or {}
    if len(by_kind) < 2:
        return []
    return [{"kind": kind, "score": score.of_counts(counts)} for kind, counts in by_kind.items()]


def _again_command(run: Run) -> str:
    """The request as it was asked, with the model and the connection that were named beside the words.

    Each is one word of a shell: somebody chose it, and this will be pasted.
    """
    typed = ["benchwright", "run", words.one_line(run.request, 2000)]
    model, provider, over = again.named_model(run)
    if model:
        typed += ["--model", model, "--connection", over] if over else ["--model", f"{model}@{provider}"]
    return shlex.join(typed)


def secrets(run: Run) -> dict[str, Any]:
    """The secrets that the run may use, by name, for its owner."""
    leased = leases.names([str(run.id)]).get(str(run.id), [])
    key = run.sut_key.get("secret")
    return {
        "leased": leased,
        "sut_key": vault.names_of([key]).get(key) if key else None,
        "notice": objects.foreign_notice(leased) if run.foreign_impl else "",
    }


def page(
    run: Run, params: Mapping[str, str], *, mine: bool, answers: bool = False, settles: bool = False
) -> dict[str, Any]:
    """Everything the run page shows. ``params`` are the page's own: filters and sorting of the task table."""
    parts = (done if run.status in TERMINAL else going)(run, mine=mine, answers=answers)
    wanted = table.Wanted.of(params)
    events = now.log(run, mine=mine)
    return {
        **parts,
        "title": title(run, mine=mine),
        "badges": badges(run),
        "mine": mine,
        "review": shapes.of_run(run),
        "mark": once.fresh(),
        "may_comment": mine,
        "may_settle": settles,
        "secrets": secrets(run) if mine else None,
        "live": run.status not in TERMINAL,
        "showable": publishing.has_result(run),
        "authored": authored.of(run) if mine else None,
        "tasks": table.page(run, wanted, answers=answers),
        "log": events,
        "latest": now.latest(events),
        "mode": {"benchmark": "pinned launch"}.get(run.mode, run.mode),
        "served": sorted((run.served or {}).items(), key=lambda pair: -pair[1])[:4],
        "sampling": sampling.words_of(run),
        "asked_model": objects.asked_model(run, mine=mine),
        "replay": f"benchwright run --replay-from {run.id}",
    }
