"""The processes of an installation: which part each is, what CPU and memory they take."""

import contextlib
import os
import pathlib
import threading
from dataclasses import dataclass, field

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
PROGRAMS = ("postgres", "bwrap")  # told by the executable's own name, wherever it lies
WORDS = {  # a Python process, told by a whole word of its command line
    "benchwright_site.web": "web",
    "celery": "worker",
    "gateway": "gateway",
    "sweep": "sweeper",
    "serve": "serve",
    "local_model": "model",
}


def tree(root: int) -> list[int]:
    """A process and all that descends from it."""
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                todo += map(int, pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


def part(executable: str, words: list[str]) -> str:
    """Which part of an installation runs ``executable`` with ``words`` as its command line."""
    name = pathlib.PurePath(executable).name
    if name in PROGRAMS:
        return name
    if any(pathlib.PurePath(word).name.startswith("bw_") for word in words):
        return "sandbox"
    return next((known for word in words if (known := WORDS.get(word))), "other")


def _executable(pid: int, words: list[str]) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:  # another user's process: what it calls itself must do
        return words[0].split(":")[0] if words else ""


def _measured(pid: int) -> tuple[str, float, int]:
    """(part, CPU seconds with those of children that ended, resident bytes)."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    words = pathlib.Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    return part(_executable(pid, words), words), sum(map(int, fields[11:15])) / TICKS, int(fields[21]) * PAGE


def snapshot(root: int) -> tuple[dict[str, float], dict[str, float]]:
    """CPU seconds by part, and the largest resident MB of one process by part."""
    cpu: dict[str, float] = {}
    memory: dict[str, float] = {}
    for pid in tree(root):
        with contextlib.suppress(OSError):
            name, seconds, resident = _measured(pid)
            cpu[name] = cpu.get(name, 0.0) + seconds
            memory[name] = max(memory.get(name, 0.0), resident / 2**20)
    return cpu, memory


@dataclass
class Watch:
    """Samples memory five times a second while a run goes."""

    root: int
    peak: dict[str, float] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.over.wait(0.2):
            for name, size in snapshot(self.root)[1].items():
                self.peak[name] = max(self.peak.get(name, 0.0), size)
