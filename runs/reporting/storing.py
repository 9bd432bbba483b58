"""The report of a run: made once at its end, kept as artifacts, and shown with what happened to the run since."""

import json
import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from kernel import clock, strict_json
from kernel.errors import DomainError
from runs import queries
from runs.artifacts import reading, records
from runs.models import Artifact, Run
from runs.pages.lineage.naming import title
from runs.reporting import facts, markdown, page, remedies
from runs.reporting.audit import auditing
from runs.review import finding, shapes

log = logging.getLogger(__name__)
JSON_NAME, AUDIT_NAME = "report.json", "audit.json"
CATCH_UP = timedelta(minutes=30)  # after its end a run's report is made by the sweeper, where nobody else has
AT_ONCE = 2
FORMATS = ("html", "markdown", "json")


def make(run: Run) -> dict[str, Any]:
    """Gather the facts and the audit, find the flags, store them. Returns the facts. May be run again.

    Anybody who may see the run may see the report; the audit's rows are kept apart, since they tell right answers.
    """
    found = facts.gather(run)
    read = auditing.audit(run)
    found["audit"] = {name: value for name, value in read.items() if name != "rows"}
    finding.keep(run, found)
    records.put(run.id, "audit", AUDIT_NAME, strict_json.dumps(strict_json.clean(read)))
    shown = _with_later(run, found, mine=False, fresh=True)
    records.put(run.id, "report", "report.html", page.render(shown).encode("utf-8", "replace"))
    records.put(run.id, "report_markdown", "report.md", markdown.render(shown).encode("utf-8", "replace"))
    # Last: where it is there, the others are.
    records.put(run.id, "report_json", JSON_NAME, strict_json.dumps(strict_json.clean(found)))
    return found


def served(run: Run, *, mine: bool, answers: bool) -> dict[str, Any]:
    """The report for this reader, with what came later: reruns, flags and remarks; the audit's rows with ``answers``.

    Raises run_active while the run goes on.
    """
    if run.status not in queries.TERMINAL:
        raise DomainError(
            "run_active",
            f"Run {run.id} is {run.status}: its report is made at its end. GET /v1/runs/{run.id}/narrate tells how far "
            "it is.",
        )
    found = _kept(run) or make(run)
    shown = _with_later(run, found, mine=mine)
    if mine:  # the kept one is called as everybody may read it
        shown["run"] = {**shown["run"], "title": title(run, mine=True)}
    if answers:
        shown |= {"audit": audit_of(run), "not_passed": facts.not_passed(run, answers=True)}
    return shown


def audit_of(run: Run) -> dict[str, Any]:
    """The audit with its rows: the kept one of an ended run, else one of what there is so far."""
    if run.status not in queries.TERMINAL:
        return auditing.audit(run)
    kept = _read(run, "audit", AUDIT_NAME)
    if kept is None:
        make(run)
        kept = _read(run, "audit", AUDIT_NAME)
    return kept if kept is not None else auditing.audit(run)


def audit_shown(run: Run, *, answers: bool) -> dict[str, Any] | None:
    """The kept audit for a page; None where none was made yet. Its rows only with ``answers``."""
    found = _read(run, "audit", AUDIT_NAME)
    return found if found is None or answers else {**found, "rows": []}


def rendered(shown: Mapping[str, Any], form: str) -> str:
    """In one of FORMATS."""
    renderers: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "html": page.render,
        "markdown": markdown.render,
        "json": lambda found: strict_json.dumps(strict_json.clean(found)).decode(),
    }
    return renderers[form](shown)


def at_the_end(run: Run) -> None:
    """As ``make``; never raises: no run fails because of its report, which can be made at any later time."""
    try:
        make(run)
    except Exception:
        log.exception("the report of run %s was not made", run.id)


def catch_up() -> int:
    """Make the reports of runs that ended without one, such as halted ones. For the sweeper; returns how many."""
    kept = Artifact.objects.filter(type="report_json").values("run_id")
    late = Run.objects.filter(
        status__in=queries.TERMINAL, finished_at__gt=clock.now() - CATCH_UP, destroyed_at=None, subset__isnull=False
    ).exclude(id__in=kept)
    runs = list(late.select_related("benchmark", "impl", "subset").order_by("finished_at")[:AT_ONCE])
    for run in runs:
        at_the_end(run)
    return len(runs)


def _kept(run: Run) -> dict[str, Any] | None:
    """The stored facts where they are of this shape and still true: calls may be charged after a run's end."""
    found = _read(run, "report_json", JSON_NAME)
    same = (
        found is not None
        and found.get("version") == facts.VERSION
        and found["run"]["status"] == run.status
        and found["summary"] == json.loads(strict_json.dumps(queries.summary(run)))
    )
    return found if same else None


def _read(run: Run, kind: str, name: str) -> dict[str, Any] | None:
    row = Artifact.objects.filter(run=run, type=kind, name=name).order_by("-version").first()
    if row is None:
        return None
    try:
        found = json.loads(reading.content(row))
    except (DomainError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _with_later(run: Run, found: Mapping[str, Any], *, mine: bool, fresh: bool = False) -> dict[str, Any]:
    """``fresh``: as at the run's end, whatever came later."""
    reruns = remedies.reruns(run, mine=mine)
    if fresh:
        reruns |= {"later": [], "later_cells": 0, "later_chosen": {}}
    review = shapes.of_run(run)
    if fresh:
        review = [{**flag, "remarks": [], "settlement": None} for flag in review]
    return {**found, "reruns": reruns, "review": review}
