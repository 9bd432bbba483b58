"""What a finished run of 100,000 tasks comes to, and what that takes: report, remedies, audit, narration, a rescore.

    python -m benchmarks.reports [--cells 100000] [--kind exact]

Reads go to the real web part; each has the time of the answer and the most memory that the web process has held while
it was made. The first report makes it, the others read what is kept. The rescore takes all stored outputs over and
scores them in this process and its sandboxes, as a worker does; its rate is of cells a second, takeover included.
"""

import argparse
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks import own

if __name__ == "__main__":
    own.enter("benchmarks.reports")

from django.db import connection

from accounts.models import User
from accounts.principal import BrowserSession, Principal
from accounts.tokens import mint
from benchmarks import processes, rows
from benchmarks.reads import Client
from kernel import ids
from kernel.database import conninfo
from registry.graders import compile_grader, validate_grader
from registry.models import Impl, ImplRegistration
from runs import finishing, pipeline
from runs.doorbell import Bell
from runs.forking import making
from runs.models import Phase, Run
from runs.schemas import ForkBody

GRADERS: dict[str, dict[str, Any]] = {
    "exact": {"kind": "exact"},
    "regex": {"kind": "regex", "pattern": "^{{expected}}$"},
    "numeric": {"kind": "numeric"},
}
RESCORED = {"kind": "contains"}
# Of ten cells six pass, two are wrong (one only for its form), one was cut off, one is a fault of scorer or provider.
_TASKS = """
INSERT INTO registry_task (subset_id, position, revision, task_id, folded_id, digest, row)
SELECT %(subset)s, n, 1, 'task-' || n, 'task-' || n, md5(n::text) || md5(n::text),
    json_build_object('task_id', 'task-' || n, 'input', json_build_object('question', 'What is ' || n || ' times 7? '
        || repeat('Think before you answer. ', 12)), 'expected', (n * 7)::text)::text
FROM generate_series(0, %(count)s - 1) AS n
"""
_RESULTS = """
INSERT INTO runs_taskresult (id, run_id, ordinal, position, task_id, kind, trial, attempt, version, live, outcome,
    score, error_class, error_message, output_preview, duration_ms, model_ms, tokens_in, tokens_out, cost, calls,
    reused, stop_reason)
SELECT 'tsk_' || lpad(n::text, 26, '0'), %(run)s, n, n, 'task-' || n, 'kind-' || n %% 5, 0, 1, 1, true,
    (ARRAY['passed', 'passed', 'passed', 'passed', 'passed', 'passed', 'failed', 'failed', 'failed',
           CASE WHEN n %% 20 = 9 THEN 'unscored' ELSE 'errored' END])[n %% 10 + 1],
    CASE WHEN n %% 10 < 6 THEN 1 WHEN n %% 10 < 9 THEN 0 END,
    CASE n %% 10 WHEN 6 THEN 'wrong' WHEN 7 THEN 'format_miss' WHEN 8 THEN 'truncated'
        WHEN 9 THEN CASE WHEN n %% 20 = 9 THEN 'scorer_exception' ELSE 'rate_limited' END END,
    CASE n %% 10 WHEN 9 THEN 'It said so for cell ' || n || ': ' || repeat('too many requests ', 8) END,
    'The answer to question ' || n, 300 + (n * 7919) %% 9000, 250 + (n * 7919) %% 8000, 210, 64, 4200,
    1, false, CASE n %% 10 WHEN 8 THEN 'length' ELSE 'stop' END
FROM generate_series(0, %(count)s - 1) AS n
"""
_OUTPUTS = """
INSERT INTO runs_output (run_id, ordinal, attempt, output, fault, facts, duration_ms)
SELECT %(run)s, n, 1, to_json(CASE n %% 10 WHEN 6 THEN (n * 7 + 1)::text
        WHEN 7 THEN repeat('First we look at it. ', 30) || 'It is ' || n * 7 || '.'
        WHEN 8 THEN '<think>' || repeat('well, if we ', 60) ELSE (n * 7)::text END)::text, NULL, '{}', 900
FROM generate_series(0, %(count)s - 1) AS n WHERE n %% 20 <> 19
"""
_CALLS = """
INSERT INTO runs_modelcall (run_id, ordinal, attempt, request_hash, occurrence, status, http_status, request, response,
    streamed, model_served, upstream, finish_reason, tokens_in, tokens_out, tokens_reasoning, tokens_cached, cost,
    priced_by, usage_estimated, tries, waited_ms, latency_ms)
SELECT %(run)s, n, 1, md5(n::text) || md5(n::text), 0, 'settled', 200, convert_to('{"max_tokens": 512}', 'UTF8'),
    convert_to('{"choices": [{"message": {"content": "' || n || '"}}]}', 'UTF8'), false, 'mock-model', NULL,
    CASE n %% 10 WHEN 8 THEN 'length' ELSE 'stop' END, 210, 64, CASE n %% 10 WHEN 8 THEN 64 ELSE 0 END, 0, 4200,
    'table', false, 1, 0, 900
FROM generate_series(0, %(count)s - 1) AS n
"""
_TALLIES = """
UPDATE runs_run SET (passed, failed, unscored, errored) = (
    SELECT count(*) FILTER (WHERE outcome = 'passed'), count(*) FILTER (WHERE outcome = 'failed'),
        count(*) FILTER (WHERE outcome = 'unscored'), count(*) FILTER (WHERE outcome = 'errored')
    FROM runs_taskresult WHERE run_id = %(run)s) WHERE id = %(run)s
"""


