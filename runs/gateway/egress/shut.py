"""A door through which nothing may go: the gateway itself says no, so that no proxy is started for it.

Only the first line of a request is read, to tell which host was asked for.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

LINE_BYTES = 8192
LINE_SECONDS = 5.0
AT_ONCE = 64
UNREAD = "(no name)"


class Shut:
    """Answers ``403 host_blocked`` on a listener until ``close``. ``on_host`` is told each host that was asked for."""

    def __init__(self, listener: socket.socket, on_host: Callable[[str], None], words: str) -> None:
        self.on_host = on_host
        self.words = words
        self.listener = listener.dup()  # closing the server must not close the door's own
        self.listener.setblocking(False)
        self.server: asyncio.Server | None = None
        self.open = 0

    async def start(self) -> None:
        self.server = await asyncio.start_server(self._serve, sock=self.listener, limit=LINE_BYTES)

    def close(self) -> None:
        if self.server is not None:
            self.server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        with contextlib.suppress(OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
            if self.open <= AT_ONCE:
                async with asyncio.timeout(LINE_SECONDS):
                    self.on_host(asked_for(await reader.readline()))
                    writer.write(self._no())
                    await writer.drain()
        self.open -= 1
        writer.close()

    def _no(self) -> bytes:
        said = {"code": "host_blocked", "message": self.words, "from": "benchwright egress"}
        body = json.dumps({"error": said}).encode()
        head = "HTTP/1.1 403 host_blocked\r\ncontent-type: application/json\r\nconnection: close\r\n"
        return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def asked_for(line: bytes) -> str:
    """The host that a request's first line names, in small letters; UNREAD where it names none."""
    words = line.decode("latin-1").split()
    if len(words) != 3:
        return UNREAD
    method, target, _ = words
    try:
        place = target if method.upper() == "CONNECT" else urlsplit(target).netloc
        return urlsplit(f"//{place}").hostname or UNREAD
    except ValueError:
        return UNREAD
