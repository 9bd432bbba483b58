"""The socket of a going run: who may listen, and what they hear."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async as in_thread
from channels.testing import WebsocketCommunicator
from django.contrib.sessions.models import Session
from django.db import connections
from django.test import Client

from accounts.models import User
from benchwright_site.asgi import application
from runs import consumers
from runs.models import Run
from runs.pages import live
from tests.factories import runs as make
from tests.pages.conftest import DOOR

HOST = b"127.0.0.1:8000"
pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
async def no_connection_left(transactional_db: None) -> AsyncIterator[None]:
    """The thread that the pages' reads run in lets go of its connection."""
    yield
    await in_thread(connections.close_all)()


def cookie_of(user: User) -> str:
    client = Client()
    client.force_login(user, backend=DOOR)
    return f"sessionid={client.cookies['sessionid'].value}"


def socket(
    run_id: object, cookie: str = "", origin: str | None = "http://127.0.0.1:8000", query: str = ""
) -> WebsocketCommunicator:
    headers = [(b"host", HOST), (b"cookie", cookie.encode())]
    if origin is not None:
        headers.append((b"origin", origin.encode()))
    return WebsocketCommunicator(application, f"/ws/runs/{run_id}{query}", headers)


@asynccontextmanager
async def opened(*args: Any, **kwargs: Any) -> AsyncIterator[WebsocketCommunicator]:
    there = socket(*args, **kwargs)
    connected, _ = await there.connect(timeout=20)
    assert connected
    yield there
    await there.disconnect(timeout=20)


async def until(
    there: WebsocketCommunicator, found: Callable[[dict[str, Any]], bool], seconds: float = 20
) -> dict[str, Any]:
    """The first message for which ``found`` holds."""
    async with asyncio.timeout(seconds):
        while True:
            news: dict[str, Any] = await there.receive_json_from(timeout=seconds)
            if found(news):
                return news


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1:81", "null", "", None])
async def test_c22_a_handshake_from_another_site_is_refused(alice: User, origin: str | None) -> None:
    run = await in_thread(make.live)(alice)
    cookie = await in_thread(cookie_of)(alice)
    connected, _ = await socket(run.id, cookie, origin).connect(timeout=20)
    assert not connected


async def test_c22_another_accounts_private_run_closes_like_an_unknown_one(alice: User, bob: User) -> None:
    run = await in_thread(make.live)(alice)
    cookie = await in_thread(cookie_of)(bob)
    ends = []
    for there, who in ((run.id, cookie), (uuid4(), cookie), (run.id, ""), (uuid4(), "")):
        end = socket(there, who)
        assert (await end.connect(timeout=20))[0]
        ends.append(await end.receive_output(timeout=20))
    assert {end["code"] for end in ends} == {4404}
    assert all(end == ends[0] for end in ends)


async def test_it_refuses_addresses_that_lead_nowhere(alice: User) -> None:
    headers = [(b"host", HOST), (b"origin", b"http://127.0.0.1:8000")]
    connected, _ = await WebsocketCommunicator(application, "/ws/elsewhere", headers).connect(timeout=20)
    assert not connected


async def test_it_tells_what_changed_and_only_that(alice: User) -> None:
    run = await in_thread(make.live)(alice)
    cookie = await in_thread(cookie_of)(alice)
    async with opened(run.id, cookie, query=f"?after={run.last_seq}") as there:
        first = await until(there, lambda news: "f-score" in news["parts"])
        assert "74.6" in first["parts"]["f-score"]
        assert first["log"] == ""
        await in_thread(make.results)(run, ["passed"] * 3)
        news = await until(there, lambda news: "f-score" in news["parts"])
        assert "47 of 62" in news["parts"]["f-score"]
        assert news["log"].count("<tr") == 3
        assert "f-badge" not in news["parts"]
        quiet = await until(there, lambda news: True)
        assert "f-score" not in quiet["parts"]


