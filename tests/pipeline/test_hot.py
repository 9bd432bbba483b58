"""The hot statement against the models: what it writes, what the fence keeps out, what a repeat changes."""

import asyncio
import threading
from typing import Any

import psycopg
import pytest
from django.db import connection

from accounts.models import User
from kernel.database import conninfo
from runs import hot, limits
from runs.context import Context
from runs.doorbell import Bell
from runs.hot import _FLUSH, Batch, EventRow, OutputRow, ResultRow, flush
from runs.leases import Lease
from runs.models import Output, Run, RunEvent, Shard, TaskResult
from tests.factories import planned

pytestmark = pytest.mark.django_db(transaction=True)
FACTS: dict[str, Any] = {
    "known": True, "calls": 1, "cost": 2_000, "unpriced": 0, "tokens_in": 7, "tokens_out": 3, "model_ms": 12,
    "stop_reason": "stop",
}  # fmt: skip


def output(ordinal: int, **fields: Any) -> OutputRow:
    return OutputRow(**{
        "shard": 0, "ordinal": ordinal, "attempt": 1, "output": '"5"', "fault": None, "facts": FACTS,
        "duration_ms": 20, **fields,
    })  # fmt: skip


def result(ordinal: int, **fields: Any) -> ResultRow:
    return ResultRow(**{
        "shard": 0, "ordinal": ordinal, "position": ordinal, "task_id": f"q{ordinal:05d}", "kind": "", "trial": 0,
        "attempt": 1, "outcome": "passed", "score": 1.0, "error_class": None, "error_message": None,
        "output_preview": "5", "explanation": None, "metrics": None, "duration_ms": 20, "facts": FACTS, **fields,
    })  # fmt: skip


def store(run: Run, batch: Batch, fences: dict[int, int]) -> set[int]:
    async def go() -> set[int]:
        async with await psycopg.AsyncConnection.connect(conninfo(), autocommit=True) as line:
            return await flush(line, str(run.id), "materialize", fences, batch)

    return asyncio.run(go())


def test_it_writes_outputs_results_events_and_tallies_together(alice: User) -> None:
    run = planned.run(alice)
    planned.leased(run)
    batch = Batch(
        [output(0), output(1, output=None, fault={"class": "ValueError", "message": "bad \x00 byte"})],
        [result(0), result(1, outcome="unscored", score=None, error_class="scorer_exception")],
        [EventRow(0, "MaterializeTaskStarted", {"task_id": "q00000"})],
    )
    assert store(run, batch, {0: 1}) == {0}
    run.refresh_from_db()
    assert (run.passed, run.failed, run.unscored, run.errored, run.skipped) == (1, 0, 1, 0, 0)
    assert (run.cost_model, run.tokens_in, run.tokens_out, run.last_seq) == (4_000, 14, 6, 3)
    assert list(RunEvent.objects.filter(run=run).order_by("seq").values_list("seq", "type")) == [
        (1, "MaterializeTaskStarted"), (2, "MaterializeTaskResult"), (3, "MaterializeTaskResult"),
    ]  # fmt: skip
    told = RunEvent.objects.get(run=run, seq=2).data
    kept = TaskResult.objects.get(run=run, ordinal=0)
    assert told["id"] == kept.id
    assert told["outcome"] == kept.outcome == "passed"
    assert (kept.score, kept.cost, kept.calls, kept.model_ms, kept.stop_reason, kept.live, kept.version) == (
        1.0, 2_000, 1, 12, "stop", True, 1,
    )  # fmt: skip
    assert Output.objects.get(run=run, ordinal=0).output == '"5"'
    assert Output.objects.get(run=run, ordinal=1).fault["message"] == "bad \ufffd byte"


def test_it_changes_nothing_when_the_same_batch_comes_again(alice: User) -> None:
    run = planned.run(alice)
    planned.leased(run)
    batch = Batch([output(0)], [result(0)])
    store(run, batch, {0: 1})
    store(run, Batch([output(0)], [result(0, outcome="failed", score=0.0)]), {0: 1})
    run.refresh_from_db()
    assert (run.passed, run.failed, run.cost_model, run.last_seq) == (1, 0, 2_000, 1)
    assert TaskResult.objects.get(run=run).outcome == "passed"


