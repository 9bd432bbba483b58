"""Run a command that dies with its parent: ``python leash.py SIGNAL PARENT_PID USER COMMAND…``.

``SIGNAL`` is what the kernel sends to the command when the parent is gone, even by ``kill -9``. ``USER`` is who to
become first: ``-`` (nobody else), the name of a system user, or a place as JSON (`walls/people.py`). Started as a
file, with nothing imported from the house, so that it costs 20 ms.
"""

import contextlib
import ctypes
import json
import os
import pwd
import signal
import stat
import subprocess
import sys

PR_SET_PDEATHSIG = 1
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18


def become(user: str) -> None:
    if user.startswith("{"):
        take_place(json.loads(user))
        return
    entry = pwd.getpwnam(user)
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def take_place(place: dict) -> None:  # type: ignore[type-arg]
    """``uid``, ``gid``, ``ways`` [[closed folder, path]], ``spare`` [first, count] or null, ``cgroups`` [folder]."""
    for group in place["cgroups"]:
        # Without it there is a fence less, and the watcher still looks.
        with contextlib.suppress(OSError), open(os.path.join(group, "cgroup.procs"), "w") as file:
            file.write(str(os.getpid()))
    if place["ways"]:
        open_ways(place["ways"])
    if place["spare"]:
        own_users(place["uid"], place["gid"], *place["spare"])
        return
    os.setgroups([])
    os.setgid(place["gid"])
    os.setuid(place["uid"])


def open_ways(ways: list[list[str]]) -> None:
    """For this process alone: of each closed folder nothing is seen but the paths in it that are needed."""
    _call("unshare", CLONE_NEWNS)
    _call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    held = [(os.open(path, os.O_PATH), path) for _, path in ways]
    for closed in sorted({closed for closed, _ in ways}):
        _call("mount", b"tmpfs", os.fsencode(closed), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=0711,size=1m")
    for descriptor, path in held:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.makedirs(path, mode=0o755, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDONLY, 0o644))
        _call("mount", f"/proc/self/fd/{descriptor}".encode(), os.fsencode(path), None, MS_BIND | MS_REC, None)
        os.close(descriptor)


def own_users(uid: int, gid: int, first: int, count: int) -> None:
    """Be root of a user namespace that holds ``uid``, whom root is there, and the spare users, and nobody else.

    So a worker can give each sandbox a user of its own, and is an ordinary user to everything outside.
    """
    (asked, ask), (told, tell) = os.pipe(), os.pipe()
    helper = os.fork()
    if helper == 0:  # it stays outside, where the users are that are to be mapped
        os.read(asked, 1)
        for name, own in (("uid_map", uid), ("gid_map", gid)):
            with open(f"/proc/{os.getppid()}/{name}", "w") as file:
                file.write(f"0 {own} 1\n{first} {first} {count}\n")
        os.write(tell, b"k")
        os._exit(0)
    _call("unshare", CLONE_NEWUSER)
    os.close(tell)
    os.write(ask, b"k")
    done = os.read(told, 1)
    os.waitpid(helper, 0)
    if not done:
        sys.exit("the users of sandboxes can't be mapped here")
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def _call(name: str, *given: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*given) != 0:
        sys.exit(f"{name}: {os.strerror(ctypes.get_errno())}")


def watch(number: int, parent: int, command: list[str]) -> int:
    """Where the kernel can't do it (macOS): stay in between and look."""
    child = subprocess.Popen(command)  # noqa: S603 (our own supervisor chose the command)
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        signal.signal(one, lambda received, _frame: child.send_signal(received))
    while True:
        try:
            return child.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            if os.getppid() != parent:
                child.send_signal(number)


def main(argv: list[str]) -> int:
    number, parent, user, command = int(argv[0]), int(argv[1]), argv[2], argv[3:]
    if user != "-":
        become(user)
    if not sys.platform.startswith("linux"):
        return watch(number, parent, command)
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, number)  # after the change of user, which clears it
    if os.getppid() != parent:  # gone already, before the kernel was told
        return 1
    os.execvp(command[0], command)  # noqa: S606 (our own supervisor chose the command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
