"""One role's process as the worker sees it: frames out, frames in, and one report of its death."""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import subprocess
from collections import deque
from collections.abc import Callable, Sequence

from runs.compute import messages as wire
from runs.compute.base import ComputeFault, Death, Message, RoleDead, RolesSpec, ScorerFault
from runs.compute.captured import Captured
from runs.compute.walls.cgroups import Fence
from runs.compute.watching import tree

READ = 1 << 18
GRACE = 0.05  # seconds between the end of the channel and the end of the process, so that its status can be told
START_SECONDS = 30.0


class RoleProcess:
    """A Role over a socket pair. Made and used inside one running event loop."""

    def __init__(
        self,
        name: str,
        start: Callable[[int, int, int], "subprocess.Popen[bytes]"],
        fence: Fence | None,
        *,
        ways: int = 1,
    ) -> None:
        """``start(channel_fd, stdout_fd, stderr_fd)`` starts the process; the descriptors are the child's.

        ``fence``: its control groups; None for a plain process without walls. ``ways``: how many
        listeners solve passes out.
        """
        self.name = name
        self.fence = fence
        self.sandboxed = fence is not None
        self.loop = asyncio.get_running_loop()
        self.nonce = secrets.token_hex(16)
        self.ways = ways
        self.listener: socket.socket | None = None
        self.egress_listener: socket.socket | None = None
        self.dead: Death | None = None
        self.ready: asyncio.Future[Message] = self.loop.create_future()
        self.gone: asyncio.Future[None] = self.loop.create_future()
        self._on_messages: Callable[[list[Message]], None] | None = None
        self._on_death: Callable[[Death], None] | None = None
        self._early: list[Message] = []
        self._inbox = bytearray()
        self._outbox: deque[memoryview] = deque()
        self._queued = 0
        self.init_fd = -1
        self._reason: tuple[str, str] | None = None
        self._begin(start)

    # --- Starting -----------------------------------------------------------------------------------------------

    def _begin(self, start: Callable[[int, int, int], "subprocess.Popen[bytes]"]) -> None:
        self.socket, theirs = socket.socketpair()
        out, out_theirs = os.pipe()
        err, err_theirs = os.pipe()
        try:
            self.process = start(theirs.fileno(), out_theirs, err_theirs)
        except BaseException:
            self.socket.close()
            os.close(out)
            os.close(err)
            raise
        finally:
            theirs.close()
            os.close(out_theirs)
            os.close(err_theirs)
        self.socket.setblocking(False)
        self.stdout, self.stderr = Captured(out), Captured(err)
        self._await_exit()
        self.loop.add_reader(self.socket, self._readable)

    def _await_exit(self) -> None:
        if hasattr(os, "pidfd_open"):
            self.pidfd = os.pidfd_open(self.process.pid)
            self.loop.add_reader(self.pidfd, self._exited)
        else:  # macOS, where only unsandboxed roles exist
            self.pidfd = -1
            waiting = self.loop.run_in_executor(None, self.process.wait)
            waiting.add_done_callback(lambda done: self._exited())

    async def load(self, spec: RolesSpec, start: Message) -> None:
        """Send the start message and wait until the code is loaded. Raises ScorerFault or ComputeFault."""
        if self.fence:
            self.fence.hold(self.process.pid)  # it waits for the start message, so no user code has run yet
        self.send([{**start, "nonce": self.nonce, "role": self.name, "code": spec.code}])
        try:
            async with asyncio.timeout(START_SECONDS):
                answer = await self.ready
        except TimeoutError:
            self.kill("killed", "it did not become ready")
            raise ComputeFault(f"The {self.name} sandbox did not become ready in {START_SECONDS:.0f} s.") from None
        self._find_init()
        if answer["op"] == "broken":
            self.kill("killed", "its code could not be loaded")
            raise ScorerFault(self.name, wire.error_of(answer.get("error")))

    # --- The agreed interface -----------------------------------------------------------------------------------

    @property
    def on_messages(self) -> Callable[[list[Message]], None] | None:
        return self._on_messages

    @on_messages.setter
    def on_messages(self, callback: Callable[[list[Message]], None] | None) -> None:
        self._on_messages = callback
        if callback and self._early:
            early, self._early = self._early, []
            self.loop.call_soon(callback, early)

    @property
    def on_death(self) -> Callable[[Death], None] | None:
        return self._on_death

    @on_death.setter
    def on_death(self, callback: Callable[[Death], None] | None) -> None:
        self._on_death = callback
        if callback and self.dead:
            self.loop.call_soon(callback, self.dead)

    @property
    def pending_bytes(self) -> int:
        return self._queued

    def send(self, messages: Sequence[Message]) -> None:
        if self.dead or self._reason:
            raise RoleDead(self.name)
        was_empty = not self._outbox
        for frame in wire.pack(self.nonce, messages):
            self._outbox.append(memoryview(frame))
            self._queued += len(frame)
        if was_empty and self._outbox:
            self._write()

    def kill(self, reason: str = "killed", detail: str = "") -> None:
        if self.dead:
            return
        if self._reason is None:
            self._reason = (reason, detail)
        self._end_tree()

    def _find_init(self) -> None:
        """The runner, first process inside. Killing it ends all others there; bubblewrap stays to collect it."""
        if not self.sandboxed:
            return
        try:
            with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
                self.init_fd = os.pidfd_open(int(file.read().split()[0]))
        except (OSError, IndexError):
            self.init_fd = -1

    def _end_tree(self) -> None:
        if self.dead:
            return
        if not self.sandboxed:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        if self.init_fd < 0:  # still starting: nothing ties its parts together yet
            for pid in tree(self.process.pid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.init_fd, signal.SIGKILL)
        self.loop.call_later(1.0, self._end_parent)

    def _end_parent(self) -> None:
        if not self.dead:
            self.process.kill()

    async def closed(self) -> None:
        """Kill it if need be and wait until nothing of its process tree is left."""
        self.kill()
        await self.gone
        async with asyncio.timeout(5):
            await asyncio.gather(self.stdout.ended, self.stderr.ended)
        for listener in (self.listener, self.egress_listener):
            if listener:
                listener.close()
        if self.fence:
            self.fence.remove()

    # --- Frames -------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        while self._outbox:
            try:
                sent = self.socket.send(self._outbox[0])
            except BlockingIOError:
                self.loop.add_writer(self.socket, self._write)
                return
            except OSError:
                self._outbox.clear()
                break  # its end is told by the reader
            self._queued -= sent
            if sent == len(self._outbox[0]):
                self._outbox.popleft()
            else:
                self._outbox[0] = self._outbox[0][sent:]
        if self.socket.fileno() >= 0:
            self.loop.remove_writer(self.socket)

    def _readable(self) -> None:
        try:
            data = self._receive()
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end_of_channel()
            return
        self._inbox += data
        try:
            self._take_frames()
        except wire.BadFrame as error:
            self.loop.remove_reader(self.socket)
            self.kill("protocol", str(error))

    def _receive(self) -> bytes:
        if self.name != "solve" or self.listener is not None:
            return self.socket.recv(READ)  # descriptors that come along here are dropped by the kernel
        data, fds, _, _ = socket.recv_fds(self.socket, READ, 4)
        if fds:
            self.listener, *others = _listeners(fds, self.ways)
            self.egress_listener = others[0] if others else None
        return data

    def _take_frames(self) -> None:
        at, taken = 0, []
        while len(self._inbox) - at >= 4:
            size = wire.LENGTH.unpack_from(self._inbox, at)[0]
            if size > wire.FRAME_CAP:
                raise wire.BadFrame(f"a frame of {size} bytes")
            if len(self._inbox) - at - 4 < size:
                break
            taken += wire.unpack(bytes(self._inbox[at + 4 : at + 4 + size]), self.nonce)
            at += 4 + size
        del self._inbox[:at]
        if taken:
            self._deliver(taken)

    def _deliver(self, taken: list[Message]) -> None:
        if not self.ready.done():
            taken = self._opening(taken)
        admitted = [wire.admit(self.name, message) for message in taken]
        if self._reason is not None or not admitted:
            return
        if self._on_messages:
            self._on_messages(admitted)
        else:
            self._early += admitted

    def _opening(self, taken: list[Message]) -> list[Message]:
        for at, message in enumerate(taken):
            if message.get("op") in {"ready", "broken"}:
                self.ready.set_result(message)
                return taken[at + 1 :]
            if message.get("op") != "listening" or self.listener is None:
                raise wire.BadFrame("not an opening message")
        return []

    # --- The end ------------------------------------------------------------------------------------------------

    def _end_of_channel(self) -> None:
        self.loop.remove_reader(self.socket)
        self.loop.call_later(GRACE, self._end_tree)

    def _exited(self) -> None:
        status = self.process.poll()
        if status is None:
            return
        if self.pidfd >= 0:
            self.loop.remove_reader(self.pidfd)
            os.close(self.pidfd)
        if self.init_fd >= 0:
            os.close(self.init_fd)
        if self._reason is None:
            self._read_rest()
        if self._reason is None and self.fence and self.fence.killed():
            self._reason = ("memory", f"more than {self.fence.memory_bytes >> 20} MB in use")
        self._close_channel()
        self.stderr.drain()
        reason, detail = self._reason or ("exited", _how(status))
        self._reason = (reason, detail)
        self.dead = Death(self.name, reason, detail, self.stderr.tail_text())
        if not self.ready.done():
            said = self.dead.stderr_tail.strip()[-500:]
            self.ready.set_exception(ComputeFault(f"The {self.name} sandbox ended at its start ({detail}). {said}"))
            self.ready.exception()  # told to whoever waits; nobody may
        self.gone.set_result(None)
        if self._on_death:
            self._on_death(self.dead)

    def _read_rest(self) -> None:
        """Frames that were sent before the end still count."""
        for _ in range(1024):
            before = len(self._inbox)
            try:
                data = self.socket.recv(READ)
                self._inbox += data
                self._take_frames()
            except (OSError, wire.BadFrame):
                return
            if not data and len(self._inbox) == before:
                return

    def _close_channel(self) -> None:
        self.loop.remove_reader(self.socket)
        self.loop.remove_writer(self.socket)
        self.socket.close()
        self._outbox.clear()
        self._queued = 0


def _listeners(fds: list[int], ways: int) -> list[socket.socket]:
    """The descriptors that may come: listening TCP sockets on the role's own loopback, as many as were asked for."""
    kept = [socket.socket(fileno=fd) for fd in fds]
    good = len(kept) == ways and all(
        each.family == socket.AF_INET
        and each.type == socket.SOCK_STREAM
        and each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        for each in kept
    )
    for each in kept:
        each.setblocking(False)
        if not good:
            each.close()
    if not good:
        raise wire.BadFrame("not a listening socket")
    return kept


def _how(status: int) -> str:
    """A process's end in words; bubblewrap tells its child's signal as 128 + n."""
    if status < 0:
        return f"signal {-status}"
    return f"signal {status - 128}" if status > 128 else f"exit status {status}"
