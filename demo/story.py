"""What the demo does with the SDK: a benchmark from real rows, a run, the same with another setting, a comparison."""

import hashlib
import json
import math
import os
from collections.abc import Callable
from typing import Any

from benchwright import APIError, Benchwright, Object
from demo import rows
from demo.models import KEYS, Choice
from demo.server import DemoTrouble

MARKS = {"passed": "✓", "failed": "✗", "unscored": "?", "errored": "!", "skipped": "-"}
Say = Callable[[str], None]


def benchmark(bw: Benchwright, count: int, say: Say) -> tuple[str, str]:
    """The ids of the demo's benchmark and subset; made the first time, found again by the idempotency keys."""
    data = rows.folder()
    tasks = rows.real(data, count) if data else rows.made_up(count)
    grader = rows.GRADER if data else rows.MADE_UP_GRADER
    name = "BFCL v4 simple (demo)" if data else "Sums (demo)"
    mark = hashlib.sha256(json.dumps([tasks, grader]).encode()).hexdigest()[:16]
    about = "The first rows of BFCL v4 simple_python (Apache-2.0)." if data else "Made-up sums."
    made = bw.benchmarks.create(name, about, tags=["demo"], idempotency_key=f"demo-benchmark-{mark}")
    subset = bw.benchmarks.subsets.create(
        made.id, f"first-{len(tasks)}", tasks=tasks, grader=grader, idempotency_key=f"demo-subset-{mark}"
    )
    say(f"benchmark {name}: {len(tasks)} rows, graded by {grader['kind']}")
    return made.id, subset.id


def hand_over_key(bw: Benchwright, choice: Choice) -> None:
    """Put the provider's key into the vault, from where only the gateway can take it."""
    if choice.provider not in KEYS:
        return
    variable, host, _ = KEYS[choice.provider]
    rule = {"host_pattern": host, "inject_kind": "bearer"}
    if not any(secret.name == variable for secret in bw.secrets.list().data):
        bw.secrets.create(variable, os.environ[variable], rules=[rule])


def watch(bw: Benchwright, run: Object, say: Say) -> Object:
    """Print phases and results as they happen; returns the ended run."""
    done = 0
    for event in bw.runs.stream(run.id):
        data = event.data
        if event.type == "PhaseStarted":
            say(f"{data.phase} started")
        elif event.type == "PhaseFailed":
            say(f"{data.phase} failed")
        elif event.type == "MaterializeTaskResult":
            done += 1
            seconds = (data.get("duration_ms") or 0) / 1000
            why = f"  {data.error_class}" if data.get("error_class") else ""
            mark = MARKS.get(data.outcome, "?")
            say(f"  {mark} {done:>3}  {data.task_id:<20} {data.outcome:<8} {seconds:5.1f} s{why}")
        elif event.type == "ModelRetry":
            say(f"  … the provider said {data.get('status')}; trying again in {data.get('wait_s')} s")
    ended = bw.runs.get(run.id)
    if ended.status != "ok":
        raise DemoTrouble(f"the run ended as {ended.status}: {ended.get('halt_reason') or ended.get('error')}")
    return ended


def score_line(bw: Benchwright, run: Object) -> str:
    """The score with its interval, coverage and cost. Raises DemoTrouble where nothing could be scored."""
    summary = bw.runs.tasks(run.id, limit=1).summary
    scored = summary.passed + summary.failed + summary.unscored
    if not scored or summary.pass_rate is None:
        raise DemoTrouble(f"no task could be scored ({summary.errored} errored, {summary.skipped} skipped)")
    low, high = summary.ci95
    parts = [
        f"{summary.passed} of {scored} right = {summary.pass_rate:.1%}",
        f"95 % interval {low:.1%} to {high:.1%}",
        f"coverage {summary.coverage:.0%}",
        f"cost ${float(summary.cost.amount):.4f}" if summary.cost else "price unknown",
    ]
    if summary.coverage < 1:
        parts.append(f"bounds {summary.bounds.worst:.1%} to {summary.bounds.best:.1%}")
    return " · ".join(parts)


def paired(bw: Benchwright, first: Object, second: Object) -> str:
    """Both runs answered the same tasks, so they are compared task by task, which tells more than two scores do."""
    one, two = (_passed(bw, run) for run in (first, second))
    shared = one.keys() & two.keys()
    if not shared:
        return "no task was scored in both runs"
    gained = sum(two[task] and not one[task] for task in shared)
    lost = sum(one[task] and not two[task] for task in shared)
    n = len(shared)
    difference = (gained - lost) / n
    margin = 1.96 * math.sqrt(max(gained + lost - (gained - lost) ** 2 / n, 0)) / n
    said = f"{difference:+.1%} (95 % interval {difference - margin:+.1%} to {difference + margin:+.1%})"
    return f"{said}: {gained} tasks gained, {lost} lost, {n - gained - lost} unchanged"


def _passed(bw: Benchwright, run: Object) -> dict[Any, bool]:
    return {row.task_id: bool(row.passed) for row in bw.runs.tasks(run.id).data if row.passed is not None}


def explain(error: APIError) -> str:
    return f"the server refused: {error}"
