"""The line to the gateway process: it hands listeners over, and judges every request. One JSON object per line."""

import asyncio
import contextlib
import itertools
import json
import os
import socket
import struct
from collections.abc import Callable
from typing import Any, Protocol

LINE_BYTES = 4 << 20
JUDGE_SECONDS = 15.0


class Doors(Protocol):
    """What the gateway may ask of the proxy."""

    def serve(self, lease: str, listener: socket.socket, link: "Link") -> None:
        """Accept connections of a run's sandbox."""

    def cut(self, lease: str) -> None:
        """End the connections of a lease, but go on listening."""

    def drop(self, lease: str) -> None:
        """Close a lease's listener and connections."""


class LinkLost(ConnectionError):
    """The gateway is away: nothing can be judged, so nothing passes."""


class LinkServer:
    """Listens for the gateway on a socket that only our own user can open."""

    def __init__(self, listener: socket.socket, doors: Doors) -> None:
        self.loop = asyncio.get_running_loop()
        self.listener = listener
        self.doors = doors
        self.links: set[Link] = set()
        listener.setblocking(False)
        self.loop.add_reader(listener.fileno(), self._accept)

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError, InterruptedError):
            client, _ = self.listener.accept()
            if _peer_uid(client) not in (os.geteuid(), 0):
                client.close()
                return
            self.links.add(Link(client, self.doors, self.links.discard))

    def close(self) -> None:
        self.loop.remove_reader(self.listener.fileno())
        for link in list(self.links):
            link.close()


class Link:
    """One gateway's connection. When it ends, so do its leases."""

    def __init__(self, client: socket.socket, doors: Doors, on_end: Callable[["Link"], None]) -> None:
        self.loop = asyncio.get_running_loop()
        self.socket = client
        client.setblocking(False)
        self.doors = doors
        self.on_end = on_end
        self.leases: set[str] = set()
        self.inbox = bytearray()
        self.out = bytearray()
        self.fds: list[int] = []
        self.questions: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.numbers = itertools.count(1)
        self.closed = False
        self.loop.add_reader(client.fileno(), self._read)

    # -- towards the gateway ---------------------------------------------------------------------------------------
    async def judge(self, question: dict[str, Any]) -> dict[str, Any]:
        """The gateway's word on a request. LinkLost."""
        if self.closed:
            raise LinkLost("the gateway is gone")
        number = next(self.numbers)
        answer = self.questions[number] = self.loop.create_future()
        try:
            self.tell({"op": "judge", **question, "id": number})
            async with asyncio.timeout(JUDGE_SECONDS):
                said: dict[str, Any] = await answer
                return said
        except TimeoutError:
            raise LinkLost("the gateway does not answer") from None
        finally:
            self.questions.pop(number, None)

    def tell(self, message: dict[str, Any]) -> None:
        """Send a line; nobody may be there to read it."""
        if self.closed:
            return
        idle = not self.out
        self.out += json.dumps(message).encode() + b"\n"
        if idle:
            self._write()

    def _write(self) -> None:
        try:
            count = self.socket.send(self.out)
        except (BlockingIOError, InterruptedError):
            count = 0
        except OSError:
            self.close()
            return
        del self.out[:count]
        if self.out:
            self.loop.add_writer(self.socket.fileno(), self._write)
        else:
            self.loop.remove_writer(self.socket.fileno())

    # -- from the gateway ------------------------------------------------------------------------------------------
    def _read(self) -> None:
        try:
            data, fds, flags, _ = socket.recv_fds(self.socket, 1 << 18, 16, socket.MSG_CMSG_CLOEXEC)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.close()
            return
        self.fds.extend(fds)
        if not data or flags & socket.MSG_CTRUNC or len(self.inbox) > LINE_BYTES:
            self.close()
            return
        self.inbox += data
        *lines, rest = bytes(self.inbox).split(b"\n")
        self.inbox = bytearray(rest)
        for line in lines:
            self._take(json.loads(line))

    def _take(self, message: dict[str, Any]) -> None:
        operation, lease = message.get("op"), str(message.get("lease"))
        if operation is None:
            answer = self.questions.get(message.get("id", 0))
            if answer is not None and not answer.done():
                answer.set_result(message)
        elif operation == "serve" and self.fds:
            self.doors.serve(lease, socket.socket(fileno=self.fds.pop(0)), self)
            self.leases.add(lease)
            self.tell({"op": "serving", "lease": lease})
        elif operation == "cut":
            self.doors.cut(lease)
        elif operation == "drop":
            self.leases.discard(lease)
            self.doors.drop(lease)
            self.tell({"op": "dropped", "lease": lease})  # whatever was told of the lease, was told before
        elif operation == "ping":
            self.tell({"op": "pong"})

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.loop.remove_reader(self.socket.fileno())
        self.loop.remove_writer(self.socket.fileno())
        self.socket.close()
        for fd in self.fds:
            os.close(fd)
        for answer in self.questions.values():
            if not answer.done():
                answer.set_exception(LinkLost("the gateway is gone"))
        for lease in self.leases:
            self.doors.drop(lease)
        self.on_end(self)


def _peer_uid(client: socket.socket) -> int:
    if not hasattr(socket, "SO_PEERCRED"):
        return os.geteuid()  # the socket's own mode guards it there
    return int(struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])
