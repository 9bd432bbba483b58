"""Leases: what one round of renewal may conclude."""

import asyncio
from datetime import timedelta
from typing import Any

import psycopg
import pytest
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


def test_a_shard_says_whether_its_last_holder_was_lost(alice: User) -> None:
    run = free(alice, 2)
    Shard.objects.filter(run=run, number=0).update(status="leased", lease_until=Now() - timedelta(seconds=1))

    async def act(leases: Leases) -> list[tuple[int, bool]]:
        return [(lease.number, lease.lost) for lease in await leases.claim(5)]

    assert with_leases(run, act) == [(0, True), (1, False)]
