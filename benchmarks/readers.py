"""How soon a committed result reaches everybody who watches the run live, and what a thousand idle watchers weigh.

    python -m benchmarks.readers [--readers 200] [--results 20] [--seconds 10] [--idle 1000]

Targets: from the commit of a result until a reader has it ≤ 300 ms at p95 over all readers and results; 1,000 idle
readers ≤ 200 MB above what the web process has without any. Results are written by the hot path's own statement,
batches of ``--results`` a second twice a second, and told by the doorbell, as a worker does. The readers are sockets of
one process beside the web part.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time

from benchmarks import own

if __name__ == "__main__":
    own.enter("benchmarks.readers")

import psycopg

from benchmarks import rows
from benchmarks.watching import connect
from benchwright_site.serve.postgres import leashed
from kernel.database import conninfo
from runs import hot
from runs.doorbell import Bell
from runs.models import Run

BATCHES_A_SECOND = 2


def batch(first: int, count: int) -> hot.Batch:
    made = hot.Batch()
    facts = {"calls": 1, "reused": 0, "tokens_in": 210, "tokens_out": 64, "cost": 4200, "unpriced": 0}
    for at in range(first, first + count):
        shard, text = at // 100, f"The answer to question {at} is {at * 7}"
        made.outputs.append(hot.OutputRow(shard, at, 1, f'"{text}"', None, facts, 950))
        made.results.append(
            hot.ResultRow(
                shard, at, at, f"task-{at}", "", 0, 1, "passed", 1.0, None, None, text, None, None, 950, facts
            )
        )
    return made


async def write(run: Run, results_a_second: int, seconds: float) -> dict[int, float]:
    """{seq of a result's event: when it was committed}."""
    size, committed, bell = max(1, results_a_second // BATCHES_A_SECOND), {}, Bell(conninfo())
    fences = {shard: 1 for shard in range(-(-run.planned // 100))}
    connection = await psycopg.AsyncConnection.connect(conninfo(), autocommit=True)
    try:
        for number in range(int(seconds * BATCHES_A_SECOND)):
            began = time.monotonic()
            held = await hot.flush(connection, str(run.id), "materialize", fences, batch(number * size, size))
            now = time.monotonic()
            assert held, "the batch was refused"
            bell.ring(run.id)
            committed.update({number * size + at: now for at in range(1, size + 1)})
            await asyncio.sleep(max(0.0, 1 / BATCHES_A_SECOND - (time.monotonic() - began)))
    finally:
        await connection.close()
        bell.close()
    return committed


def live(web: own.Web, run: Run, token: str, args: argparse.Namespace) -> dict[str, object]:
    environment = {**os.environ, "BENCHWRIGHT_BENCHMARK_TOKEN": token}
    words = [sys.executable, "-m", "benchmarks.watching", str(web.port), str(run.id), str(args.readers)]
    readers = subprocess.Popen(
        leashed(words), env=environment, cwd=own.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert readers.stdout
    assert readers.stdout.readline() == b"ready\n", "the readers did not get in"
    before = own.cpu_seconds(web.pid)
    committed = asyncio.run(write(run, args.results, args.seconds))
    time.sleep(1.5)
    cpu = own.cpu_seconds(web.pid) - before
    said, _ = readers.communicate(timeout=60)
    arrivals = {int(seq): had for seq, had in json.loads(said).items()}
    late = [(at - committed[seq]) * 1000 for seq in committed for at in arrivals.get(seq, [])]
    assert len(late) == len(committed) * args.readers, "every reader has every result once"
    return {
        "readers": args.readers,
        "results": len(committed),
        "p50_ms": round(own.percentile(late, 0.5), 1),
        "p95_ms": round(own.percentile(late, 0.95), 1),
        "worst_ms": round(max(late), 1),
        "web_cpu_share": round(cpu / (args.seconds + 1.5), 3),
    }


async def idle(web: own.Web, run: Run, token: str, count: int) -> dict[str, object]:
    before = own.resident_mb(web.pid)
    watchers = await connect(web.port, run.id, token, count, {})
    await asyncio.sleep(3)
    after = own.resident_mb(web.pid)
    used = own.cpu_seconds(web.pid)
    await asyncio.sleep(5)
    share = (own.cpu_seconds(web.pid) - used) / 5
    for watcher in watchers:
        watcher.transport.abort()
    return {
        "idle": count,
        "idle_mb": round(after - before, 1),
        "idle_kb_each": round((after - before) * 1024 / count, 1),
        "web_mb_before": round(before, 1),
        "idle_cpu_share": round(share, 3),
    }


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--readers", type=int, default=200)
    ap.add_argument("--results", type=int, default=20, help="a second")
    ap.add_argument("--seconds", type=float, default=10)
    ap.add_argument("--idle", type=int, default=1000)
    args = ap.parse_args()
    user, token = rows.owner()
    on, cells = rows.impl(user), int(args.results * args.seconds) + 100
    watched, quiet = rows.run(on, cells), rows.run(on, 10)
    rows.shards(watched, cells)
    with own.web() as web:
        asyncio.run(idle(web, quiet, token, 20))  # what the first readers load is not theirs
        weight = asyncio.run(idle(web, quiet, token, args.idle)) if args.idle else {}
        found = live(web, watched, token, args) if args.readers else {}
    met = bool(found.get("p95_ms", 0) <= 300 and weight.get("idle_mb", 0) <= 200)
    own.report("readers", **found, **weight, met=met)


if __name__ == "__main__":
    main()
