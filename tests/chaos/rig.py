"""A run, its workers and its gateway, and somebody who starts again whatever dies."""

import hashlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.db.models import Sum

from runs import states
from runs.artifacts.records import blobs
from runs.compute.watching import tree
from runs.models import Artifact, ModelCall, Output, Run, RunEvent, Shard, TaskResult
from tests.factories.processes import ROOT, GatewayProcess, Model, database_url
from tests.operations.serving import Process, alive, began


class Rig:
    def __init__(self, run: Run, gateway: GatewayProcess, folder: Path) -> None:
        self.run, self.gateway = run, gateway
        self.environment = {
            **os.environ,
            "PYTHONPATH": f"{ROOT}",
            "DATABASE_URL": database_url(),
            "DJANGO_SETTINGS_MODULE": "benchwright_site.settings",
            "BENCHWRIGHT_GATEWAY_SOCKET": str(gateway.socket),
            "BENCHWRIGHT_LEASE_SECONDS": "2",
            "BENCHWRIGHT_RUNTIME_DIR": os.environ.get("BENCHWRIGHT_RUNTIME_DIR", ""),
            "BENCHWRIGHT_BROKER_URL": "memory://",
            "BENCHWRIGHT_ARTIFACTS_DIR": str(settings.ARTIFACTS_DIR),
        }
        self.once = folder / "killed"
        self.deaths: Counter[str] = Counter()
        self.killed = 0  # workers that a test has killed itself
        self.workers: list[subprocess.Popen[bytes]] = []
        self.born: set[Process] = set()  # all that ran in or below a worker

    def worker(self, **more: str) -> subprocess.Popen[bytes]:
        started = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.worker", str(self.run.id)], env={**self.environment, **more}, cwd=ROOT
        )
        self.workers.append(started)
        return started

    def armed(self, point: str, count: int = 1) -> str:
        """A fault that kills once, whatever is started again afterwards."""
        return f"{point}:{count}@{self.once}"

    def status(self) -> str:
        return Run.objects.values_list("status", flat=True).get(id=self.run.id)

    def until_terminal(self, seconds: float = 150.0, **more: str) -> Run:
        """Start again what dies until the run has ended; fails after ``seconds``."""
        until = time.monotonic() + seconds
        while self.status() not in states.TERMINAL:
            assert time.monotonic() < until, f"the run is still {self.status()} after {seconds} s"
            self.look()
            for process in list(self.workers):
                if process.poll() is not None:
                    self.workers.remove(process)
                    if process.returncode:
                        self.deaths["worker"] += 1
                        self.worker(**more)
            if not self.workers:
                self.worker(**more)
            if self.gateway.process is not None and self.gateway.process.poll() is not None:
                self.deaths["gateway"] += 1
                self.gateway.socket.unlink(missing_ok=True)
                self.gateway.start(**({"BENCHWRIGHT_FAULT": more["BENCHWRIGHT_FAULT"]} if more else {}))
            time.sleep(0.05)
        return Run.objects.get(id=self.run.id)

    def look(self) -> None:
        """Remember every process below the workers."""
        for worker in self.workers:
            self.born |= {(pid, start) for pid in tree(worker.pid) if (start := began(pid))}

    def until(self, reached: Callable[[], object], seconds: float = 60.0) -> None:
        until = time.monotonic() + seconds
        while not reached():
            assert time.monotonic() < until, f"not within {seconds} s"
            self.look()
            time.sleep(0.02)

    def count(self, kind: str) -> int:
        """How many events of this type there are by now."""
        return RunEvent.objects.filter(run=self.run, type=kind).count()

    def stop(self) -> None:
        for process in self.workers:
            process.kill()
            process.wait(10)

    def left(self, seconds: float = 10.0) -> list[Process]:
        """Stop the workers; processes below them, dead or alive, that are still there afterwards."""
        self.stop()
        until = time.monotonic() + seconds
        while (left := [process for process in self.born if alive(process)]) and time.monotonic() < until:
            time.sleep(0.05)
        return left


def check(run: Run, model: Model, *, calls_in_doubt: int = 0) -> None:
    """The one invariant checker: nothing lost, nothing twice, and the provider's log is our journal."""
    rows = TaskResult.objects.filter(run=run, live=True)
    assert sorted(rows.values_list("ordinal", flat=True)) == list(range(run.planned)), "each planned cell once"
    tallies = Counter(rows.values_list("outcome", flat=True))
    told = {name: getattr(run, name) for name in ("passed", "failed", "unscored", "errored", "skipped")}
    assert {name: number for name, number in told.items() if number} == dict(tallies), "tallies are what rows say"
    seqs = list(RunEvent.objects.filter(run=run).order_by("seq").values_list("seq", flat=True))
    assert seqs == list(range(1, run.last_seq + 1)), "events have no gap"
    ended = Counter(
        RunEvent.objects.filter(run=run, type="MaterializeTaskResult").values_list("data__ordinal", flat=True)
    )
    assert max(ended.values(), default=1) == 1, "one result event a cell"
    terminal = RunEvent.objects.filter(run=run, type__in=("RunCompleted", "RunHalted", "RunFailed"))
    assert terminal.count() == 1
    assert not Shard.objects.filter(run=run).exclude(status="done").exists()
    assert Output.objects.filter(run=run, fault__isnull=True).count() >= run.passed + run.failed
    for kept in Artifact.objects.filter(run=run):
        held = blobs().read(kept.blob, kept.start, kept.size)
        assert hashlib.sha256(held).hexdigest() == kept.sha256, f"{kept.name} is what its row says"
    calls = ModelCall.objects.filter(run=run)
    spent = calls.aggregate(tokens_in=Sum("tokens_in"), tokens_out=Sum("tokens_out"), cost=Sum("cost"))
    run.refresh_from_db()
    told = {"tokens_in": run.tokens_in, "tokens_out": run.tokens_out, "cost": run.cost_model}
    assert told == {name: total or 0 for name, total in spent.items()}, "every call is counted once"
    settled = calls.filter(status="settled").count()
    assert settled <= model.calls <= settled + calls_in_doubt, "no second call for a settled one"
