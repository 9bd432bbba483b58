"""Launchable catalogue rows, and runs whose cells have ended, written straight into the database."""

import json
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from django.db import transaction

from accounts.models import User
from accounts.principal import Principal
from kernel import clock, ids
from registry.models import Benchmark, Impl, ImplRegistration, Subset, Task
from runs import events, launching, queries, states
from runs.models import Output, Run, TaskResult
from runs.schemas import LaunchBody
from secrets_vault.models import Secret, SecretRule

_numbers = count(1)
LOCAL = {"model": "smollm2", "provider": "local"}


def acting(user: User, *scopes: str) -> Principal:
    return Principal(user, frozenset(scopes or ("runs:read", "runs:write", "artifacts:read")), "pat_test")


def benchmark(owner: User, **fields: Any) -> Benchmark:
    fields.setdefault("name", "Capitals")
    return Benchmark.objects.create(id=ids.prefixed_uuid("bm"), owner=owner, **fields)


def subset(of: Benchmark, tasks: int = 4, *, kinds: Sequence[str] = (), **fields: Any) -> Subset:
    """A subset whose rows are {"task_id": "t0", "input": {"question": …}, "expected": "0"}."""
    number = next(_numbers)
    fields.setdefault("slug", f"main-{number}")
    made = Subset.objects.create(id=f"sub_{number:064x}", benchmark=of, task_count=tasks, **fields)
    append(made, tasks, kinds=kinds)
    return made


def append(to: Subset, tasks: int, *, start: int = 0, revision: int = 1, kinds: Sequence[str] = ()) -> None:
    Task.objects.bulk_create(
        Task(
            subset=to,
            position=at,
            revision=revision,
            task_id=f"t{at}",
            folded_id=f"t{at}",
            row=json.dumps({"task_id": f"t{at}", "input": {"question": f"{at}?"}, "expected": str(at)}),
        )
        for at in range(start, start + tasks)
    )


def impl(on: Subset, owner: User | None = None, **fields: Any) -> Impl:
    number = next(_numbers)
    made = Impl.objects.create(
        id=f"imp_{number:064x}", subset=on, code="class Task: ...", code_sha256="0" * 64, **fields
    )
    ImplRegistration.objects.create(impl=made, owner=owner or on.benchmark.owner, label="exact")
    return made


def catalogue(owner: User, tasks: int = 4, **fields: Any) -> Impl:
    """A benchmark with one subset and its scorer."""
    return impl(subset(benchmark(owner, **fields), tasks))


def secret(owner: User, host: str) -> Secret:
    made = Secret.objects.create(id=ids.prefixed_ulid("sec"), owner=owner, name=f"KEY_{next(_numbers)}", preview="••••")
    SecretRule.objects.create(secret=made, host_pattern=host, inject_kind="bearer", inject_target="Authorization")
    return made


def launch(owner: User, scorer: Impl | None = None, **body: Any) -> Run:
    """A queued run as the API makes it."""
    if "replay" not in body:
        scorer = scorer or catalogue(owner)
        body = {"benchmark": scorer.subset.benchmark_id, "subset": scorer.subset_id, "sut": LOCAL, **body}
    return launching.launch(acting(owner), LaunchBody.model_validate(body))


def end_cells(run: Run, outcomes: Mapping[int, str], *, scores: Mapping[int, float] | None = None) -> list[TaskResult]:
    """End cells (by ordinal) as told, with their events and tallies; the run goes on."""
    positions = run.task_positions or list(range(run.task_count))
    names = dict(Task.objects.filter(subset_id=run.subset_id).values_list("position", "task_id"))
    rows = [_result(run, ordinal, outcome, positions, names, scores or {}) for ordinal, outcome in outcomes.items()]
    with transaction.atomic():
        TaskResult.objects.bulk_create(rows)
        Output.objects.bulk_create(
            Output(run=run, ordinal=row.ordinal, attempt=1, output=json.dumps(f"output {row.ordinal}")) for row in rows
        )
        events.append(run.id, [("MaterializeTaskResult", {"id": row.id, "ordinal": row.ordinal}) for row in rows])
        for outcome in set(outcomes.values()):
            ended = sum(1 for one in outcomes.values() if one == outcome)
            Run.objects.filter(id=run.id).update(**{outcome: getattr(run, outcome) + ended})
    run.refresh_from_db()
    return rows


def _result(
    run: Run,
    ordinal: int,
    outcome: str,
    positions: Sequence[int],
    names: Mapping[int, str],
    scores: Mapping[int, float],
) -> TaskResult:
    position = positions[ordinal // run.trials]
    score = {"passed": 1.0, "failed": 0.0}.get(outcome)
    return TaskResult(
        id=ids.prefixed_ulid("tsk"),
        run=run,
        ordinal=ordinal,
        position=position,
        task_id=names[position],
        trial=ordinal % run.trials,
        outcome=outcome,
        score=scores.get(ordinal, score),
        error_class={"failed": "wrong", "errored": "timeout"}.get(outcome),
        output_preview=f"output {ordinal}",
        duration_ms=100 + ordinal,
    )


def ended(owner: User, outcomes: Sequence[str] = ("passed", "failed"), *, to: str = "ok", **body: Any) -> Run:
    """A run that has ended, with one cell per outcome."""
    scorer = body.pop("scorer", None) or catalogue(owner, -(-len(outcomes) // body.get("trials", 1)))
    run = launch(owner, scorer, **body)
    states.move(run.id, "running", events_after=[("RunStarted", {})], started_at=clock.now())
    end_cells(run, dict(enumerate(outcomes)))
    finish(run, to)
    return run


def finish(run: Run, to: str = "ok") -> None:
    told = {"ok": "RunCompleted", "halted": "RunHalted", "failed": "RunFailed"}[to]
    if run.status == "queued":
        states.move(run.id, "running", started_at=clock.now())
    summary = queries.live_summary(run)
    states.move(run.id, to, events_after=[(told, {})], finished_at=clock.now(), summary=summary)
    run.refresh_from_db()
