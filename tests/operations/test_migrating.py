"""A database that is in use and filled is migrated forward and back."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from accounts.models import User
from kernel import ids
from registry.models import Benchmark, Impl, Subset
from runs.models import Run
from tests.factories import launched

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
FIRST = [("registry", "0001_initial"), ("runs", "0001_initial")]
BENCHMARKS, EACH = 200, 20
LONGEST_LOCK = "3s"


@pytest.fixture
def migrated() -> Iterator[None]:
    yield
    call_command("migrate", verbosity=0)


def columns(run: Run) -> dict[str, Any]:
    return {field.attname: getattr(run, field.attname) for field in Run._meta.concrete_fields if field.attname != "id"}


def fill(owner: User) -> None:
    """Benchmarks with many subsets and scorers; a public run on the first of each, and a private one on the second."""
    fields = columns(launched.ended(owner, ["passed"]))
    marks = Benchmark.objects.bulk_create(
        Benchmark(id=ids.prefixed_uuid("bm"), owner=owner, name=f"B{n}", visibility="public") for n in range(BENCHMARKS)
    )
    subsets = Subset.objects.bulk_create(
        Subset(id=f"sub_{mark.id}_{n}", benchmark=mark, slug=f"s{n}") for mark in marks for n in range(EACH)
    )
    impls = Impl.objects.bulk_create(
        Impl(id=f"imp_{one.id}", subset=one, code="x" * 2000, code_sha256="0" * 64) for one in subsets
    )
    Run.objects.bulk_create(
        Run(**{**fields, "benchmark_id": one.subset.benchmark_id, "subset_id": one.subset_id, "impl_id": one.id,
               "visibility": "public" if one.subset.slug == "s0" else "private"})
        for one in impls if one.subset.slug in ("s0", "s1")
    )  # fmt: skip


class Worker(threading.Thread):
    """Inserts as the code of the first migration does, until it is told to stop. No statement may wait for long."""

    def __init__(self, model: Any, make: Callable[[int], dict[str, Any]]) -> None:
        super().__init__()
        self.model, self.make = model, make
        self.stop, self.kept, self.fault = threading.Event(), list[str](), ""

    def run(self) -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SET lock_timeout = '{LONGEST_LOCK}'")
            while not self.stop.is_set():
                self.kept.append(self.model.objects.create(**self.make(len(self.kept))).pk)
        except Exception as fault:
            self.fault = repr(fault)
        finally:
            connections.close_all()


def workers(owner: User) -> list[Worker]:
    old = MigrationExecutor(connection).loader.project_state(FIRST).apps
    mark = Benchmark.objects.create(id="bm_in_use", owner=owner, name="In use")
    one = launched.subset(mark)
    fields = columns(launched.ended(owner, ["passed"]))
    return [
        Worker(old.get_model("registry", "Subset"),
               lambda n: {"id": f"sub_w{n}", "benchmark_id": mark.id, "slug": f"w{n}"}),
        Worker(old.get_model("registry", "Impl"),
               lambda n: {"id": f"imp_w{n}", "subset_id": one.id, "code": "", "code_sha256": "0" * 64}),
        Worker(old.get_model("runs", "Run"), lambda n: fields),
    ]  # fmt: skip


def go(to: list[tuple[str, str]]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{LONGEST_LOCK}'")
    try:
        executor = MigrationExecutor(connection)
        executor.migrate(to)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")


def newest() -> list[tuple[str, str]]:
    return [node for node in MigrationExecutor(connection).loader.graph.leaf_nodes() if node[0] in ("registry", "runs")]


def test_m06_old_workers_go_on_while_it_migrates_back_and_forward(alice: User, migrated: None) -> None:
    fill(alice)
    started = workers(alice)
    for worker in started:
        worker.start()
    counted = []
    for to in (FIRST, newest(), FIRST, newest()):
        go(to)
        counted.append([len(worker.kept) for worker in started])
        threading.Event().wait(0.3)
    for worker in started:
        worker.stop.set()
        worker.join()
    assert [worker.fault for worker in started] == ["", "", ""]
    assert all(before < after for before, after in zip(counted[0], counted[-1], strict=True)), "they were at work"
    for worker in started:
        assert set(worker.kept) <= set(worker.model.objects.values_list("pk", flat=True)), "no acknowledged row is lost"
    assert {("registry", "0002_derived_visibility"), ("runs", "0002_derive_visibility")} <= set(
        MigrationRecorder(connection).applied_migrations()
    )
    assert set(Subset.objects.filter(visibility="public").values_list("slug", flat=True)) == {"s0"}
    assert Subset.objects.filter(visibility="public").count() == BENCHMARKS
    assert Impl.objects.filter(visibility="public", subset__slug="s0").count() == BENCHMARKS
    assert Impl.objects.filter(visibility="public").count() == BENCHMARKS
