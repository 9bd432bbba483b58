"""Rows of runs as the product leaves them, many at a time. Import only inside an installation (benchmarks.own)."""

from contextlib import suppress
from typing import Any

from django.db import ProgrammingError, connection
from django.db.models.functions import Now

from accounts.models import User
from accounts.principal import BrowserSession
from accounts.tokens import mint
from kernel import ids
from registry.models import Benchmark, Impl, ImplRegistration, Subset
from runs.models import Phase, Run, Shard

SCOPES = ["runs:read", "artifacts:read"]

_RESULTS = """
INSERT INTO runs_taskresult (id, run_id, ordinal, position, task_id, kind, trial, attempt, version, live, outcome,
    score, output_preview, duration_ms, model_ms, tokens_in, tokens_out, cost, calls, reused)
SELECT 'tsk_' || lpad((%(first)s + n)::text, 26, '0'), %(run)s, n, n, 'task-' || n, '', 0, 1, 1, true,
    (ARRAY['passed', 'failed', 'passed', 'passed'])[n %% 4 + 1], (ARRAY[1, 0, 1, 1])[n %% 4 + 1],
    'The answer to question ' || n || ' is ' || n * 7, 900 + n %% 700, 850 + n %% 700, 210, 64, 4200, 1, false
FROM generate_series(0, %(count)s - 1) AS n
"""


def owner() -> tuple[User, str]:
    """An account and a token of it."""
    user = User.objects.create_user("bench@example.org", "correct horse battery", name="Bench")
    return user, mint(BrowserSession(user), "bench", SCOPES)[1]


def impl(user: User) -> Impl:
    benchmark = Benchmark.objects.create(id=ids.prefixed_uuid("bm"), owner=user, name="Sums")
    subset = Subset.objects.create(id=ids.prefixed_uuid("sub"), benchmark=benchmark, slug="all", name="All")
    made = Impl.objects.create(id=f"imp_{ids.ulid()}", subset=subset, code="class Task: ...", code_sha256="0" * 64)
    ImplRegistration.objects.create(impl=made, owner=user, label="exact")
    return made


def run(on: Impl, planned: int, **fields: Any) -> Run:
    made = Run.objects.create(
        owner=on.subset.benchmark.owner,
        mode="benchmark",
        benchmark=on.subset.benchmark,
        subset=on.subset,
        subset_revision=1,
        impl=on,
        sut={"model": "mock-model", "provider": "vllm", "base_url": "", "params": {}, "connection": None},
        sut_key={"kind": "none"},
        plan=["materialize", "report"],
        task_count=planned,
        planned=planned,
        **{"status": "running", "started_at": Now(), **fields},
    )
    Phase.objects.bulk_create(
        Phase(run=made, name=name, position=position, status="running" if position == 0 else "pending")
        for position, name in enumerate(made.plan)
    )
    return made


def results(of: Run, count: int, first: int = 0) -> None:
    """``count`` ended cells, and the tallies that go with them."""
    with connection.cursor() as cursor:
        cursor.execute(_RESULTS, {"run": of.id, "count": count, "first": first})
        cursor.execute(
            "UPDATE runs_run SET (passed, failed) = (SELECT count(*) FILTER (WHERE outcome = 'passed'),"
            " count(*) FILTER (WHERE outcome = 'failed') FROM runs_taskresult WHERE run_id = %(run)s)"
            " WHERE id = %(run)s",
            {"run": of.id},
        )


def shards(of: Run, cells: int, size: int = 100) -> None:
    """The run's first phase cut into shards that somebody holds."""
    Shard.objects.bulk_create(
        Shard(run=of, phase="materialize", number=number, start=start, stop=min(start + size, cells), status="leased",
              attempt_no=1, lease_owner="bench")
        for number, start in enumerate(range(0, cells, size))
    )  # fmt: skip


def settle() -> None:
    """What autovacuum would have done by the time anybody reads."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")
        with suppress(ProgrammingError):  # not every role may
            cursor.execute("CHECKPOINT")
