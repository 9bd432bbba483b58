"""A client that speaks to the real ASGI application: it reads a stream piece by piece and may hang up anywhere."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from benchwright_site.asgi import application


@dataclass
class Stream:
    """An open answer. ``read_until`` waits for what was asked for; leaving the block hangs up."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    ended: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def read_until(self, enough: Callable[["Stream"], bool], timeout: float = 10) -> None:
        async with asyncio.timeout(timeout):
            while not enough(self):
                self.changed.clear()
                await self.changed.wait()

    async def end(self, timeout: float = 10) -> None:
        await self.read_until(lambda stream: stream.ended, timeout)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The whole events so far, each checked against its own frame."""
        found = []
        for block in self.body.decode().split("\n\n")[:-1]:
            lines = dict(line.split(": ", 1) for line in block.split("\n"))
            if "data" in lines:
                event = json.loads(lines["data"])
                assert (lines["id"], lines["event"]) == (str(event["seq"]), event["type"])
                found.append(event)
        return found

    @property
    def seqs(self) -> list[int]:
        return [event["seq"] for event in self.events]


@asynccontextmanager
async def opened(path: str, bearer: str | None = None, **headers: str) -> AsyncIterator[Stream]:
    """GET ``path``; headers with underscores."""
    stream, hung_up = Stream(), asyncio.Event()
    sent = {name.replace("_", "-"): value for name, value in headers.items()} | {"host": "testserver"}
    if bearer:
        sent["authorization"] = f"Bearer {bearer}"
    target, _, query = path.partition("?")
    first = True

    async def receive() -> dict[str, Any]:
        nonlocal first
        if first:
            first = False
            return {"type": "http.request", "body": b"", "more_body": False}
        await hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            stream.status = message["status"]
            stream.headers = {key.decode().lower(): value.decode() for key, value in message["headers"]}
        else:
            stream.body += message.get("body", b"")
            stream.ended = not message.get("more_body", False)
        stream.changed.set()

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": target,
        "raw_path": target.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(key.encode(), value.encode()) for key, value in sent.items()],
        "client": ("127.0.0.1", 5),
        "server": ("testserver", 80),
    }
    task = asyncio.create_task(application(scope, receive, send))  # type: ignore[arg-type]
    try:
        await stream.read_until(lambda one: one.status != 0)
        yield stream
    finally:
        hung_up.set()
        await asyncio.wait_for(asyncio.gather(task, return_exceptions=True), 10)
