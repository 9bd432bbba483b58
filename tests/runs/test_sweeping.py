"""The sweeper: what it rings for, and what it ends itself where nobody hears it."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from accounts.models import User
from kernel import jobs
from runs import halting, sweeping
from runs.models import Run, RunEvent, Shard
from tests.factories import launched, planned

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs for which messages were sent."""
    sent: list[str] = []
    monkeypatch.setattr(jobs, "_send", lambda name, ids: sent.append(ids[0]))
    return sent


def long_ago(run: Run) -> None:
    Run.objects.filter(id=run.id).update(created_at=Now() - timedelta(minutes=1))


def test_d10_a_launch_that_nobody_was_woken_for_is_rung_once(alice: User, rung: list[str]) -> None:
    """Who launched it died between the commit and the message."""
    run = launched.launch(alice)
    rung.clear()
    long_ago(run)
    sweeping.sweep()
    sweeping.sweep()
    assert rung == [str(run.id)]


@pytest.mark.parametrize(("shards", "messages"), [(1, 1), (3, 3), (20, sweeping.MOST_MESSAGES)])
def test_it_rings_for_each_shard_that_waits(alice: User, rung: list[str], shards: int, messages: int) -> None:
    """One message alone may be taken by a worker that is at work on the run already."""
    run = planned.run(alice, planned.sums(shards))
    planned.leased(run, shards=shards)
    Shard.objects.filter(run=run).update(status="pending", lease_until=None)
    long_ago(run)
    sweeping.sweep()
    assert rung == [str(run.id)] * messages


def test_d23_a_duration_that_is_reached_while_no_worker_lives_halts_the_run(alice: User, rung: list[str]) -> None:
    run = planned.run(alice, limits={"run": {"duration": 30}})
    planned.leased(run)
    Run.objects.filter(id=run.id).update(started_at=Now() - timedelta(seconds=31))
    Shard.objects.filter(run=run).update(lease_until=Now() - timedelta(seconds=1))
    sweeping.sweep()
    run.refresh_from_db()
    assert (run.status, run.halt_reason) == ("halted", "limit_exceeded:run.duration")
    assert (run.skipped, run.summary["skipped"]) == (4, 4)
    assert RunEvent.objects.filter(run=run, type="RunHalted").count() == 1


def test_a_halt_is_left_to_the_worker_that_is_at_work(alice: User, rung: list[str]) -> None:
    run = planned.run(alice)
    planned.leased(run)
    halting.request_halt(run.id, "user")
    sweeping.sweep()
    run.refresh_from_db()
    assert run.status == "running"