def scorer(like: Impl, grader: dict[str, Any]) -> Impl:
    """Another scorer of the same subset, compiled from a grader."""
    full = validate_grader(grader)
    made = Impl.objects.create(
        id=f"imp_{ids.ulid()}", subset=like.subset, code=compile_grader(full), code_sha256=ids.ulid().ljust(64, "0"),
        grader=full,
    )  # fmt: skip
    ImplRegistration.objects.create(impl=made, owner=like.subset.benchmark.owner, label=full["kind"])
    return made


def finished(on: Impl, cells: int) -> Run:
    """A run whose every cell has ended, and its phases."""
    made = rows.run(on, cells, cost_model=cells * 4200, tokens_in=cells * 210, tokens_out=cells * 64)
    params = {"run": made.id, "subset": on.subset_id, "count": cells}
    with connection.cursor() as cursor:
        for text in (_TASKS, _RESULTS, _OUTPUTS, _CALLS, _TALLIES):
            cursor.execute(text, params)
    on.subset.task_count = cells
    on.subset.save(update_fields=["task_count"])
    Phase.objects.filter(run=made).update(status="completed")
    rows.settle()
    finishing.complete(Run.objects.get(id=made.id))
    return Run.objects.get(id=made.id)


def peak_mb(pid: int) -> float:
    """The most memory that a process has held since ``forgotten``."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def forgotten(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def read(web: own.Web, client: Client, path: str) -> dict[str, float]:
    before = own.resident_mb(web.pid)
    forgotten(web.pid)
    took, body = client.get(path)
    return {
        "s": round(took / 1000, 2),
        "kB": round(len(body) / 1000, 1),
        "peak_mb": round(peak_mb(web.pid)),
        "above_mb": round(peak_mb(web.pid) - before, 1),
    }


def rescored(user: User, parent: Run, by: Impl) -> dict[str, Any]:
    """A fork that grades every stored output anew, from its launch to its end."""
    body = ForkBody.model_validate({"impl": by.id, "mode": "rescore"})
    made = making.fork(Principal(user, frozenset({"runs:write"}), ""), str(parent.id), body)
    watch = processes.Watch(_self())
    thread = threading.Thread(target=watch.run)
    thread.start()
    bell, began = Bell(conninfo()), time.perf_counter()
    pipeline.advance(made.id, pipeline.Worker("bench", bell, threading.Event()))
    took = time.perf_counter() - began
    watch.over.set()
    thread.join()
    bell.close()
    made.refresh_from_db()
    return {
        "status": made.status,
        "s": round(took, 1),
        "cells_a_second": round(made.planned / took),
        "passed": made.passed,
        "errored": made.errored,
        "peak_mb": {name: round(size) for name, size in watch.peak.items()},
        "id": made.id,
    }


def _self() -> int:
    return int(Path("/proc/self").resolve().name)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--cells", type=int, default=100_000)
    ap.add_argument("--kind", choices=sorted(GRADERS), default="exact")
    args = ap.parse_args()
    user, _ = rows.owner()
    token = mint(BrowserSession(user), "reports", ["runs:read", "artifacts:read"])[1]
    on = scorer(rows.impl(user), GRADERS[args.kind])
    run = finished(on, args.cells)
    reads = {
        "report html, made": "/report?format=html",
        "report html": "/report?format=html",
        "report markdown": "/report?format=markdown",
        "report json": "/report?format=json",
        "remedies": "/remedies",
        "audit": "/audit",
        **{f"narrate {part}": f"/narrate?slice={part}" for part in ("recent", "failures", "all")},
    }
    found: dict[str, Any] = {"cells": args.cells, "grader": args.kind}
    with own.web() as web:
        client = Client(web.port, token)
        client.get("/v1/runs?limit=1")  # what the first request loads is not the report's
        for name, path in reads.items():
            found[name] = read(web, client, f"/v1/runs/{run.id}{path}")
    found["rescore"] = rescored(user, run, scorer(on, RESCORED))
    fork = found["rescore"].pop("id")
    with own.web() as web:
        client = Client(web.port, token)
        client.get("/v1/runs?limit=1")
        found["report of the rescore"] = read(web, client, f"/v1/runs/{fork}/report?format=html")
        found["flips of the rescore"] = read(web, client, f"/v1/runs/{fork}/flips?limit=100")
    own.report("reports", **found)


if __name__ == "__main__":
    main()