async def test_it_catches_up_from_the_event_that_the_page_has(alice: User) -> None:
    run = await in_thread(make.live)(alice)
    cookie = await in_thread(cookie_of)(alice)
    async with opened(run.id, cookie, query=f"?after={run.last_seq - 2}") as there:
        assert (await until(there, lambda news: True))["log"].count("<tr") == 2
    async with opened(run.id, cookie, query="?after=garbage") as there:
        assert (await until(there, lambda news: True))["log"].count("<tr") == 50


async def test_it_ends_with_the_run(alice: User) -> None:
    run = await in_thread(make.live)(alice)
    cookie = await in_thread(cookie_of)(alice)
    async with opened(run.id, cookie) as there:
        await until(there, lambda news: True)
        await in_thread(make.results)(run, ["passed"] * 39)
        await in_thread(make.end)(run)
        assert (await until(there, lambda news: news["ended"]))["ended"]
        assert (await there.receive_output(timeout=20))["code"] == 1000


async def test_it_draws_once_for_all_and_a_burst_is_few_pictures(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await in_thread(make.run)(alice, await in_thread(make.benchmark)(alice, tasks=2_000))
    await in_thread(make.start)(run)
    cookie = await in_thread(cookie_of)(alice)
    drawn = []
    draw = live.draw
    monkeypatch.setattr(live, "draw", lambda *args: drawn.append(1) or draw(*args))
    async with opened(run.id, cookie) as one, opened(run.id, cookie) as two:
        heard = []

        async def listen(there: WebsocketCommunicator) -> None:
            await until(
                there, lambda news: heard.append(1) or "1,000</b> of 2,000" in news["parts"].get("f-meta", ""), 60
            )

        readers = [asyncio.create_task(listen(each)) for each in (one, two)]
        for _ in range(20):
            await in_thread(make.results)(run, make.mixed(40, 10), outputs=False)
        await asyncio.gather(*readers)
    assert len(heard) <= 2 * len(drawn) + 2
    assert len(drawn) < 100  # of 1,000 results


async def test_c09_it_closes_when_the_session_ends(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "CHECK_SECONDS", 0.2)
    run = await in_thread(make.live)(alice)
    cookie = await in_thread(cookie_of)(alice)
    async with opened(run.id, cookie) as there:
        await until(there, lambda news: True)
        await in_thread(Session.objects.all().delete)()
        assert await closed_with(there) == 4404


async def test_e10_it_closes_when_a_public_run_is_hidden(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "CHECK_SECONDS", 0.2)
    run = await in_thread(make.live)(alice, visibility="public")
    async with opened(run.id) as there:
        first = await until(there, lambda news: True)
        assert "cap" not in first["parts"]["f-meta"]  # its owner's ceilings are nobody else's business
        await in_thread(Run.objects.filter(id=run.id).update)(visibility="private")
        assert await closed_with(there) == 4404


async def closed_with(there: WebsocketCommunicator) -> int:
    """The code with which the server closes."""
    async with asyncio.timeout(20):
        while True:
            message = await there.receive_output(timeout=20)
            if message["type"] == "websocket.close":
                return int(message["code"])


async def test_it_bears_whatever_a_page_may_send(alice: User) -> None:
    run = await in_thread(make.live)(alice)
    cookie = await in_thread(cookie_of)(alice)
    async with opened(run.id, cookie) as there:
        for text in (" ", "{", "null", "[" * 5_000):
            await there.send_to(text_data=text)
        await there.send_to(bytes_data=b"\x00\xff")
        await until(there, lambda news: True)
        await in_thread(make.results)(run, ["passed"])
        assert await until(there, lambda news: "f-score" in news["parts"])


async def test_it_leaves_nothing_behind(alice: User) -> None:
    run = await in_thread(make.live)(alice)
    cookie = await in_thread(cookie_of)(alice)
    async with opened(run.id, cookie) as there:
        await until(there, lambda news: True)
        assert live.boards()._boards
    assert not live.boards()._boards
