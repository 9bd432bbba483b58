"""Following runs live: one hub per event loop feeds every reader in the process (SSE and sockets).

The event table is the truth. NOTIFY is only the doorbell; the hub also looks by itself every second. Per run and tick
there is one query, whose rows go into a short shared memory; a reader takes what it lacks from there, or from the
database where it has fallen further behind. So a slow reader delays nobody and misses nothing.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

import psycopg

from kernel.database import conninfo
from runs import events
from runs.doorbell import CHANNEL
from runs.feeds import BATCH, KEPT, Event, Feed, Link, Viewer, stored

__all__ = ["Event", "Hub", "Link", "Reader", "Viewer", "hub"]

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
WATCH_SECONDS = 2.0  # how soon a revoked token or a hidden run ends a stream
TICK_SECONDS = 0.05  # at most one query per run in this time

_HEADS = (
    "SELECT id, last_seq, owner_id, visibility = 'public', destroyed_at IS NOT NULL FROM runs_run WHERE id = ANY(%s)"
)
_LIVE_TOKENS = (
    "SELECT t.id FROM accounts_personalaccesstoken t JOIN accounts_user u ON u.id = t.owner_id WHERE t.id = ANY(%s) "
    "AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp()) AND u.is_active"
)


class Reader:
    """One reader's place in one run. Use as an async context manager."""

    def __init__(self, hub: "Hub", run_id: UUID, after_seq: int, viewer: Viewer) -> None:
        self.seq = after_seq
        self.viewer = viewer
        self.closed = False
        self._hub = hub
        self._run_id = run_id
        self._stirred = asyncio.Event()

    async def __aenter__(self) -> "Reader":
        self._feed = self._hub.join(self._run_id, self)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._hub.leave(self._feed, self)

    def stir(self) -> None:
        self._stirred.set()

    async def next(self, patience: float) -> list[Event] | None:
        """The next events in order; [] after ``patience`` seconds of silence; None at the end of the stream."""
        deadline = asyncio.get_running_loop().time() + patience
        while not self.closed and self._feed.may_see(self.viewer):
            self._stirred.clear()
            found = self._feed.after(self.seq)
            if found is None:
                found = await self._hub.older(self._run_id, self.seq)
            if found:
                self.seq = found[-1].seq
                self.closed = found[-1].type in events.TERMINAL
                return found
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return []
            self._hub.start(self._feed)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stirred.wait(), left)
        return None


class Hub:
    """Feeds of one event loop. It listens and polls while somebody waits."""

    def __init__(self) -> None:
        self._feeds: dict[UUID, Feed] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening = False
        self._look = asyncio.Event()  # poll now: a run is followed that was not
        self._news, self._history = Link(), Link()

    def reader(self, run_id: UUID, after_seq: int = 0, viewer: Viewer | None = None) -> Reader:
        return Reader(self, run_id, after_seq, viewer or Viewer())

    async def follow(
        self, run_id: UUID | str, after_seq: int = 0, viewer: Viewer | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """Every event after ``after_seq``, as plain values; ends after the terminal one.

        With a ``viewer`` it also ends when that one may no longer see the run; without, the caller answers for it.
        """
        async with self.reader(UUID(str(run_id)), after_seq, viewer or Viewer(trusted=True)) as reader:
            while (found := await reader.next(3600)) is not None:
                for event in found:
                    yield event.plain

    def join(self, run_id: UUID, reader: Reader) -> Feed:
        feed = self._feeds.setdefault(run_id, Feed(run_id))
        feed.readers.add(reader)
        return feed

    async def leave(self, feed: Feed, reader: Reader) -> None:
        feed.readers.discard(reader)
        if not feed.readers:
            self._feeds.pop(feed.run_id, None)
        if not self._feeds:
            await self._stop()

    def start(self, feed: Feed) -> None:
        """Listen and poll from now on: somebody waits."""
        if feed.head is None:
            self._look.set()
        if not self._listening:
            self._listening = True
            for beat in (self._listen, self._poll, self._watch):
                self._spawn(_forever(beat))

    async def _stop(self) -> None:
        links, tasks = (self._news, self._history), list(self._tasks)
        self._news, self._history = Link(), Link()
        self._tasks, self._listening = set(), False
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for link in links:
            await link.close()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def older(self, run_id: UUID, seq: int) -> list[Event]:
        """From the database, for a reader that memory does not serve. [] where that can't be reached just now."""
        try:
            return await stored(self._history, run_id, seq, BATCH)
        except psycopg.Error:
            return []

    async def _listen(self) -> None:
        """Ring for every notification."""
        async with await psycopg.AsyncConnection.connect(conninfo(), autocommit=True) as connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            async for notice in connection.notifies():
                with suppress(ValueError):
                    self._ring(self._feeds.get(UUID(notice.payload)))

    async def _poll(self) -> None:
        """Look by ourselves: a lost notification costs a second."""
        self._look.clear()
        rows = await self._news.rows(_HEADS, [list(self._feeds)])
        for run_id, last_seq, owner_id, public, destroyed in rows:
            feed = self._feeds.get(run_id)
            if feed is None:
                continue
            changed = (feed.public, feed.destroyed) != (public, destroyed)
            feed.owner_id, feed.public, feed.destroyed = owner_id, public, destroyed
            if feed.head is None:  # memory begins here; who lacks more asks the database
                feed.head, changed = last_seq, True
            if changed:
                feed.wake()
            if last_seq > feed.head:
                self._ring(feed)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._look.wait(), POLL_SECONDS)

    async def _watch(self) -> None:
        """End the streams whose token was revoked or has expired."""
        await asyncio.sleep(WATCH_SECONDS)
        readers = [reader for feed in self._feeds.values() for reader in feed.readers if reader.viewer.token_id]
        wanted = sorted({reader.viewer.token_id for reader in readers if reader.viewer.token_id})
        if not wanted:
            return
        live = {row[0] for row in await self._news.rows(_LIVE_TOKENS, [wanted])}
        for reader in readers:
            if reader.viewer.token_id not in live:
                reader.closed = True
                reader.stir()

    def _ring(self, feed: Feed | None) -> None:
        if feed is None:
            return
        if feed.ticking:
            feed.again = True
            return
        feed.ticking = True
        self._spawn(self._tick(feed))

    async def _tick(self, feed: Feed) -> None:
        """Fetch what is new into the shared memory, until there is nothing new."""
        try:
            while feed.readers:
                feed.again = False
                if feed.head is None:
                    return  # the first poll, under way, says where memory begins
                found = await stored(self._news, feed.run_id, feed.head, KEPT)
                feed.add(found)
                if len(found) < KEPT:
                    await asyncio.sleep(TICK_SECONDS)
                    if not feed.again:
                        return
        except psycopg.Error:
            log.debug("no news of run %s just now; the next poll asks again", feed.run_id, exc_info=True)
        finally:
            feed.ticking = False


_hubs: "WeakKeyDictionary[asyncio.AbstractEventLoop, Hub]" = WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub()
    return _hubs[loop]


async def _forever(beat: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Again and again; a database that is away for a moment is asked again after a moment."""
    while True:
        try:
            await beat()
        except psycopg.Error:
            log.debug("%s: the database is away", beat.__name__, exc_info=True)
            await asyncio.sleep(POLL_SECONDS)
