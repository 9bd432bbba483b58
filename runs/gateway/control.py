"""The control socket: workers lease listeners and ask for facts. One JSON object per line, descriptors beside it."""

import asyncio
import contextlib
import logging
import os
import socket
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from django.conf import settings

from runs.gateway import trying
from runs.gateway.books import Beside, LeaseRefused

if TYPE_CHECKING:
    from runs.gateway.process import Gateway

log = logging.getLogger("benchwright.gateway")

LINE_BYTES = 8 << 20
BACKLOG_BYTES = 16 << 20


class ControlServer:
    """Listens on a socket that only our own user can open, and the one named in ``settings.GATEWAY_PEER``."""

    def __init__(self, gate: "Gateway", path: str) -> None:
        self.gate = gate
        self.path = Path(path)
        self.loop = asyncio.get_running_loop()
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path.unlink(missing_ok=True)  # the journal's lock says that no other gateway lives
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        old = os.umask(0o177)
        try:
            self.socket.bind(str(self.path))
        finally:
            os.umask(old)
        if settings.GATEWAY_PEER:
            os.chown(self.path, -1, settings.GATEWAY_PEER)
            self.path.chmod(0o660)
        self.may_call = {os.geteuid(), 0, settings.GATEWAY_PEER}
        self.socket.listen(64)
        self.socket.setblocking(False)
        self.loop.add_reader(self.socket.fileno(), self._accept)
        self.open: set[Control] = set()

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError, InterruptedError):
            client, _ = self.socket.accept()
            if _peer_uid(client) not in self.may_call:
                client.close()
                return
            self.open.add(Control(self, client))

    def close(self) -> None:
        self.loop.remove_reader(self.socket.fileno())
        self.socket.close()
        self.path.unlink(missing_ok=True)
        for control in list(self.open):
            control.close()


class Control:
    """One worker's connection. When it ends, so do its leases."""

    def __init__(self, server: ControlServer, client: socket.socket) -> None:
        self.server = server
        self.gate = server.gate
        self.loop = server.loop
        self.socket = client
        client.setblocking(False)
        self.buffer = bytearray()
        self.out = bytearray()
        self.fds: list[int] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.leases: set[str] = set()
        self.doors: set[str] = set()  # ways out to the network
        self.closed = False
        self.loop.add_reader(client.fileno(), self._read)

    def _read(self) -> None:
        try:
            data, fds, flags, _ = socket.recv_fds(self.socket, 1 << 18, 16, socket.MSG_CMSG_CLOEXEC)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.close()
            return
        self.fds.extend(fds)
        if not data or flags & socket.MSG_CTRUNC or len(self.buffer) > LINE_BYTES or len(self.fds) > 16:
            self.close()
            return
        self.buffer += data
        *lines, rest = bytes(self.buffer).split(b"\n")
        self.buffer = bytearray(rest)
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            message = orjson.loads(line)
            operation = message["op"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            self.close()
            return
        # A descriptor belongs to the lease that it came with, so it is taken off in the order of the lines.
        fd = self.fds.pop(0) if operation in ("lease", "egress") and self.fds else None
        task = self.loop.create_task(self._answer(operation, message, fd))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _answer(self, operation: str, message: dict[str, Any], fd: int | None) -> None:
        try:
            reply = await self._do(operation, message, fd)
        except LeaseRefused as no:
            reply = {"ok": False, "code": no.code, "detail": no.detail}
        except Exception as bad:
            log.exception("control: %s failed", operation)
            reply = {"ok": False, "code": "internal_error", "detail": type(bad).__name__}
        self.push({"id": message.get("id"), **reply})

    async def _do(self, operation: str, message: dict[str, Any], fd: int | None) -> dict[str, Any]:
        if operation in ("lease", "egress"):
            return await self._open(operation, message, fd)
        if operation in ("close", "close_egress"):
            return await self._close(operation, message)
        if operation == "facts":
            return {"ok": True, "facts": await self.gate.facts(message["lease"], message["cells"])}
        if operation == "waited":
            return {"ok": True, **self.gate.waited(message["lease"], message["cells"])}
        if operation == "spent":
            return {"ok": True, "facts": self.gate.spent(message["lease"], message["cells"])}
        if operation == "held":
            return {"ok": True, "words": self.gate.held(message["lease"])}
        if operation == "try":
            return {
                "ok": True,
                **await trying.attempt(self.gate, message["account"], message["sut"], message["sut_key"]),
            }
        if operation == "ping":
            return {"ok": True}
        return {"ok": False, "code": "unknown_op", "detail": f"there is no {operation!r}"}

    async def _open(self, operation: str, message: dict[str, Any], fd: int | None) -> dict[str, Any]:
        """A lease for calls of models, or a door to hosts on the network: both are a listener of a sandbox."""
        listener, name = _listener(fd), str(message["lease"])
        place = name, message["run"], message["mac_key"], listener
        try:
            if operation == "lease":
                await self.gate.lease(*place, self, Beside.told(message))
            else:
                role = str(message.get("role", "solve"))
                await self.gate.doors.lease(*place, eager=message.get("eager") is True, role=role)
        except BaseException:
            listener.close()
            raise
        if operation == "lease":
            self.leases.add(name)
        else:
            self.doors.add(name)
        if self.closed:
            self.gate.end_lease(name, "lease_closed")
            self.gate.doors.close(name)
        return {"ok": True}

    async def _close(self, operation: str, message: dict[str, Any]) -> dict[str, Any]:
        name = message["lease"]
        if operation == "close" and name in self.leases:
            self.leases.discard(name)
            await self.gate.close_lease(name, keep_calls=message.get("keep_calls") is True)
        elif operation == "close_egress" and name in self.doors:
            self.doors.discard(name)
            await self.gate.doors.close_told(name)
        return {"ok": True}

    def push(self, message: dict[str, Any]) -> None:
        """Sends a line; a worker that does not read is cut off."""
        if self.closed:
            return
        idle = not self.out
        self.out += orjson.dumps(message) + b"\n"
        if len(self.out) > BACKLOG_BYTES:
            self.close()
        elif idle:
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

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.loop.remove_reader(self.socket.fileno())
        self.loop.remove_writer(self.socket.fileno())
        self.socket.close()
        for fd in self.fds:
            os.close(fd)
        for lease in self.leases:
            # Calls under way are paid for: they run on, so that the next worker finds their answers.
            self.gate.end_lease(lease, "lease_closed")
        for door in self.doors:
            self.gate.doors.close(door)
        self.server.open.discard(self)


def _listener(fd: int | None) -> socket.socket:
    """The passed descriptor as a listening loopback socket. LeaseRefused for anything else."""
    if fd is None:
        raise LeaseRefused("no_listener", "a lease needs a listening socket")
    try:
        listener = socket.socket(fileno=fd)
    except OSError:
        os.close(fd)
        raise LeaseRefused("bad_listener", "the descriptor is no socket") from None
    good = (
        listener.family == socket.AF_INET
        and listener.type == socket.SOCK_STREAM
        and listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
        and str(listener.getsockname()[0]).startswith("127.")
    )
    if not good:
        listener.close()
        raise LeaseRefused("bad_listener", "a lease needs a TCP socket that listens on loopback")
    listener.setblocking(False)
    return listener


def _peer_uid(client: socket.socket) -> int:
    if not hasattr(socket, "SO_PEERCRED"):
        return os.geteuid()  # the socket's own mode guards it there
    return int(struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])
