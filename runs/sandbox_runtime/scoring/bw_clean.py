"""After a row that was judged alone: no process of it lives on, and its files are gone."""

import itertools
import os
import signal
import stat
import time

MARK = os.urandom(8).hex()  # nobody can have taken these names
UNCLEAN = 78  # exit status of a role that could not be made clean: the host starts a fresh one


class Cleaner:
    """``sandboxed``: this process has a process namespace of its own; ``folders``: what a row may write to."""

    def __init__(self, sandboxed: bool, folders: list) -> None:
        # Signalling everybody is right only where everybody is ours.
        self.all_ours = sandboxed and os.getpid() == 1
        self.folders = folders

    def after(self, pid: int) -> None:
        try:
            self.end_processes(pid)
            for folder in self.folders:
                empty(folder)
        except OSError:
            os._exit(UNCLEAN)

    def end_processes(self, pid: int) -> None:
        """Kill what is left: all others in the sandbox, else the row's process group."""
        for tried in range(200):
            try:
                if self.all_ours:
                    os.kill(-1, signal.SIGKILL)
                else:
                    os.killpg(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                reap()
                return
            reap()
            if not self.all_ours:
                return
            time.sleep(min(0.0005 * 2**tried, 0.05))
        raise TimeoutError("processes would not die")


def reap() -> None:
    """Collect dead children and the orphans that came to us."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def empty(folder: str) -> None:
    """Remove everything in a folder, however deep, without recursion: subfolders are moved up and come next."""
    numbers = itertools.count()
    while names := os.listdir(folder):
        for name in names:
            path = f"{folder}/{name}"
            if stat.S_ISDIR(os.lstat(path).st_mode):
                _flatten(folder, path, numbers)
            else:
                os.unlink(path)


def _flatten(folder: str, path: str, numbers: itertools.count) -> None:
    os.chmod(path, 0o700)
    for name in os.listdir(path):
        inner = f"{path}/{name}"
        if stat.S_ISDIR(os.lstat(inner).st_mode):
            os.chmod(inner, 0o700)
            os.rename(inner, f"{folder}/.moved-{MARK}-{next(numbers)}")
        else:
            os.unlink(inner)
    os.rmdir(path)
