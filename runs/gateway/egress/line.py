"""The line to the proxy process: listeners go there, questions come back. One JSON object per line."""

import array
import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

Message = dict[str, Any]
READ_BYTES = 1 << 18
LINE_BYTES = 4 << 20
DROP_SECONDS = 2.0


class ProxyAway(ConnectionError):
    """There is no proxy; the words say what it said last, if anything."""


class ProxyLine:
    """One connection. ``on_question`` answers what it is asked; ``on_told`` takes what needs no answer."""

    def __init__(
        self,
        client: socket.socket,
        on_question: Callable[[Message], Awaitable[Message]],
        on_told: Callable[[Message], None],
        on_lost: Callable[[str], None],
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.socket = client
        self.on_question, self.on_told, self.on_lost = on_question, on_told, on_lost
        self.serving: dict[str, asyncio.Future[None]] = {}
        self.dropping: dict[str, asyncio.Future[None]] = {}
        self.lock = asyncio.Lock()
        self.words = ""
        self.tasks: set[asyncio.Task[None]] = set()
        self.closed = False
        self._start(self._read_forever())

    @classmethod
    async def dial(
        cls,
        path: str,
        on_question: Callable[[Message], Awaitable[Message]],
        on_told: Callable[[Message], None],
        on_lost: Callable[[str], None],
    ) -> "ProxyLine":
        """ProxyAway where nobody listens."""
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(client, path)
        except OSError as bad:
            client.close()
            raise ProxyAway(f"nobody listens at {path} ({bad.strerror or bad})") from None
        return cls(client, on_question, on_told, on_lost)

    async def serve(self, lease: str, listener: socket.socket) -> None:
        """Hand a listener over; returns once connections are accepted there. ProxyAway."""
        served = self.serving[lease] = self.loop.create_future()
        try:
            await self.send({"op": "serve", "lease": lease}, listener)
            await served
        finally:
            self.serving.pop(lease, None)

    async def drop(self, lease: str) -> None:
        """Have a listener closed; returns once all that was to be told of it has come, or soon anyway."""
        dropped = self.dropping[lease] = self.loop.create_future()
        try:
            await self.send({"op": "drop", "lease": lease})
            async with asyncio.timeout(DROP_SECONDS):
                await dropped
        except (ProxyAway, TimeoutError):
            return
        finally:
            self.dropping.pop(lease, None)

    async def send(self, message: Message, listener: socket.socket | None = None) -> None:
        """ProxyAway."""
        line = orjson.dumps(message) + b"\n"
        async with self.lock:
            try:
                if listener is not None:
                    await self._send_first(line[:1], listener)
                    line = line[1:]
                await self.loop.sock_sendall(self.socket, line)
            except OSError as bad:
                raise ProxyAway(str(bad)) from None

    async def _send_first(self, byte: bytes, listener: socket.socket) -> None:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener.fileno()]))]
        while True:
            try:
                self.socket.sendmsg([byte], rights)
                return
            except BlockingIOError:
                await asyncio.sleep(0.01)

    def post(self, message: Message) -> None:
        """Send without waiting; lost with the line."""
        self._start(self._quietly(message))

    async def _quietly(self, message: Message) -> None:
        with contextlib.suppress(ProxyAway):
            await self.send(message)

    def _start(self, work: Any) -> None:
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _read_forever(self) -> None:
        rest = b""
        with contextlib.suppress(OSError, orjson.JSONDecodeError):
            while data := await self.loop.sock_recv(self.socket, READ_BYTES):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._take(orjson.loads(line))
                if len(rest) > LINE_BYTES:
                    break
        self.close()

    def _take(self, message: Message) -> None:
        operation = message.get("op")
        if operation == "judge":
            self._start(self._answer(message))
        elif operation in ("serving", "dropped"):
            waiting = self.serving if operation == "serving" else self.dropping
            done = waiting.get(str(message.get("lease")))
            if done is not None and not done.done():
                done.set_result(None)
        elif operation == "unavailable":
            self.words = str(message.get("detail"))[:600]
        else:
            self.on_told(message)

    async def _answer(self, message: Message) -> None:
        answer = await self.on_question(message)
        await self._quietly({**answer, "id": message.get("id")})

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.socket.close()
        for served in (*self.serving.values(), *self.dropping.values()):
            if not served.done():
                served.set_exception(ProxyAway(self.words or "the proxy ended"))
        self.on_lost(self.words)