def test_x1_a_batch_whose_commit_was_not_heard_of_tells_nothing_twice(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database dies after the commit and before its answer: the worker can't know, and writes again."""
    run = planned.run(alice)
    planned.leased(run)
    started = {"task_id": "q00000", "ordinal": 0, "attempt": 1, "trial": 0}
    batch = Batch([output(0)], [result(0)], [EventRow(0, "MaterializeTaskStarted", started)])
    tries: list[bool] = []

    async def deaf(*arguments: Any, **options: Any) -> set[int]:
        written = await flush(*arguments, **options)
        tries.append(options["again"])
        if len(tries) == 1:
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return written

    bell = Bell(conninfo())

    async def go() -> set[int]:
        context = Context(
            run=run, phase="materialize", owner="tester", ceilings=limits.parse({}), lease_seconds=10.0,
            stopping=threading.Event(), halting=threading.Event(), bell=bell, conninfo=conninfo(),
        )  # fmt: skip
        async with context:
            context.leases.held[0] = Lease(0, 0, 4, 1, lost=False)
            return await context.write(batch)

    monkeypatch.setattr(hot, "flush", deaf)
    assert asyncio.run(go()) == {0}
    bell.close()
    assert tries == [False, True]
    run.refresh_from_db()
    assert (run.passed, run.last_seq) == (1, 2)
    assert list(RunEvent.objects.filter(run=run).order_by("seq").values_list("seq", "type")) == [
        (1, "MaterializeTaskStarted"), (2, "MaterializeTaskResult"),
    ]  # fmt: skip


def test_d06_late_writes_of_a_zombie_are_refused(alice: User) -> None:
    run = planned.run(alice)
    planned.leased(run, shards=2)
    Shard.objects.filter(run=run, number=0).update(attempt_no=2)
    rows = Batch(
        [output(0), output(2, shard=1)],
        [result(0), result(2, shard=1)],
        [EventRow(0, "ModelRetry", {}), EventRow(1, "ModelRetry", {})],
    )
    assert store(run, rows, {0: 1, 1: 1}) == {1}
    run.refresh_from_db()
    assert (run.passed, run.last_seq) == (1, 2)
    assert list(Output.objects.filter(run=run).values_list("ordinal", flat=True)) == [2]
    assert sorted(RunEvent.objects.filter(run=run).values_list("seq", flat=True)) == [1, 2]


def test_it_writes_nothing_where_no_fence_holds(alice: User) -> None:
    run = planned.run(alice)
    planned.leased(run)
    assert store(run, Batch([output(0)], [result(0)]), {0: 9}) == set()
    run.refresh_from_db()
    assert (run.passed, run.last_seq, run.cost_model) == (0, 0, 0)
    assert not Output.objects.filter(run=run).exists()


def test_it_takes_large_batches_of_every_shape(alice: User) -> None:
    run = planned.run(alice, planned.sums(500))
    planned.leased(run)
    batch = Batch(
        [output(n, output='"' + "\\u0000é" * 50 + '"') for n in range(500)],
        [result(n, metrics={"class": "wrong", "n": n, "text": "nul \x00"}, explanation="why") for n in range(500)],
    )
    assert store(run, batch, {0: 1}) == {0}
    run.refresh_from_db()
    assert (run.passed, run.last_seq) == (500, 500)
    assert TaskResult.objects.filter(run=run, metrics__n=499).count() == 1


def test_the_columns_it_names_are_those_of_the_models() -> None:
    for model, table in ((Output, "runs_output"), (TaskResult, "runs_taskresult"), (RunEvent, "runs_runevent")):
        named = _FLUSH.split(f"INSERT INTO {table} (")[1].split(")")[0].replace("\n", " ")
        columns = {field.column for field in model._meta.fields}
        written = {name.strip() for name in named.split(",")}
        assert written <= columns
        assert columns - written <= {"id", "created_at"}


def test_a_result_costs_no_more_indexes_than_it_needs(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexname FROM pg_indexes WHERE tablename = 'runs_taskresult'")
        names = {row[0] for row in cursor.fetchall()}
    assert names == {"runs_taskresult_pkey", "result_version_once", "result_live_once"}
