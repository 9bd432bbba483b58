"""Leases: what one round of renewal may conclude."""

import asyncio
import time
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.models.functions import Now

from accounts.models import User
from kernel.database import conninfo
from runs.leases import Leases
from runs.models import Run, Shard
from tests.factories import planned

pytestmark = pytest.mark.django_db(transaction=True)


def free(alice: User, shards: int) -> Run:
    run = planned.run(alice, planned.sums(shards))
    planned.leased(run, shards=shards)
    Shard.objects.filter(run=run).update(status="pending", attempt_no=0, lease_until=None)
    return run


def with_leases(run: Run, act: Any, owner: str = "me") -> Any:
    async def go() -> Any:
        async with await psycopg.AsyncConnection.connect(conninfo(), autocommit=True) as connection:
            return await act(Leases(connection, str(run.id), "materialize", owner, 30.0))

    return asyncio.run(go())


def test_what_is_claimed_during_a_renewal_is_not_taken_for_lost(alice: User) -> None:
    async def act(leases: Leases) -> None:
        await leases.claim(1)
        for _ in range(10):
            gone, _ = await asyncio.gather(leases.renew(), leases.claim(1))
            assert gone == []
        assert len(leases.held) == 11

    with_leases(free(alice, 12), act)


def test_what_is_finished_during_a_renewal_is_not_taken_for_lost(alice: User) -> None:
    async def act(leases: Leases) -> None:
        await leases.claim(10)
        for number in list(leases.held):
            done, gone = await asyncio.gather(leases.finish(number), leases.renew())
            assert done
            assert gone == []

    with_leases(free(alice, 10), act)


def test_a_lapsed_lease_is_anybodys_and_the_first_holder_hears_of_it(alice: User) -> None:
    run = free(alice, 2)

    async def act(leases: Leases) -> list[int]:
        await leases.claim(2)
        async with await psycopg.AsyncConnection.connect(conninfo(), autocommit=True) as other:
            await other.execute(
                "UPDATE runs_shard SET attempt_no = 9, lease_owner = 'other' WHERE run_id = %s AND number = 1", [run.id]
            )
        return [lease.number for lease in await leases.renew()]

    assert with_leases(run, act) == [1]


def test_d06_who_stood_still_past_its_lease_starts_nothing_before_it_is_renewed(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.monotonic

    async def act(leases: Leases) -> list[bool]:
        await leases.claim(1)
        seen = [leases.stale]
        monkeypatch.setattr(time, "monotonic", lambda: real() + 31)
        await leases.claim(1)  # one more says nothing of those that we have
        seen.append(leases.stale)
        await leases.renew()
        seen.append(leases.stale)
        for number in list(leases.held):
            await leases.finish(number)
        monkeypatch.setattr(time, "monotonic", lambda: real() + 62)
        return [*seen, leases.stale]

    assert with_leases(free(alice, 3), act) == [False, True, False, False]


@pytest.mark.parametrize("hours", [-1, 24])
def test_d19_a_workers_clock_neither_ends_a_lease_nor_prolongs_it(
    alice: User, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    run, real = free(alice, 3), time.time

    async def act(leases: Leases) -> tuple[list[int], list[int], list[int]]:
        mine = [lease.number for lease in await leases.claim(2)]
        monkeypatch.setattr(time, "time", lambda: real() + hours * 3600)
        async with await psycopg.AsyncConnection.connect(conninfo(), autocommit=True) as link:
            other = Leases(link, str(run.id), "materialize", "other", 30.0)
            theirs = [lease.number for lease in await other.claim(3)]
        return mine, theirs, [lease.number for lease in await leases.renew()]

    assert with_leases(run, act) == ([0, 1], [2], [])
    left = Shard.objects.filter(run=run, lease_owner="me").values_list("lease_until", flat=True)
    assert all(timedelta(seconds=20) < until - at_the_database() < timedelta(seconds=31) for until in left)


def at_the_database() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]  # type: ignore[no-any-return]


def test_a_shard_says_whether_its_last_holder_was_lost(alice: User) -> None:
    run = free(alice, 2)
    Shard.objects.filter(run=run, number=0).update(status="leased", lease_until=Now() - timedelta(seconds=1))

    async def act(leases: Leases) -> list[tuple[int, bool]]:
        return [(lease.number, lease.lost) for lease in await leases.claim(5)]

    assert with_leases(run, act) == [(0, True), (1, False)]


def test_shards_that_wait_for_the_first_one_are_nobodys(alice: User) -> None:
    run = free(alice, 4)

    async def act(leases: Leases) -> None:
        assert [lease.number for lease in await leases.claim(1, last=0)] == [0]
        assert await leases.claim(4, last=0) == []
        assert [lease.number for lease in await leases.claim(4)] == [1, 2, 3]

    with_leases(run, act)
