"""Wake-ups that come three times, shuffled, or not at all: the database is the queue, so nothing changes."""

import queue
import random
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.db import close_old_connections, connections

from accounts.models import User
from kernel import jobs
from kernel.database import conninfo
from runs import pipeline, states, sweeping
from runs.doorbell import Bell
from runs.halting import request_halt
from runs.models import Run, RunEvent
from tests.chaos.rig import check
from tests.factories import planned
from tests.factories.processes import GatewayProcess, Model, launch
from tests.twins.openai_twin import Fault

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
COPIES, DROPPED, WORKERS = 3, 0.1, 3


class Post:
    """A broker that delivers what it is given three times, in any order, and loses a tenth of it."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self.due: queue.PriorityQueue[tuple[float, str]] = queue.PriorityQueue()
        self.over = threading.Event()
        self.sent = self.dropped = 0

    def send(self, name: str, ids: tuple[str, ...]) -> None:
        assert name == "runs.advance"
        with self._lock:
            for _ in range(COPIES):
                self.sent += 1
                if self._random.random() < DROPPED:
                    self.dropped += 1
                else:
                    self.due.put((time.monotonic() + self._random.uniform(0, 1.5), ids[0]))

    def work(self, number: int, bell: Bell) -> None:
        """One worker: takes the message that is due first."""
        while not self.over.is_set():
            try:
                moment, run_id = self.due.get(timeout=0.1)
            except queue.Empty:
                continue
            if moment > time.monotonic():
                self.due.put((moment, run_id))
                time.sleep(0.01)
                continue
            pipeline.advance(run_id, pipeline.Worker(f"worker:{number}", bell))
            close_old_connections()
        connections.close_all()

    def sweep(self) -> None:
        while not self.over.wait(0.3):
            sweeping.sweep()
        connections.close_all()


@pytest.fixture
def posted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Post]]:
    monkeypatch.setattr(settings, "SWEEP_SECONDS", 0.5)
    monkeypatch.setattr(settings, "LEASE_SECONDS", 2.0)
    bell, threads, posts = Bell(conninfo()), [], []

    def make(seed: int) -> Post:
        post = Post(seed)
        posts.append(post)
        monkeypatch.setattr(jobs, "_send", post.send)
        threads.append(threading.Thread(target=post.sweep))
        threads.extend(threading.Thread(target=post.work, args=[number, bell]) for number in range(WORKERS))
        for thread in threads:
            thread.start()
        return post

    yield make
    for post in posts:
        post.over.set()
    for thread in threads:
        thread.join(30)
    bell.close()


@pytest.mark.parametrize(
    ("seed", "runs"), [(1, 4), *(pytest.param(seed, 10, marks=pytest.mark.chaos) for seed in (2, 3))]
)
def test_d09_messages_that_come_thrice_shuffled_or_not_at_all_change_nothing(
    alice: User, gateway: GatewayProcess, posted: Callable[[int], Post], seed: int, runs: int
) -> None:
    models = [Model() for _ in range(runs)]
    for model in models:
        model.start()
    post = posted(seed)
    try:
        made = [launch(alice, model, rows=planned.sums(8)) for model in models]
        for run in made:
            post.send("runs.advance", (str(run.id),))
        request_halt(made[-1].id, "user")
        until = time.monotonic() + 60 + 5 * runs
        while Run.objects.exclude(status__in=states.TERMINAL).exists():
            assert time.monotonic() < until, list(Run.objects.values_list("status", "last_seq"))
            time.sleep(0.1)
    finally:
        post.over.set()
        for model in models:
            model.stop()
    for run, model in zip(Run.objects.order_by("created_at"), models, strict=True):
        if run.id == made[-1].id:
            assert (run.status, run.passed + run.skipped) == ("halted", 8)
        else:
            assert (run.status, run.passed) == ("ok", 8)
        check(run, model, calls_in_doubt=8 * (run.status == "halted"))
    assert post.sent >= COPIES * runs


def test_d12_a_message_that_comes_again_while_its_phase_goes_on_changes_nothing(
    alice: User, gateway: GatewayProcess, posted: Callable[[int], Post]
) -> None:
    """As from a broker that hides a message for less long than the phase takes."""
    model = Model()
    model.start()
    model.rule = lambda question: Fault(text=str(int(question.split("+")[0]) + 1), delay=0.4)
    post = posted(5)
    try:
        run = launch(alice, model, rows=planned.sums(20), concurrency=2)
        until = time.monotonic() + 60
        while not Run.objects.filter(id=run.id, status__in=states.TERMINAL).exists():
            assert time.monotonic() < until
            post.send("runs.advance", (str(run.id),))
            time.sleep(0.2)
    finally:
        post.over.set()
        model.stop()
    run.refresh_from_db()
    assert (run.status, run.passed, model.calls) == ("ok", 20, 20)
    assert post.sent > 20
    check(run, model)
    phases = RunEvent.objects.filter(run=run, type="PhaseStarted").values_list("data__phase", "data__attempt")
    assert sorted(phases) == [("materialize", 1), ("report", 1)]
