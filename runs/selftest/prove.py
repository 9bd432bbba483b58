"""Let a scorer prove itself in the sandbox."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernel import clock
from registry import graders
from registry.linting.lint import facts_of, lint
from runs.compute.base import Compute, RolesSpec, ScorerFault
from runs.selftest import judging
from runs.selftest.bench import Bench, Unusable
from runs.selftest.gold import choice_texts, derive
from runs.selftest.judging import Check, check
from runs.selftest.trial import Row, Trial

VERSION = 3  # of the checks: a verdict of another version is found anew
SECONDS = 60.0
SCORE_SECONDS = 20.0  # of one score() call of somebody's own code
Verdict = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """A scorer and the rows to prove it on: (task_id, JSON text). ``of``: how many rows the subset has in all."""

    code: str
    grader: Mapping[str, Any] | None
    rows: Sequence[tuple[str, str]]
    of: int
    threshold: float = 1.0
    isolation: str = "batch"
    judged: bool = False
    chance: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)  # told along with the verdict


async def prove(subject: Subject, compute: Compute, seconds: float = SECONDS) -> Verdict:
    """{"ok", "badge", "checks", "rows", "of", "at", "version"}. Raises ComputeFault where there is no sandbox.

    ``badge``: proven | proven, oracle not applicable | gameable | broken. ``ok``: it may score a run.
    """
    rows = [json.loads(text) for _, text in subject.rows]
    checks = [await asyncio.to_thread(_linted, subject, rows)]
    tried = 0
    try:
        async with Bench(compute, _spec(subject), judged=subject.judged) as bench:
            shots = await Trial(
                bench, await _extracted(bench, subject, rows), seconds, spoken=subject.grader is None
            ).run()
            tried = shots.rows
    except ScorerFault as fault:
        told = f"{fault.error.get('class')}: {fault.error.get('message')}"[:500]
        checks.append(check("loads", False, f"The scorer can't be loaded in the {fault.role} sandbox ({told})."))
    except Unusable as why:
        checks.append(check("runs", False, str(why)))
    else:
        checks += judging.checks_of(shots, subject.threshold, subject.chance)
        if tried < subject.of:
            how = f"since the time was up after {seconds:.0f} s" if shots.late else "a fair sample"
            checks.append(check("sample", True, f"Tried on {tried} of {subject.of} rows, {how}."))
    badge = judging.badge_of(checks)
    return {
        "ok": badge in (judging.PROVEN, judging.NOT_APPLICABLE),
        "badge": badge,
        "checks": checks,
        "rows": tried,
        "of": subject.of,
        "at": clock.stamp(clock.now()),
        "version": VERSION,
        **subject.facts,
    }


def _spec(subject: Subject) -> RolesSpec:
    """As a run has it: what may run code that somebody wrote, such as a row's own solution, is never trusted."""
    ours = None if subject.grader is None else graders.judging(subject.grader)
    return RolesSpec(
        run_id="self-test",
        code=subject.code,
        trusted=ours is not None and not ours.runs_code,
        isolation=subject.isolation if subject.grader is None else graders.isolation(subject.grader, subject.isolation),
        memory_mb=RolesSpec.memory_mb + (ours.memory_mb if ours else 0),
        model="none",
        concurrency=1,
        score_seconds=SCORE_SECONDS if ours is None else ours.seconds,
    )


def _linted(subject: Subject, rows: Sequence[Mapping[str, Any]]) -> Check:
    if subject.grader is not None:
        return check("lint", True, "The scorer is compiled from a grader.")
    found = lint(subject.code, facts_of(rows))
    errors = [one for one in found if one["level"] == "error"]
    figures = {"errors": len(errors), "warnings": len(found) - len(errors), "findings": found}
    if not found:
        return check("lint", True, "Nothing in its text looks wrong.", figures)
    told = f"Line {found[0]['line']}: {found[0]['words']}"
    more = f" {len(found) - 1} more." if len(found) > 1 else ""
    return check("lint", not errors, f"{told}{more}", figures)


async def _extracted(bench: Bench, subject: Subject, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The rows as extract() gives them. Raises Unusable where it fails on one."""
    items = await bench.extract([text for _, text in subject.rows])
    found = []
    for index, (item, given, (task_id, _)) in enumerate(zip(items, rows, subject.rows, strict=True)):
        if "error" in item:
            told = f"{item['error'].get('class')}: {item['error'].get('message')}"[:300]
            raise Unusable(f"extract() fails on task {task_id} ({told}).")
        if item.get("task_id", task_id) != task_id:
            raise Unusable(f"extract() returns another task's id for task {task_id}.")
        options = len(choice_texts(given.get("input"), (subject.grader or {}).get("choices_field")))
        gold = derive(given, subject.grader)
        found.append(Row(index, task_id, given, item.get("input"), item.get("expected"), gold, options))
    return found
