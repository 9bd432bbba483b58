"""What a process remembers of the runs that it follows, and its way to the event table."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol
from uuid import UUID

import psycopg

from kernel import strict_json
from kernel.clock import stamp
from kernel.database import conninfo

BATCH = 500  # events that a reader takes at once
KEPT = 2_000  # events of a run in memory
KEPT_BYTES = 4 << 20


@dataclass(frozen=True)
class Event:
    """One stored event; encoded once, however many read it."""

    seq: int
    type: str
    created_at: str
    data: Any

    @cached_property
    def plain(self) -> dict[str, Any]:
        return {"seq": self.seq, "type": self.type, "created_at": self.created_at, "data": self.data}

    @cached_property
    def frame(self) -> bytes:
        """As server-sent event. JSON escapes line ends, so that no payload can forge another event."""
        line = strict_json.dumps(self.plain).replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (self.seq, self.type.encode(), line)


@dataclass(frozen=True)
class Viewer:
    """Who reads: the stream ends when the token or the right to see the run is gone.

    Without an account: somebody who sees what is public. ``trusted``: our own code, which sees everything.
    """

    account_id: Any = None
    token_id: str | None = None
    trusted: bool = False


class Link:
    """A connection that is made when needed and made again after it broke. One statement at a time."""

    def __init__(self) -> None:
        self._connection: psycopg.AsyncConnection[tuple[Any, ...]] | None = None
        self._lock = asyncio.Lock()

    async def rows(self, query: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Raises psycopg.Error where the database can't be reached just now."""
        async with self._lock:
            if self._connection is None or self._connection.closed:
                self._connection = await psycopg.AsyncConnection.connect(conninfo(), autocommit=True)
            try:
                cursor = await self._connection.execute(query, params)
                return await cursor.fetchall()
            except psycopg.OperationalError:
                await self._connection.close()
                raise
            except asyncio.CancelledError:
                # Half an answer may be on the wire: a fresh connection is simpler than draining this one.
                await self._connection.close()
                raise

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()


_AFTER = "SELECT seq, type, created_at, data FROM runs_runevent WHERE run_id = %s AND seq > %s ORDER BY seq LIMIT %s"


async def stored(link: Link, run_id: UUID, after: int, limit: int) -> list[Event]:
    """The next events of a run from the table. Raises psycopg.Error."""
    rows = await link.rows(_AFTER, [run_id, after, limit])
    return [Event(seq, kind, stamp(at) or "", data) for seq, kind, at, data in rows]


class Follower(Protocol):
    """Whoever waits at a feed."""

    seq: int
    viewer: Viewer
    closed: bool

    def stir(self) -> None:
        """Something has changed: look again."""


class Feed:
    """What the process remembers of one followed run."""

    def __init__(self, run_id: UUID) -> None:
        self.run_id = run_id
        self.readers: set[Follower] = set()
        self.head: int | None = None  # the last seq in `recent`, or where it will begin
        self.recent: deque[tuple[Event, int]] = deque()
        self.bytes = 0
        self.owner_id: Any = None
        self.public = False
        self.destroyed = False
        self.ticking = False
        self.again = False

    def add(self, found: Sequence[Event]) -> None:
        for event in found:
            size = len(event.frame)
            self.recent.append((event, size))
            self.bytes += size
        while len(self.recent) > KEPT or (self.bytes > KEPT_BYTES and len(self.recent) > 1):
            self.bytes -= self.recent.popleft()[1]
        if found:
            self.head = found[-1].seq
            self.wake()

    def wake(self) -> None:
        for reader in self.readers:
            reader.stir()

    def after(self, seq: int) -> list[Event] | None:
        """What follows ``seq`` in memory; None where memory does not reach back so far."""
        if self.head is None:
            return None
        if seq >= self.head:
            return []
        if not self.recent or self.recent[0][0].seq > seq + 1:
            return None
        skip = seq + 1 - self.recent[0][0].seq
        return [self.recent[at][0] for at in range(skip, min(skip + BATCH, len(self.recent)))]

    def may_see(self, viewer: Viewer) -> bool:
        """Whether this viewer may still read. Unknown yet: who opened the stream has just been checked."""
        if self.owner_id is None:
            return True
        return not self.destroyed and (self.public or viewer.trusted or viewer.account_id == self.owner_id)
