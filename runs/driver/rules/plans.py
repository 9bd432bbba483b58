"""What every plan needs: the owner's edits and approval, how many tasks will run, what they will cost."""

from collections.abc import Mapping
from typing import Any

from registry import catalog, graders
from registry.models import ImplRegistration
from runs import launch_options, limits, plan
from runs.analysis import checks, estimating
from runs.analysis.edits import Edits
from runs.analysis.edits import read as read_edits
from runs.analysis.planning import Analysed
from runs.driver.base import Asks, Rows
from runs.driver.rules.places import Whole
from runs.models import Run
from runs.pages.words import one_line

Json = dict[str, Any]


def rows_of(subset_id: str, revision: int, tasks: int, doc: Json, edits: Edits) -> Rows:
    """The answer of the phase; an edited ``limit`` goes before the request's."""
    return Rows(subset_id, revision, tasks, None, {**doc, **({"limit": edits.limit} if edits.limit else {})})


def choices(run: Run) -> list[str]:
    """What the owner has chosen when Analyze asked, in order."""
    return [str(said["choice"]) for said in run.answers if said["phase"] == "analyze" and said.get("choice")]


def edits_of(run: Run) -> Edits:
    """Everything that the owner has edited in this phase, later words over earlier ones."""
    said: Json = {}
    for answer in run.answers:
        if answer["phase"] == "analyze":
            said |= answer.get("edits") or {}
    return read_edits(said)


def approved(run: Run, doc: Json, faults: list[Json]) -> None:
    """Go on where nobody is to be asked, or the owner has said yes. Asks ``plan_approval`` otherwise."""
    yes = any(said["phase"] == "analyze" and not said.get("choice") for said in run.answers)
    if run.metadata.get("autonomous") is not False or (yes and not faults):
        return
    words = f"This is the plan: {doc['dataset']['words']}, {doc['tasks']:,} of {doc['n']:,} tasks. Shall it go on?"
    if faults:
        words = f"The edits can't be used: {' '.join(str(fault['msg']) for fault in faults)} The plan is as it was."
    asked: Json = {"question": words, "choices": [], "plan": doc} | ({"faults": faults} if faults else {})
    raise Asks(
        "plan_approval",
        asked,
        "Approve it (runs.approve), with edits of limit, part, kind, fields or grader if you like; or halt the run.",
    )


def scored_by(own: ImplRegistration | None) -> Json:
    """What the plan says of a scorer that was registered for its tasks: id, label, grader. Nothing where none was."""
    if own is None:
        return {}
    grader = graders.validate_grader(own.impl.grader) if own.impl.grader is not None else None
    how = graders.told(grader) if grader is not None else "code"
    label = f" “{one_line(own.label, 100)}”" if own.label else ""
    words = f"The subset's own scorer{label} ({own.impl_id}): {how}."
    return {"impl": own.impl_id, "impl_label": own.label, "grader": grader, "scorer": words}


def counts(run: Run, found: Mapping[str, Any], edits: Edits, available: int) -> Json:
    """How many tasks and cells will run, as the phase will say it."""
    asked = edits.limit or found.get("limit")
    caps = (limits.parse(run.limits).run.tasks, launch_options.metadata_cap(run.metadata), asked)
    tasks = plan.capped(available, *caps)
    return {"tasks": tasks, "cells": plan.cells(tasks, run.trials)}


def too_few(whole: Whole, analysed: Analysed) -> list[Json]:
    """A risk where the place had fewer rows than the catalogue counts: a mirror of a part of them."""
    if whole.kind != "catalogue" or whole.part is not None:
        return []
    size = catalog.get(whole.ref).size or 0
    came = len(analysed.made.tasks) + sum(analysed.made.left_out.values())
    if came >= size or any(one["code"] == "sample" for one in whole.risks):
        return []
    words = (
        f"{whole.where} has {came:,} rows, and the benchmark has {size:,}: a score of these is not the benchmark's. "
        "Its place may hold only a part of it."
    )
    return [checks.risk("partial_source", words, size - came)]


def estimate(run: Run, tasks: list[Json], kind: str, grader: Mapping[str, Any] | None, counted: Json) -> Json:
    return estimating.estimate(
        tasks,
        kind,
        grader,
        run.sut,
        planned=counted["tasks"],
        cells=counted["cells"],
        concurrency=run.concurrency,
    )
