"""Memory, process and file counts of living roles, sampled from outside; a role over its cap is killed."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from runs.compute.base import RolesSpec

if TYPE_CHECKING:
    from runs.compute.role import RoleProcess

CALM, CLOSE = 0.2, 0.05  # seconds between looks: usually, and when a role nears a cap
NEAR = 0.5  # of the memory or the files a role may have
WHOLE_TREE = 0.4  # seconds between looks for new processes
FILES = 100_000  # files and folders a sandbox may have at once
SHARED_MEMORY = 16 << 20  # bytes of /dev/shm
PAGE = os.sysconf("SC_PAGE_SIZE")


async def watch(living: "Callable[[], Iterable[RoleProcess]]", spec: RolesSpec) -> None:
    """Until cancelled."""
    loop = asyncio.get_running_loop()
    trees: dict[int, list[int]] = {}
    due = 0.0
    while True:
        whole = loop.time() >= due
        if whole:
            due = loop.time() + WHOLE_TREE
        near = False
        for role in living():
            top = role.process.pid
            if whole or top not in trees:
                trees[top] = tree(top)
            near |= look(role, trees[top], spec)
        await asyncio.sleep(CLOSE if near else CALM)


def look(role: "RoleProcess", pids: list[int], spec: RolesSpec) -> bool:
    """Kill the role when it is over a cap; True when it nears one."""
    if role.dead:
        return False
    in_files, files = _folders(pids, max(spec.tmp_mb << 20, SHARED_MEMORY))
    cap = spec.memory_mb << 20
    used = in_files + sum(map(_resident, pids))
    ended = role.fence is not None and role.fence.killed()  # the kernel was quicker than we, perhaps with a child only
    if ended or (used > cap and in_files + sum(map(_proportional, pids)) > cap):
        role.kill("memory", f"more than {spec.memory_mb} MB in use")
    elif files > FILES:
        role.kill("disk", f"more than {FILES} files")
    elif len(pids) > spec.pids:
        role.kill("pids", f"more than {spec.pids} processes")
    return used > cap * NEAR or files > FILES * NEAR


def tree(top: int) -> list[int]:
    """The process and all its descendants."""
    found, waiting = [], [top]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                waiting += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
        except OSError:
            continue
    return found


def _resident(pid: int) -> int:
    """Bytes of memory that are not files. Pages that forked processes share count in each."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            _, resident, shared = file.read().split()[:3]
    except (OSError, ValueError):  # gone, or going
        return 0
    return (int(resident) - int(shared)) * PAGE


def _proportional(pid: int) -> int:
    """Like _resident, but pages that forked processes still share count once. Dearer, so only asked near the cap."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            told = {line.split()[0]: int(line.split()[1]) for line in file if line.startswith((b"Pss:", b"Pss_File:"))}
    except (OSError, ValueError):
        return _resident(pid)
    return (told.get(b"Pss:", 0) - told.get(b"Pss_File:", 0)) << 10


def _folders(pids: list[int], largest: int) -> tuple[int, int]:
    """Bytes and files in the sandbox's memory-backed folders (bubblewrap is first, the runner second)."""
    used = files = 0
    if len(pids) < 2:
        return 0, 0
    for folder in ("tmp", "rows", "dev/shm"):
        try:
            told = os.statvfs(f"/proc/{pids[1]}/root/{folder}")
        except OSError:
            continue
        if told.f_blocks * told.f_frsize > largest + PAGE:
            continue  # bubblewrap has not changed the root yet: this is the host's
        used += (told.f_blocks - told.f_bfree) * told.f_frsize
        files += told.f_files - told.f_ffree
    return used, files


def end_orphans(mark: str) -> int:
    """Kill sandboxes that were still starting when their worker was killed; how many there were.

    Until bubblewrap's child has tied itself to its parent it would wait for it forever. Such a child is in a process
    namespace of its own, has ``mark`` (our runtime's folder) in its command, and its parent is no bubblewrap of ours.
    """
    depth = len(_field("self", "NSpid"))
    found = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        if mark.encode() not in _command(name) or len(_field(name, "NSpid")) <= depth:
            continue
        parent = _field(name, "PPid")
        if parent and mark.encode() not in _command(parent[0]):
            with contextlib.suppress(OSError):
                os.kill(int(name), signal.SIGKILL)
                found += 1
    return found


def _command(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _field(pid: str, name: str) -> list[str]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return []
    return next((line.split()[1:] for line in lines if line.startswith(f"{name}:")), [])
