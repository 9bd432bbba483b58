"""Runs as they look in the database: live, done, failed, halted, simulated. Figures agree with each other."""

import json
import zlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import count
from random import Random
from typing import Any

from accounts.models import User
from kernel import clock, ids
from kernel.money import MICRO_CENTS_PER_DOLLAR
from registry.models import Benchmark, Impl, Subset, Task
from runs.models import ModelCall, Output, Phase, Run, RunEvent, TaskResult

CLASSES = {
    "failed": ("wrong", "wrong", "wrong", "truncated", "format_miss"),
    "errored": ("rate_limited", "rate_limited", "sandbox_dead"),
    "unscored": ("scorer_exception",),
    "skipped": ("halted",),
}
_numbers = count(1)


def benchmark(
    owner: User, *, name: str = "BFCL v4 parallel functions", tasks: int = 100, task_name: str = "parallel_{:03}"
) -> Impl:
    """A benchmark with one frozen subset of ``tasks`` tasks and its scorer."""
    number = next(_numbers)
    made = Benchmark.objects.create(id=ids.prefixed_uuid("bm"), owner=owner, name=name)
    subset = Subset.objects.create(
        id=f"sub_{number:012x}", benchmark=made, slug=f"main-{number}", task_count=tasks, name=name
    )
    Task.objects.bulk_create(
        Task(
            subset=subset,
            position=at,
            task_id=task_name.format(at),
            folded_id=task_name.format(at).casefold(),
            row=json.dumps({"id": at, "question": "Book me a room in Lyon."}),
        )
        for at in range(tasks)
    )
    return Impl.objects.create(id=f"imp_{number:012x}", subset=subset, code="def score(): ...", code_sha256="0" * 64)


def run(owner: User, impl: Impl | None = None, **fields: Any) -> Run:
    """A Run row with its two phases and RunQueued; nothing has ended yet."""
    impl = impl or benchmark(owner, tasks=fields.get("planned", 100))
    planned = fields.pop("planned", impl.subset.task_count)
    made = Run.objects.create(
        owner=owner,
        mode=fields.pop("mode", "benchmark"),
        benchmark=impl.subset.benchmark,
        subset=impl.subset,
        subset_revision=1,
        impl=impl,
        sut=fields.pop("sut", {"model": "qwen/qwen3-32b", "provider": "openrouter", "params": {"temperature": 0}}),
        plan=["materialize", "report"],
        task_count=planned,
        planned=planned * fields.get("trials", 1),
        **fields,
    )
    for at, name in enumerate(made.plan):
        Phase.objects.create(run=made, name=name, position=at)
    tell(made, [("RunQueued", {})])
    return made


def tell(run: Run, items: Sequence[tuple[str, dict[str, Any]]], *, at: datetime | None = None) -> None:
    """Append events, at a moment of one's own choice."""
    RunEvent.objects.bulk_create(
        RunEvent(run=run, seq=run.last_seq + i, type=kind, data=data, created_at=at or clock.now())
        for i, (kind, data) in enumerate(items, 1)
    )
    run.last_seq += len(items)
    run.save(update_fields=["last_seq"])


def start(run: Run, *, ago: float = 221) -> None:
    """As if a worker had taken it ``ago`` seconds ago."""
    run.status, run.started_at = "running", clock.now() - timedelta(seconds=ago)
    run.save(update_fields=["status", "started_at"])
    Phase.objects.filter(run=run, name="materialize").update(status="running", attempt=1, started_at=run.started_at)
    tell(run, [("RunStarted", {}), ("PhaseStarted", {"phase": "materialize", "attempt": 1})], at=run.started_at)


def results(
    run: Run,
    outcomes: Sequence[str],
    *,
    text: Callable[[int], str] = lambda at: '[{"name": "book_room", "args": {"city": "Lyon", "nights": 2}}]',
    outputs: bool = True,
    told: bool = True,
) -> list[TaskResult]:
    """End the next cells with these outcomes: results, outputs, events and tallies."""
    dice = Random(run.planned)
    first = run.passed + run.failed + run.unscored + run.errored + run.skipped
    tasks = list(run.subset.tasks.order_by("position"))
    rows = [_row(run, tasks, first + i, outcome, dice, text) for i, outcome in enumerate(outcomes)]
    TaskResult.objects.bulk_create(rows)
    if outputs:
        Output.objects.bulk_create(
            Output(run=run, ordinal=row.ordinal, attempt=row.attempt, output=_json(text(row.ordinal)))
            for row in rows
            if row.outcome not in ("errored", "skipped")
        )
    if told:
        tell(run, [("MaterializeTaskResult", _event(row)) for row in rows])
    for row in rows:
        setattr(run, row.outcome, getattr(run, row.outcome) + 1)
        run.cost_model += row.cost
        run.tokens_in += row.tokens_in
        run.tokens_out += row.tokens_out
    run.save()
    return rows


def _json(text: str) -> str:
    return json.dumps(text)


