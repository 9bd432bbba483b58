"""Live events: every reader gets every event once, in order, however it connects."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import PersonalAccessToken, User
from kernel import clock
from kernel.database import conninfo
from runs import events
from runs.doorbell import Bell
from runs.models import Run, RunEvent
from runs.stream import Hub, Link
from tests.factories import launched
from tests.runs.asgi import opened

pytestmark = pytest.mark.django_db(transaction=True)


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in a loop whose synchronous parts stay in this thread, with this thread's database connection."""

    @wraps(test)
    def run(**given: Any) -> None:
        async_to_sync(test)(**given)

    return run


def tell(run: Run, *items: tuple[str, dict[str, Any]]) -> None:
    with transaction.atomic():
        events.append(run.id, list(items))


def progress(run: Run, count: int = 1) -> None:
    tell(run, *[("PhaseProgress", {"done": at}) for at in range(count)])


@sync_to_async
def a_run(owner: User, count: int = 0, *, finished: bool = False) -> Run:
    run = launched.launch(owner)
    if count:
        progress(run, count)
    if finished:
        launched.finish(run)
    run.refresh_from_db()
    return run


def path(run: Run, query: str = "") -> str:
    return f"/v1/runs/{run.id}/stream{query}"


@in_loop
async def test_e05_without_a_doorbell_it_sends_stored_then_live_events_and_closes_after_the_last(
    alice: User, token: Callable[..., str]
) -> None:
    run = await a_run(alice, 3)
    bearer = await sync_to_async(token)(alice)
    async with opened(path(run), bearer) as stream:
        await stream.read_until(lambda one: one.seqs == [1, 2, 3, 4])
        await sync_to_async(progress)(run)
        await stream.read_until(lambda one: len(one.seqs) == 5)
        await sync_to_async(launched.finish)(run)
        await stream.end()
    assert stream.body.startswith(b"retry: 2000\n\n")
    assert stream.headers["content-type"] == "text/event-stream"
    assert (stream.headers["cache-control"], stream.headers["x-accel-buffering"]) == ("no-store", "no")
    assert stream.seqs == list(range(1, 7))
    assert stream.events[-1]["type"] == "RunCompleted"


@in_loop
async def test_a_doorbell_makes_it_quick(alice: User, token: Callable[..., str]) -> None:
    run = await a_run(alice)
    bearer = await sync_to_async(token)(alice)
    bell = Bell(await sync_to_async(conninfo)())
    loop, late = asyncio.get_running_loop(), []
    async with opened(path(run), bearer) as stream:
        await stream.read_until(lambda one: one.seqs == [1])
        await asyncio.sleep(0.3)  # now it listens
        for at in range(2, 8):
            await sync_to_async(progress)(run)
            began = loop.time()
            bell.ring(run.id)
            await stream.read_until(lambda one, at=at: len(one.seqs) == at)  # type: ignore[misc]
            late.append(loop.time() - began)
    await asyncio.to_thread(bell.close)
    assert sorted(late)[3] < 0.3, late


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 1200), max_size=5), by_header=st.booleans())
def test_e01_reconnecting_anywhere_gives_the_stored_list(
    alice: User, token: Callable[..., str], cuts: list[int], by_header: bool
) -> None:
    run = launched.launch(alice)
    progress(run, 1200)
    launched.finish(run)
    bearer = token(alice)
    stored = list(RunEvent.objects.filter(run=run).order_by("seq").values_list("seq", flat=True))

    async def read() -> list[int]:
        seen: list[int] = []
        for cut in [*cuts, None]:
            last = seen[-1] if seen else 0
            resume = {"last_event_id": str(last)} if by_header and last else {}
            async with opened(path(run, "" if resume else f"?after_seq={last}"), bearer, **resume) as stream:
                if stream.status == 204:
                    break
                await stream.read_until(lambda one, cut=cut: one.ended or (cut is not None and len(one.seqs) >= cut))  # type: ignore[misc]
            # A reader that hangs up has what arrived whole, and may use less of it.
            seen += stream.seqs if cut is None else stream.seqs[:cut]
        return seen

    assert async_to_sync(read)() == stored


@in_loop
async def test_e02_no_reader_sees_a_number_before_the_one_below_it(alice: User, token: Callable[..., str]) -> None:
    run = await a_run(alice)
    bearer = await sync_to_async(token)(alice)

    def write() -> None:
        try:
            for _ in range(25):
                progress(run, 3)
        finally:
            connection.close()

    async with opened(path(run), bearer) as stream:
        await asyncio.gather(*[asyncio.to_thread(write) for _ in range(4)])
        await sync_to_async(launched.finish)(run)
        await stream.end()
    assert stream.seqs == list(range(1, 303))


@pytest.mark.parametrize("sent", ["x", "-1", "1.5", "٣", "1e3", "9" * 30, "99"])
@in_loop
async def test_e03_it_refuses_a_place_that_is_none(alice: User, token: Callable[..., str], sent: str) -> None:
    run = await a_run(alice)
    bearer = await sync_to_async(token)(alice)
    headers = {"last_event_id": sent} if sent.isascii() else {}
    async with opened(path(run, "" if headers else "?after_seq=%D9%A3"), bearer, **headers) as stream:
        await stream.end()
    assert stream.status == 400
    assert b"invalid_parameter" in stream.body


