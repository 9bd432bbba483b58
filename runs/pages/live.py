"""One picture of a going run for all who watch it: drawn once, at most four times a second, sent to each as it changes.

The picture is a dict of small HTML fragments by element id. A watcher is told only what differs from what it has, so a
slow one skips pictures instead of queueing them, and ten thousand results cost no more than the time they take.
"""

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from django.db import Error as DatabaseError
from django.template.loader import render_to_string

from accounts.pages.viewers import viewer
from runs import payloads
from runs.models import Run
from runs.pages import now, run_page, table
from runs.states import TERMINAL
from runs.stream import Viewer, hub

log = logging.getLogger(__name__)

PAUSE = 0.25  # seconds between two pictures, at least
IDLE = 2.0  # seconds without an event after which the clock alone is reason enough
SHARE = 4  # drawing takes at most 1 / (1 + SHARE) of the time of its thread


@dataclass(frozen=True)
class Picture:
    """What a going run looks like. ``parts``: element id -> inner HTML. ``log``: (seq, row), newest first."""

    parts: dict[str, str]
    log: list[tuple[int, str]]
    waits: bool
    throttled: bool
    ended: bool
    at: str


def draw(run_id: UUID, mine: bool) -> Picture:
    """The picture of this moment; works in the database, so call it from a thread. Run.DoesNotExist if it is gone."""
    run = Run.objects.select_related("benchmark", "subset", "impl", "owner").get(id=run_id, destroyed_at=None)
    context = run_page.going(run, mine=mine)
    events = now.log(run, mine=mine)
    context |= {
        "live": True,
        "log": events,
        "latest": now.latest(events),
        "tasks": table.page(
            run, table.Wanted(), answers=payloads.may_see_answers(run, viewer(run.owner) if mine else None)
        ),
        "status": run.status,
    }
    parts: dict[str, str] = {
        f"f-{name}": render_to_string(f"runs/parts/{file}.html", context) for name, file in _PARTS.items()
    }
    parts["f-seq"] = f"{run.last_seq:,}"
    return Picture(
        parts=parts,
        log=[(event["seq"], render_to_string("runs/parts/log_rows.html", {"log": [event]})) for event in events],
        waits=context["now"].waits,
        throttled=context["now"].throttled,
        ended=run.status in TERMINAL,
        at=f"{context['moment']:%H:%M:%S}",
    )


_PARTS = {
    "title": "title",
    "badge": "status",
    "asks": "asks",
    "now": "line",
    "meta": "meta",
    "latest": "latest",
    "phases": "phases",
    "score": "score",
    "flight": "flight_rows",
    "spend": "spend",
    "blocked": "blocked",
    "tasks": "task_rows",
    "pager": "pager",
}


@dataclass(eq=False)
class Watcher:
    """One reader: what it was sent, and a bell."""

    bell: asyncio.Event = field(default_factory=asyncio.Event)
    sent: dict[str, str] = field(default_factory=dict)
    seq: int = 0

    def news(self, picture: Picture) -> dict[str, Any]:
        """What this reader does not have yet; it has it afterwards."""
        parts = {name: html for name, html in picture.parts.items() if self.sent.get(name) != html}
        rows = [(seq, html) for seq, html in picture.log if seq > self.seq]
        self.sent.update(parts)
        self.seq = rows[0][0] if rows else self.seq
        return {
            "parts": parts,
            "log": "".join(html for _, html in rows),
            "waits": picture.waits,
            "throttled": picture.throttled,
            "ended": picture.ended,
            "at": picture.at,
        }


class Board:
    """The picture of one run and those who watch it. It is drawn while somebody does."""

    def __init__(self, run_id: UUID, owner_id: int, mine: bool) -> None:
        self.run_id, self.owner_id, self.mine = run_id, owner_id, mine
        self.picture: Picture | None = None
        self.over = False  # no further picture will come
        self.watchers: set[Watcher] = set()
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def join(self, watcher: Watcher) -> None:
        self.watchers.add(watcher)
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._work())]
        if self.picture is not None:
            watcher.bell.set()

    def leave(self, watcher: Watcher) -> list[asyncio.Task[None]]:
        """What ends with the last watcher, already told to; empty while there are others."""
        self.watchers.discard(watcher)
        if self.watchers:
            return []
        ending, self._tasks = self._tasks, []
        for task in ending:
            task.cancel()
        return ending

    async def _listen(self) -> None:
        """Events are only the reason to look: the picture is read from the database."""
        head = self.picture.log[0][0] if self.picture and self.picture.log else 0
        async with hub().reader(self.run_id, head, Viewer(account_id=self.owner_id)) as reader:
            while (found := await reader.next(3600)) is not None:
                if found:
                    self._changed.set()

    async def _work(self) -> None:
        while not self.over:
            self._changed.clear()
            began = time.monotonic()
            await self._draw()
            for watcher in self.watchers:
                watcher.bell.set()
            await asyncio.sleep(max(PAUSE, SHARE * (time.monotonic() - began)))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), IDLE)

    async def _draw(self) -> None:
        try:
            self.picture = await database_sync_to_async(draw)(self.run_id, self.mine)
            self.over = self.picture.ended
        except Run.DoesNotExist:
            self.over = True
        except DatabaseError:  # away for a moment: the next round asks again
            log.debug("no picture of run %s just now", self.run_id, exc_info=True)


class Boards:
    """The boards of one event loop."""

    def __init__(self) -> None:
        self._boards: dict[tuple[UUID, bool], Board] = {}

    def join(self, run: Run, mine: bool, watcher: Watcher) -> Board:
        key = (run.id, mine)
        board = self._boards.get(key)
        if board is None or board.over:
            board = self._boards[key] = Board(run.id, run.owner_id, mine)
        board.join(watcher)
        return board

    async def leave(self, board: Board, watcher: Watcher) -> None:
        """After the last one's, nothing of the board is left: no task, no connection."""
        ending = board.leave(watcher)
        key = (board.run_id, board.mine)
        if ending and self._boards.get(key) is board:
            del self._boards[key]
        await asyncio.gather(*ending, return_exceptions=True)


_boards: "WeakKeyDictionary[asyncio.AbstractEventLoop, Boards]" = WeakKeyDictionary()


def boards() -> Boards:
    """The boards of the running event loop."""
    return _boards.setdefault(asyncio.get_running_loop(), Boards())