def _row(run: Run, tasks: list[Task], cell: int, outcome: str, dice: Random, text: Callable[[int], str]) -> TaskResult:
    task = tasks[cell // run.trials % len(tasks)]
    paid = outcome not in ("skipped",)
    return TaskResult(
        id=ids.prefixed_ulid("tsk"),
        run=run,
        ordinal=cell,
        position=task.position,
        task_id=task.task_id,
        trial=cell % run.trials,
        attempt=3 if outcome == "errored" else 1,
        outcome=outcome,
        score={"passed": 1.0, "failed": 0.0}.get(outcome),
        error_class=dice.choice(CLASSES[outcome]) if outcome in CLASSES else None,
        error_message="openrouter said 429 three times in a row." if outcome == "errored" else None,
        explanation="One argument differs." if outcome == "failed" else None,
        output_preview=text(cell)[:200],
        duration_ms=int(dice.lognormvariate(6.5, 0.5)),
        model_ms=400,
        tokens_in=431 if paid else 0,
        tokens_out=61 if paid else 0,
        cost=dice.randint(60_000, 140_000) if paid else 0,
        calls=1,
        stop_reason="stop",
    )


def _event(row: TaskResult) -> dict[str, Any]:
    names = "id task_id trial attempt outcome score error_class duration_ms cost tokens_in tokens_out ordinal".split()
    return {**{name: getattr(row, name) for name in names}, "passed": row.outcome == "passed"}


def call(run: Run, ordinal: int, *, request: bytes = b"", response: bytes = b"", **fields: Any) -> ModelCall:
    """A settled call in the gateway's journal."""
    return ModelCall.objects.create(
        run=run, ordinal=ordinal, attempt=1, request_hash=f"{next(_numbers):064x}", occurrence=0, status="settled",
        http_status=200, request=zlib.compress(request), response=zlib.compress(response), tokens_in=431, tokens_out=61,
        model_served="qwen/qwen3-32b-fp8", upstream="DeepInfra", finish_reason="stop", cost=90_000, latency_ms=690,
        **fields,
    )  # fmt: skip


def end(run: Run, status: str = "ok", **fields: Any) -> None:
    """The run's last words."""
    run.status, run.finished_at = status, clock.now()
    for name, value in fields.items():
        setattr(run, name, value)
    run.save()
    done = {"ok": "completed", "halted": "halted", "failed": "failed"}[status]
    for phase in run.phases.all():
        phase.status = done if phase.name == "materialize" or status == "ok" else "pending"
        if phase.status != "pending":
            phase.attempt, phase.started_at, phase.finished_at = 1, run.started_at, run.finished_at
        phase.save()
    last = {"ok": "RunCompleted", "halted": "RunHalted", "failed": "RunFailed"}[status]
    said = {"ok": {"summary": {"passed": run.passed, "total": run.planned}}, "halted": {"halt_reason": run.halt_reason},
            "failed": {"error": run.error}}[status]  # fmt: skip
    tell(run, [(last, said)])


def mixed(passed: int, failed: int, errored: int = 0, unscored: int = 0, skipped: int = 0, seed: int = 7) -> list[str]:
    """So many of each, shuffled the same way each time."""
    outcomes = (
        ["passed"] * passed
        + ["failed"] * failed
        + ["errored"] * errored
        + ["unscored"] * unscored
        + ["skipped"] * skipped
    )
    Random(seed).shuffle(outcomes)
    return outcomes


def live(owner: User, **fields: Any) -> Run:
    """61 of 100 tasks have ended, six are at work, the provider says 429."""
    impl = benchmark(owner, name="MMLU Abstract Algebra", tasks=100, task_name="aa_{:04}")
    limits = {"run": {"cost": 2.0}}
    made = run(owner, impl, sut={"model": "openai/gpt-4o-mini", "provider": "openrouter"}, limits=limits, **fields)
    start(made)
    results(made, mixed(44, 14, 2, 1))
    at_work = [{"task_id": f"aa_{i:04}", "trial": 0, "attempt": 1, "ordinal": i} for i in range(61, 67)]
    tell(made, [("MaterializeTaskStarted", cell) for cell in at_work], at=clock.now() - timedelta(seconds=31))
    tell(made, [
        ("PhaseProgress", {"phase": "materialize", "done": 61, "total": 100, "in_flight": 6, "waiting": None,
                           "rate_per_s": 0.28, "eta_s": [120, 240]}),
        ("ModelRetry", {**at_work[0], "status": 429, "wait_s": 12.0, "try": 3, "provider": "openrouter"}),
    ])  # fmt: skip
    return made


def done(owner: User, **fields: Any) -> Run:
    """200 tasks: 157 passed, 34 failed, 7 errored, 2 unscored."""
    made = run(owner, benchmark(owner, tasks=200), **fields)
    start(made, ago=187)
    results(made, mixed(157, 34, 7, 2))
    end(made)
    return made


def cents(dollars: float) -> int:
    return round(dollars * MICRO_CENTS_PER_DOLLAR)
