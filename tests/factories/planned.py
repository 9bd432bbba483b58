"""A run as launching leaves it, and as the pipeline finds it: planned, with leased shards, nothing done."""

import hashlib
import json
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now

from accounts.models import User
from kernel import ids
from registry.models import Benchmark, Impl, Subset, Task
from runs.models import Phase, Run, Shard

ECHO = """
from bench_task import BenchTask

class Task(BenchTask):
    def solve(self, index, input):
        return input
    def score(self, index, output, expected):
        return 1.0 if output == expected else 0.0
"""


def subset(owner: User, rows: list[dict[str, Any]]) -> Subset:
    benchmark = Benchmark.objects.create(id=ids.prefixed_uuid("bm"), owner=owner, name="Sums")
    made = Subset.objects.create(
        id=ids.prefixed_uuid("sub"), benchmark=benchmark, slug="all", name="All", task_count=len(rows)
    )
    Task.objects.bulk_create(
        Task(
            subset=made, position=position, task_id=row["task_id"], folded_id=row["task_id"].casefold(),
            row=json.dumps(row),
        )
        for position, row in enumerate(rows)
    )  # fmt: skip
    return made


def impl(on: Subset, code: str = ECHO, **fields: Any) -> Impl:
    sha256 = hashlib.sha256(code.encode()).hexdigest()
    return Impl.objects.create(id=f"imp_{sha256[:20]}{ids.ulid()}", subset=on, code=code, code_sha256=sha256, **fields)


def sums(count: int) -> list[dict[str, Any]]:
    return [{"task_id": f"q{n:05d}", "input": f"{n} + 1", "expected": str(n + 1)} for n in range(count)]


def run(
    owner: User,
    rows: list[dict[str, Any]] | None = None,
    *,
    code: str = ECHO,
    impl_fields: dict[str, Any] | None = None,
    **fields: Any,
) -> Run:
    """A queued run over ``rows``; ``fields`` of Run override."""
    rows = sums(4) if rows is None else rows
    on = subset(owner, rows)
    trials = fields.get("trials", 1)
    made = Run.objects.create(
        **{
            "owner": owner,
            "mode": "benchmark",
            "benchmark": on.benchmark,
            "subset": on,
            "subset_revision": 1,
            "impl": impl(on, code, **(impl_fields or {})),
            "sut": {"model": "simulated", "provider": "simulated", "base_url": "", "params": {}, "connection": None},
            "sut_key": {"kind": "none"},
            "plan": ["materialize", "report"],
            "task_count": len(rows),
            "planned": len(rows) * trials,
            **fields,
        }
    )
    for position, name in enumerate(made.plan):
        Phase.objects.create(run=made, name=name, position=position)
    return made


def leased(made: Run, *, shards: int = 1, attempt_no: int = 1) -> list[Shard]:
    """The run under way: its first phase cut into equal shards that somebody holds for a minute."""

    Run.objects.filter(id=made.id).update(status="running", started_at=Now())
    Phase.objects.filter(run=made, name="materialize").update(status="running", attempt=1, started_at=Now())
    size = -(-made.task_count // shards)
    return Shard.objects.bulk_create(
        Shard(
            run=made, phase="materialize", number=number, start=number * size,
            stop=min((number + 1) * size, made.task_count), status="leased", attempt_no=attempt_no,
            lease_owner="tester", lease_until=Now() + timedelta(seconds=60),
        )
        for number in range(shards)
    )  # fmt: skip


def replay(of: Run) -> Run:
    """A queued run of the same cells with the same scorer."""
    names = ("owner", "benchmark", "subset", "subset_revision", "impl", "sut", "sut_key", "task_count", "planned")
    made = Run.objects.create(
        mode="replay", relation="replay", parent=of, plan=["materialize", "report"],
        **{name: getattr(of, name) for name in names},
    )  # fmt: skip
    for position, name in enumerate(made.plan):
        Phase.objects.create(run=made, name=name, position=position)
    return made
