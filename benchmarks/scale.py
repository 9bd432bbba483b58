"""What a large installation would need: inputs measured on a real database, then counted up to 100 workers, 10⁸ rows.

    python -m benchmarks.scale [--cells 20000] [--workers 100] [--rows 1e8] [--table]

With DATABASE_URL set, that PostgreSQL is measured instead of an embedded one. `--table` adds the tables of
docs/howto/scale-out.md in Markdown.
"""

import argparse
import asyncio
import itertools
import json
import statistics
import time
from dataclasses import dataclass

from benchmarks import own

if __name__ == "__main__":
    own.enter("benchmarks.scale")

import psycopg
from django.db import connection

from benchmarks import rows, scale_table
from kernel.database import conninfo
from registry.models import Impl
from runs import hot
from runs.call_bodies import pack
from runs.doorbell import CHANNEL
from runs.models import ModelCall, Run

TABLES = {
    "result": "runs_taskresult",
    "output": "runs_output",
    "event": "runs_runevent",
    "call": "runs_modelcall",
}
BATCHES = (1, 10, 50, 250)  # cells
ANSWER = "Let me think about it step by step. " * 8  # 290 characters, as of a short-answer benchmark
FACTS = {"calls": 1, "reused": 0, "tokens_in": 210, "tokens_out": 64, "cost": 4200, "unpriced": 0, "model_ms": 900}


