"""A real `manage.py serve` on a data folder of its own, watched through /proc."""

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchwright_site.serve.postgres import leashed

ROOT = Path(__file__).resolve().parents[2]
MARKS = {  # how each part is told from the others by its command line
    "web": b"benchwright_site.web",
    "worker1": b"worker1@",
    "sweeper": b"manage.py\0sweep",
    "gateway": b"manage.py\0gateway",
    "postgres": b"bin/postgres\0",
}
Process = tuple[int, str]  # pid and start time: a pid alone may be somebody else's by now


def environment(data: Path) -> dict[str, str]:
    """An installation without anything given from outside."""
    unset = ("DATABASE_URL", "BENCHWRIGHT_TEST_DATABASE", "BENCHWRIGHT_TEST_CLUSTER", "DJANGO_SETTINGS_MODULE")
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    return {**kept, "BENCHWRIGHT_DATA": str(data)}


def manage(data: Path, *arguments: str, given: str = "", user: str = "-") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    command = command if user == "-" else leashed(command, user=user)
    return subprocess.run(
        command, cwd=ROOT, env=environment(data), input=given, text=True, capture_output=True, timeout=120
    )


def until(true: Callable[[], object], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.1)


def _stat(pid: int) -> tuple[int, str, str] | None:
    """(parent, state, start time) of a process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), fields[0], fields[19]


def alive(process: Process) -> bool:
    found = _stat(process[0])
    return found is not None and found[2] == process[1] and found[1] != "Z"


def began(pid: int) -> str:
    """Its start time; empty where it is gone."""
    return (_stat(pid) or (0, "", ""))[2]


def pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


class Server:
    def __init__(self, data: Path, *options: str, user: str = "-") -> None:
        """``user``: as the leash takes it."""
        self.data = data
        self.lines: list[str] = []
        command = [sys.executable, str(ROOT / "manage.py"), "serve", "--port", "0", *options]
        command = command if user == "-" else leashed(command, user=user)
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment(data), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.url = ""

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def said(self, words: str) -> bool:
        return any(words in line for line in self.lines)

    def wait_ready(self, seconds: float = 150) -> None:
        def ready() -> bool:
            assert self.process.poll() is None, "\n".join(self.lines[-30:])
            return self.said("Benchwright is ready: ")

        until(ready, seconds, "ready; it said:\n" + "\n".join(self.lines[-30:]))
        self.url = next(line for line in self.lines if line.startswith("Benchwright is ready: ")).split(": ", 1)[1]

    def get(self, path: str, token: str = "") -> int:
        """The status of a GET; 0 where there was no answer."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=20)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def tree(self) -> list[Process]:
        """The supervisor and all that descends from it."""
        parents = {pid: found for pid in pids() if (found := _stat(pid))}
        inside = {self.process.pid}
        while more := {pid for pid, found in parents.items() if found[0] in inside} - inside:
            inside |= more
        return [(pid, parents[pid][2]) for pid in inside if pid in parents]

    def part(self, name: str) -> Process | None:
        """The direct child that is this part."""
        mark = MARKS.get(name, f"{name}@".encode())
        for pid, began in self.tree():
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
                if mark in line and b"leash.py" not in line and (_stat(pid) or (0,))[0] == self.process.pid:
                    return pid, began
        return None

    def leftovers(self) -> list[str]:
        """Command lines of living processes that were started for this data folder."""
        found = []
        for pid in pids():
            with contextlib.suppress(OSError):
                marks = Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
                if os.fsencode(self.data) in marks and pid != os.getpid() and (_stat(pid) or (0, "Z"))[1] != "Z":
                    found.append(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "))
        return found

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(30)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join(10)
        if self.process.stdout and not self.reader.is_alive():
            self.process.stdout.close()


@contextlib.contextmanager
def serving(data: Path, *options: str, user: str = "-") -> Iterator[Server]:
    server = Server(data, *options, user=user)
    try:
        yield server
    finally:
        server.end()
