"""The socket of a going run: tells its page what changed."""

import asyncio
from contextlib import suppress
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from channels.auth import get_user
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.conf import settings

from accounts.pages.viewers import viewer
from kernel.errors import DomainError
from runs import queries
from runs.models import Run
from runs.pages.live import Board, Watcher, boards

UNKNOWN = 4404  # also another account's private run: the two can't be told apart
CHECK_SECONDS = 4  # how soon a socket notices that its session ended or its run was hidden


class RunConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]
    """``/ws/runs/{id}?after=<seq>``: one message per change, {"parts", "log", "waits", "throttled", "ended", "at"}."""

    board: Board | None = None
    tasks: tuple[asyncio.Task[None], ...] = ()

    async def connect(self) -> None:
        self.run_id: UUID = self.scope["url_route"]["kwargs"]["run_id"]
        if not _same_site(self.scope):
            await self.close()  # before accept: the handshake is refused
            return
        await self.accept()
        seen = await self._seen()
        if seen is None:
            await self.close(UNKNOWN)
            return
        self.watcher = Watcher(seq=_after(self.scope["query_string"]))
        self.board = boards().join(*seen, self.watcher)
        self.tasks = (asyncio.create_task(self._tell()), asyncio.create_task(self._recheck()))

    async def disconnect(self, code: int) -> None:
        for task in self.tasks:
            task.cancel()
        if self.board is not None:
            await boards().leave(self.board, self.watcher)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any) -> None:
        """The page has nothing to say, and not even garbage is an error."""

    async def _tell(self) -> None:
        """Send what is new whenever the picture changes; a reader that can't keep up skips pictures."""
        board = self.board
        assert board is not None
        while True:
            await self.watcher.bell.wait()
            self.watcher.bell.clear()
            if board.picture is not None:
                await self.send_json(self.watcher.news(board.picture))
            if board.over:
                await self.close(1000 if board.picture is not None else UNKNOWN)
                return

    async def _recheck(self) -> None:
        """Close when this reader may no longer see the run."""
        assert self.board is not None
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            seen = await self._seen()
            if seen is None or seen[1] != self.board.mine:
                await self.close(UNKNOWN)
                return

    async def _seen(self) -> tuple[Run, bool] | None:
        """The run and whether it is the reader's own; None where they may not see it. Reads the session anew."""
        reader = viewer(await get_user({"session": _session(self.scope)}))
        with suppress(DomainError):
            run = await database_sync_to_async(queries.run)(reader, self.run_id)
            return run, reader is not None and reader.account.pk == run.owner_id
        return None


def _session(scope: dict[str, Any]) -> Any:
    """The session as it is stored now; read when somebody looks into it."""
    key = scope["cookies"].get(settings.SESSION_COOKIE_NAME)
    return import_module(settings.SESSION_ENGINE).SessionStore(key)


def _same_site(scope: dict[str, Any]) -> bool:
    """Whether the page that opened the socket is ours: its Origin is the host it asked, or our public one."""
    headers = dict(scope["headers"])
    origin = urlsplit(headers.get(b"origin", b"").decode("latin-1")).netloc
    return origin != "" and origin in (
        headers.get(b"host", b"").decode("latin-1"),
        urlsplit(settings.PUBLIC_URL).netloc,
    )


def _after(query: bytes) -> int:
    """The last event that the page has."""
    name, _, number = query.decode("latin-1").partition("=")
    return int(number) if name == "after" and number.isascii() and number.isdigit() and len(number) < 18 else 0
