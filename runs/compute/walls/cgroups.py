"""Hard caps by the kernel's control groups, where this user may make groups (v1 or v2); elsewhere there are none.

They back the watcher in `watching.py`: it samples and tells why, the group stops what is quicker than a sample.
"""

import contextlib
import os
import uuid
from pathlib import Path

from runs.compute.watching import tree

PREFIX = "benchwright-"
GIVEN = "BENCHWRIGHT_CGROUPS"  # "memory=/folder:pids=/folder", where whoever started us has made some for us
# A group is joined before its process becomes another user: root of a user namespace may not move others (version 1).
JOIN = 'for group in $1; do echo 0 > "$group/cgroup.procs" || :; done 2>/dev/null; shift; exec "$@"'
ROOM = 1.25  # of the cap: the watcher comes first
ROOT = Path("/sys/fs/cgroup")


class Fence:
    """The groups of one role; none where nothing could be made."""

    def __init__(self, memory_bytes: int, pids: int) -> None:
        name = PREFIX + uuid.uuid4().hex
        self.memory_bytes = memory_bytes
        hard = int(memory_bytes * ROOM)
        self.memory = _group(name, "memory", {"memory.max": hard, "memory.limit_in_bytes": hard})
        self.pids = _group(name, "pids", {"pids.max": pids + 8})
        if self.memory:
            with contextlib.suppress(OSError):
                (self.memory / "memory.swap.max").write_text("0")

    @property
    def groups(self) -> set[Path]:
        return {group for group in (self.memory, self.pids) if group}

    def around(self, argv: list[str]) -> list[str]:
        """The command that first joins the groups. Where it may not, ``hold`` comes after."""
        names = " ".join(str(group) for group in sorted(self.groups))
        return ["/bin/sh", "-c", JOIN, "sh", names, *argv] if names and os.environ.get(GIVEN) else argv

    def hold(self, top: int) -> None:
        """Move a process and all its descendants in; those that they start later are born inside."""
        held: set[int] = set()
        while self.groups and (fresh := set(tree(top)) - held):
            for pid in fresh:
                for group in self.groups:
                    with contextlib.suppress(OSError):  # it ended meanwhile
                        (group / "cgroup.procs").write_text(str(pid))
            held |= fresh

    def killed(self) -> bool:
        """True when the kernel ended a process of the role for its memory."""
        for name in ("memory.events", "memory.oom_control"):
            try:
                text = (self.memory / name).read_text() if self.memory else ""
            except OSError:
                continue
            if any(line.startswith("oom_kill ") and line.split()[1] != "0" for line in text.splitlines()):
                return True
        return False

    def remove(self) -> None:
        for group in self.groups:
            _drop(group)


def sweep() -> None:
    """Remove groups whose worker was killed; those in use can't be removed, so all may be tried."""
    for controller in ("memory", "pids"):
        for home in homes(controller):
            for group in home.glob(PREFIX + "*"):
                _drop(group)


def _drop(group: Path) -> None:
    with contextlib.suppress(OSError):
        group.rmdir()


def homes(controller: str) -> list[Path]:
    """Folders in which a group may be made: our own group, then the one above it, then the mount itself."""
    given = dict(each.split("=", 1) for each in os.environ.get(GIVEN, "").split(os.pathsep) if each)
    if given:
        return [Path(given[controller])] if controller in given else []
    try:
        lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return []
    for _, controllers, path in lines:
        old = controller in controllers.split(",")
        mount = ROOT / controller if old else ROOT
        if old or (not controllers and (ROOT / "cgroup.controllers").exists()):
            own = mount / path.lstrip("/")
            homes = [home for home in (own, own.parent, mount) if home == mount or mount in home.parents]
            return [home for home in dict.fromkeys(homes) if home.is_dir() and os.access(home, os.W_OK)]
    return []


def _group(name: str, controller: str, caps: dict[str, int]) -> Path | None:
    for home in homes(controller):
        group = home / name
        try:
            group.mkdir(exist_ok=True)
            for file, value in caps.items():
                if (group / file).exists():
                    (group / file).write_text(str(value))
                    return group
        except OSError:
            pass
        _drop(group)
    return None