def batch(first: int, count: int) -> hot.Batch:
    """What a worker writes for ``count`` cells: each has an output, a result and two events."""
    made = hot.Batch()
    for at in range(first, first + count):
        label = {"task_id": f"task-{at}", "ordinal": at, "trial": 0, "attempt": 1}
        made.events.append(hot.EventRow(at // 100, "MaterializeTaskStarted", label))
        made.outputs.append(hot.OutputRow(at // 100, at, 1, json.dumps(ANSWER), None, FACTS, 950))
        made.results.append(
            hot.ResultRow(
                at // 100,
                at,
                at,
                f"task-{at}",
                "",
                0,
                1,
                "passed",
                1.0,
                None,
                None,
                ANSWER[:200],
                None,
                None,
                950,
                FACTS,
            )
        )
    return made


@dataclass
class Filler:
    """A run that is written to by ``writers`` workers at once, each with a connection of its own."""

    run: Run
    cells: int
    next: "itertools.count[int]"

    @classmethod
    def of(cls, impl: Impl, cells: int) -> "Filler":
        made = rows.run(impl, cells)
        rows.shards(made, cells)
        return cls(made, cells, itertools.count())

    async def write(self, size: int, batches: int, took: list[float]) -> float:
        """Writes; the CPU seconds that the database's process (on this machine) spent on it."""
        link = await psycopg.AsyncConnection.connect(conninfo(), autocommit=True)
        async with link:
            pid = link.info.backend_pid
            before = own.cpu_seconds(pid)
            for _ in range(batches):
                first = next(self.next) * size
                made, fences = batch(first, size), {at // 100: 1 for at in range(first, first + size)}
                began = time.perf_counter()
                assert await hot.flush(link, str(self.run.id), "materialize", fences, made)
                took.append((time.perf_counter() - began) * 1000)
            return own.cpu_seconds(pid) - before


def one_writer(impl: Impl, size: int, cells: int) -> dict[str, float]:
    batches, took = max(40, cells // size), []
    filler = Filler.of(impl, batches * size)
    cpu = asyncio.run(filler.write(size, batches, took))
    middle = statistics.median(took)
    return {
        "ms": round(middle, 2),
        "backend_cpu_ms": round(cpu * 1000 / batches, 3),
        "cells_per_s": round(size * 1000 / statistics.mean(took)),
    }


def several(impl: Impl, runs: int, writers: int, size: int, batches: int) -> int:
    """Cells a second of ``writers`` workers at work on ``runs`` runs."""
    fillers = [Filler.of(impl, writers * batches * size) for _ in range(runs)]

    async def go() -> float:
        began = time.perf_counter()
        await asyncio.gather(*(fillers[n % runs].write(size, batches, []) for n in range(writers)))
        return time.perf_counter() - began

    return round(writers * batches * size / asyncio.run(go()))


def query(text: str, *parameters: object) -> tuple[object, ...]:
    with connection.cursor() as cursor:
        cursor.execute(text, parameters)
        return cursor.fetchone()


def sizes(impl: Impl, cells: int) -> dict[str, object]:
    """Bytes a row by table, bytes of WAL a cell and CPU a journal row, of a database where this is the only run."""
    before = query("SELECT pg_current_wal_lsn()")[0]
    filler = Filler.of(impl, cells)
    asyncio.run(filler.write(50, cells // 50, []))
    call_ms = calls(filler.run, cells)
    wal = query("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), %s)", before)[0]
    rows.settle()
    found = {}
    for name, table in TABLES.items():
        count, heap, index = query(
            f"SELECT count(*), pg_table_size('{table}'), pg_indexes_size('{table}') FROM {table}"
        )
        found[name] = {"heap": round(heap / count), "index": round(index / count)}
    return {"bytes": found, "wal_bytes": round(wal / cells), "call_backend_ms": round(call_ms, 3)}


def calls(run: Run, cells: int) -> float:
    """A settled call for each cell; the milliseconds of CPU that one cost the database."""
    asked = {"model": "mock-model", "messages": [{"role": "user", "content": "q" * 600}]}
    answered = {"id": "x" * 40, "choices": [{"message": {"role": "assistant", "content": ANSWER}}]}
    body = {"request": pack(json.dumps(asked).encode()), "response": pack(json.dumps(answered).encode())}
    pid = query("SELECT pg_backend_pid()")[0]
    before = own.cpu_seconds(pid)
    ModelCall.objects.bulk_create(
        (
            ModelCall(run=run, ordinal=at, attempt=1, request_hash=f"{at:064x}", occurrence=0, status="settled",
                      http_status=200, model_served="mock-model", finish_reason="stop", tokens_in=210, tokens_out=64,
                      cost=4200, priced_by="table", **body)
            for at in range(cells)
        ),
        batch_size=100,
    )  # fmt: skip
    return (own.cpu_seconds(pid) - before) * 1000 / cells


def notifications(listeners: int = 4, rounds: int = 200, runs: int = 100) -> int:
    """Notifications a second that one bell delivers while web processes listen."""

    async def go() -> float:
        ears = [await psycopg.AsyncConnection.connect(conninfo(), autocommit=True) for _ in range(listeners)]
        for ear in ears:
            await ear.execute(f"LISTEN {CHANNEL}")

        async def hear(ear: psycopg.AsyncConnection) -> None:
            heard = 0
            async for _ in ear.notifies():
                heard += 1
                if heard == rounds * runs:
                    return

        hearing = [asyncio.create_task(hear(ear)) for ear in ears]
        bell = await psycopg.AsyncConnection.connect(conninfo(), autocommit=True)
        began = time.perf_counter()
        for number in range(rounds):
            due = [f"{number:08d}-{run:04d}" for run in range(runs)]
            await bell.execute("SELECT pg_notify(%s, run) FROM unnest(%s::text[]) AS run", (CHANNEL, due))
        await asyncio.gather(*hearing)
        took = time.perf_counter() - began
        for one in (*ears, bell):
            await one.close()
        return took

    return round(rounds * runs / asyncio.run(go()))


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--cells", type=int, default=20_000)
    ap.add_argument("--workers", type=int, default=100)
    ap.add_argument("--rows", type=float, default=1e8)
    ap.add_argument("--table", action="store_true")
    args = ap.parse_args()
    user, _ = rows.owner()
    impl = rows.impl(user)
    measured = {
        **sizes(impl, args.cells),
        "batch": {str(count): one_writer(impl, count, min(args.cells // 4, count * 100)) for count in BATCHES},
        "one_run_cells_per_s": several(impl, 1, 4, 50, 40),
        "four_runs_cells_per_s": several(impl, 4, 4, 50, 40),
        "notifications_per_s": notifications(),
        "postgres": query("SHOW server_version")[0],
    }
    own.report("scale", **measured)
    if args.table:
        print(scale_table.text(measured, args.workers, int(args.rows)))


if __name__ == "__main__":
    main()