@pytest.mark.parametrize("after", ["3", "4"])
@in_loop
async def test_e03_beyond_the_end_of_an_ended_run_is_204(alice: User, token: Callable[..., str], after: str) -> None:
    run = await a_run(alice, 1, finished=True)
    async with opened(path(run, f"?after_seq={after}"), await sync_to_async(token)(alice)) as stream:
        await stream.end()
    assert (stream.status, stream.body) == (204, b"")


@in_loop
async def test_e04_it_keeps_an_idle_stream_open(
    alice: User, token: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.api.following.KEEP_ALIVE_SECONDS", 0.2)
    run = await a_run(alice)
    async with opened(path(run), await sync_to_async(token)(alice)) as stream:
        await stream.read_until(lambda one: one.body.count(b": ka\n\n") >= 2)
    assert stream.seqs == [1]


@in_loop
async def test_e08_a_payload_cannot_forge_an_event(alice: User, token: Callable[..., str]) -> None:
    run = await a_run(alice)
    nasty = "x\r\n\ndata: forged\n\nid: 99\u2028\u2029\x85"
    await sync_to_async(tell)(run, ("PhaseProgress", {"note": nasty, nasty: 1}))
    await sync_to_async(launched.finish)(run)
    async with opened(path(run), await sync_to_async(token)(alice)) as stream:
        await stream.end()
    assert stream.seqs == [1, 2, 3]
    assert stream.events[1]["data"] == {"note": nasty, nasty: 1}
    assert "\u2028" not in stream.body.decode()


@in_loop
async def test_c09_it_closes_when_the_token_is_revoked(alice: User, token: Callable[..., str]) -> None:
    run = await a_run(alice)
    async with opened(path(run), await sync_to_async(token)(alice)) as stream:
        await stream.read_until(lambda one: one.seqs == [1])
        await PersonalAccessToken.objects.filter(owner=alice).aupdate(revoked_at=clock.now())
        await stream.end(timeout=5)
    assert stream.seqs == [1]


@in_loop
async def test_e10_it_closes_for_strangers_when_the_run_is_hidden(alice: User) -> None:
    run = await a_run(alice)
    await Run.objects.filter(id=run.id).aupdate(visibility="public")
    async with opened(path(run)) as stream:
        await stream.read_until(lambda one: one.seqs == [1])
        await asyncio.sleep(0.2)
        await Run.objects.filter(id=run.id).aupdate(visibility="private")
        await stream.end(timeout=5)


@in_loop
async def test_it_is_not_there_for_a_stranger(alice: User, bob: User, token: Callable[..., str]) -> None:
    run = await a_run(alice)
    async with opened(path(run), await sync_to_async(token)(bob)) as stream:
        await stream.end()
    assert stream.status == 404
    async with opened(path(run), await sync_to_async(token)(alice, "registry:read")) as stream:
        await stream.end()
    assert stream.status == 403


@in_loop
async def test_e07_nothing_is_left_when_the_last_reader_has_gone(alice: User) -> None:
    run, hub = await a_run(alice), Hub()
    before = asyncio.all_tasks()
    async with hub.reader(run.id, 0) as reader:
        await Run.objects.filter(id=run.id).aupdate(visibility="public")
        assert [event.seq for event in await reader.next(5) or []] == [1]
        assert await reader.next(0.5) == []
        assert len(asyncio.all_tasks()) > len(before)
    assert asyncio.all_tasks() == before


@in_loop
async def test_a_slow_reader_delays_nobody_and_misses_nothing(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.feeds.KEPT", 50)
    run, hub = await a_run(alice), Hub()

    async def read(pause: float) -> list[int]:
        seen = []
        async for event in hub.follow(run.id):
            seen.append(event["seq"])
            await asyncio.sleep(pause)
        return seen

    slow, quick = asyncio.create_task(read(0.005)), asyncio.create_task(read(0))
    for _ in range(10):
        await sync_to_async(progress)(run, 40)
        await asyncio.sleep(0.02)
    await sync_to_async(launched.finish)(run)
    assert await asyncio.wait_for(quick, 5) == list(range(1, 403))
    assert not slow.done()
    assert await asyncio.wait_for(slow, 10) == list(range(1, 403))


@in_loop
async def test_many_readers_share_one_query(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    run, hub = await a_run(alice), Hub()
    asked: list[int] = []
    rows = Link.rows

    async def counted(self: Link, query: str, params: Any) -> list[tuple[Any, ...]]:
        asked.append(1)
        return await rows(self, query, params)

    async def read() -> list[int]:
        return [event["seq"] async for event in hub.follow(run.id)]

    readers = [asyncio.create_task(read()) for _ in range(200)]
    await asyncio.sleep(1.5)  # all have caught up
    monkeypatch.setattr(Link, "rows", counted)
    for _ in range(5):
        await sync_to_async(progress)(run, 10)
    await sync_to_async(launched.finish)(run)
    found = await asyncio.wait_for(asyncio.gather(*readers), 10)
    assert found == [list(range(1, 53))] * 200
    assert len(asked) < 20, "not one query per reader"
