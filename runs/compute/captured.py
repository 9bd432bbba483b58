"""What a role prints: the first MiB and the last few KiB; its reader never blocks and never falls behind for long."""

import asyncio
import os

CAP = 1 << 20
TAIL = 4096
PAUSE = 0.01  # seconds between reads once the cap is reached: a flood costs the flooder, not us


class Captured:
    """Reads one pipe inside the running loop until its end. ``on_end`` is called once."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.kept = bytearray()
        self.tail = b""
        self.total = 0
        self.ended = asyncio.get_running_loop().create_future()
        os.set_blocking(fd, False)
        self.loop = asyncio.get_running_loop()
        self.loop.add_reader(fd, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self.fd, 65_536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        self._keep(data)
        if self.total > CAP:
            self.loop.remove_reader(self.fd)
            self.loop.call_later(PAUSE, self._resume)

    def _keep(self, data: bytes) -> None:
        self.total += len(data)
        if len(self.kept) < CAP:
            self.kept += data[: CAP - len(self.kept)]
        self.tail = (self.tail + data)[-TAIL:]

    def _resume(self) -> None:
        if self.fd >= 0:
            self.loop.add_reader(self.fd, self._read)

    def drain(self) -> None:
        """Take what lies ready now (its writer is dead)."""
        for _ in range(64):
            if self.fd < 0:
                return
            before = self.total
            self._read()
            if self.total == before:
                return

    def close(self) -> None:
        if self.fd >= 0:
            self.loop.remove_reader(self.fd)
            os.close(self.fd)
            self.fd = -1
        if not self.ended.done():
            self.ended.set_result(None)

    def text(self) -> str:
        """What was kept, with "[truncated]" when there was more."""
        return self.kept.decode(errors="replace") + ("\n[truncated]" if self.total > CAP else "")

    def tail_text(self) -> str:
        return self.tail.decode(errors="replace")
