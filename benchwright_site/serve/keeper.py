"""One part's life: started, watched, started again with growing pauses, stopped."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping

from benchwright_site.serve.output import Output
from benchwright_site.serve.parts import Part

PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
STABLE_SECONDS = 30.0
LAST_WORDS_SECONDS = 1.0


class NeverReady(RuntimeError):
    """The part did not become ready; the message holds its last words."""


class Keeper:
    def __init__(self, part: Part, output: Output, environment: Mapping[str, str]) -> None:
        self.part, self.output = part, output
        self.environment = {**environment, **part.environment}
        self.process: asyncio.subprocess.Process | None = None
        self.stopping = False
        self.starts = 0
        self.saw_ready_line = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = asyncio.create_task(self._keep(), name=self.part.name)

    async def _keep(self) -> None:
        failures = 0
        while True:
            began = time.monotonic()
            code = await self.run_once()
            if self.stopping:
                return
            failures = 0 if time.monotonic() - began > STABLE_SECONDS else failures
            pause = PAUSES[min(failures, len(PAUSES) - 1)]
            failures += 1
            self.output.say(f"{self.part.name} ended ({described(code)}); starting it again in {pause:g} s")
            await asyncio.sleep(pause)

    async def run_once(self) -> int:
        """Start it and wait for its end; returns its exit code."""
        self.saw_ready_line.clear()
        self.starts += 1
        # A pipe of our own: asyncio's would hold back the news of the end as long as any grandchild keeps it open.
        lines, said = os.pipe()
        try:
            self.process = await asyncio.create_subprocess_exec(
                *self.part.command,
                env=self.environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                pass_fds=self.part.descriptors,
                start_new_session=True,  # Ctrl-C on the terminal is for the supervisor, which stops the parts in order
            )
        finally:
            os.close(said)
        reading = asyncio.create_task(self._read(self.process, lines))
        code = await self.process.wait()
        self._kill_group()
        with contextlib.suppress(asyncio.TimeoutError):  # what left the group may hold the pipe open
            await asyncio.wait_for(reading, 1.0)
        return code

    async def _read(self, process: asyncio.subprocess.Process, lines: int) -> None:
        reader = asyncio.StreamReader(limit=1 << 20)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(lines, "rb")
        )
        try:
            while True:
                try:
                    line = await reader.readline()
                except ValueError:  # a line beyond the limit: its end follows
                    continue
                if not line:
                    return
                self._heard(process, line.decode(errors="replace").rstrip())
        finally:
            transport.close()

    def _heard(self, process: asyncio.subprocess.Process, text: str) -> None:
        if self.part.ready_line and self.part.ready_line in text:
            self.saw_ready_line.set()
        if self.part.fatal_line and self.part.fatal_line in text:
            asyncio.get_running_loop().call_later(LAST_WORDS_SECONDS, _kill, process)
        if text:
            self.output.line(self.part.name, text)

    async def until_ready(self, tries: int = 4) -> None:
        """Wait for the first readiness. Raises NeverReady after ``tries`` starts or the part's patience."""
        until = time.monotonic() + self.part.patience
        while not await self._is_ready():
            if self.stopping:
                return
            if self.starts >= tries or time.monotonic() > until:
                words = "\n".join(f"    {line}" for line in self.output.last.get(self.part.name, ()))
                raise NeverReady(f"{self.part.name} does not start. Its last words:\n{words or '    (none)'}")
            await asyncio.sleep(0.05)

    async def _is_ready(self) -> bool:
        if self.process is None or self.process.returncode is not None:
            return False
        if self.part.probe:
            return await self.part.probe()
        if self.part.ready_line:
            return self.saw_ready_line.is_set()
        pid = self.process.pid
        await asyncio.sleep(0.5)
        return self.process.returncode is None and self.process.pid == pid

    async def stop(self) -> None:
        """Ask, wait ``grace`` seconds, then kill. Leaves nothing of its process group."""
        self.stopping = True
        process = self.process
        if process and process.returncode is None:
            self._signal(self.part.stop)
            try:
                await asyncio.wait_for(process.wait(), self.part.grace)
            except asyncio.TimeoutError:  # noqa: UP041 (the same since 3.11)
                self._signal(signal.SIGKILL)
                await process.wait()
        if self.task:
            await asyncio.wait({self.task}, timeout=1.5)  # its last lines; or it sleeps before another start
            self.task.cancel()
        self._kill_group()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self.process:
                self.process.send_signal(number)

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.process:
                os.killpg(self.process.pid, signal.SIGKILL)


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()


def described(code: int) -> str:
    if code >= 0:
        return f"exit {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
