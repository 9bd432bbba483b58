"""Run a command that dies with its parent: ``python leash.py SIGNAL PARENT_PID USER COMMAND…``.

``SIGNAL`` is what the kernel sends to the command when the parent is gone, even by ``kill -9``. ``USER`` is a system
user to become first, or ``-``. Started as a file, with nothing imported from the house, so that it costs 20 ms.
"""

import ctypes
import os
import pwd
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1


def become(user: str) -> None:
    entry = pwd.getpwnam(user)
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


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
