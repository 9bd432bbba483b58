"""The egress proxy as a part: its own environment, the socket it is called at, and its start when a run needs it."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from django.conf import settings

from benchwright_site.serve.postgres import leashed
from benchwright_site.serve.walls import people

INSTALLER = settings.BASE_DIR / "scripts" / "install.py"
# What the proxy's process is given of this one's environment: nothing that could open keys or a database.
KEPT = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "PYTHONUNBUFFERED")


class EgressTrouble(RuntimeError):
    """The proxy can't be started; the message says why."""


def environment_folder() -> Path:
    return Path(settings.EGRESS_ENVIRONMENT)


def interpreter() -> Path:
    return environment_folder() / "bin" / "python"


def prepare(say: Callable[[str], None]) -> None:
    """Make the proxy's own environment where it is missing or stale. EgressTrouble."""
    environment = {**os.environ, "BENCHWRIGHT_EGRESS_ENVIRONMENT": str(environment_folder())}
    with subprocess.Popen(  # noqa: S603 - our own installer
        [sys.executable, str(INSTALLER), "egress"],
        cwd=settings.BASE_DIR,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as installing:
        assert installing.stdout is not None
        said = []
        for line in installing.stdout:
            said.append(line.strip().removeprefix("· "))
            say(line.rstrip())
    if installing.returncode:
        raise EgressTrouble(" ".join(said)[-500:] or "its environment could not be made")


def command(where: list[str]) -> list[str]:
    """How the proxy is started; ``where``: ``--fd N`` or ``--socket PATH``. EgressTrouble without an authority."""
    authority = Path(settings.EGRESS_AUTHORITY)
    if not authority.is_file():
        raise EgressTrouble(f"{authority} is missing; `manage.py prepare` makes it")
    return [str(interpreter()), "-m", "egress", "--authority", str(authority), *where]


def as_keeper(command: list[str]) -> list[str]:
    """The same command, started as the vault's user where the parts have users of their own."""
    found, _ = people.find()
    if found is None:
        return command
    base = Path(os.path.realpath(interpreter())).parent.parent
    trusted = os.environ.get("BENCHWRIGHT_EGRESS_TRUST")
    more = [environment_folder(), base, *([Path(trusted)] if trusted else [])]
    return leashed(command, user=found.keeper(more), parent=os.getppid())


def environment(mine: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in mine.items() if name in KEPT or name.startswith("BENCHWRIGHT_EGRESS_")}
    return {**kept, "PYTHONPATH": str(settings.BASE_DIR)}


def listen(path: str) -> socket.socket:
    """The socket that the gateway calls when a run needs the proxy; only our own user may open it."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(old)
    listener.listen(64)
    listener.setblocking(False)
    return listener


def close(listener: socket.socket) -> None:
    path = listener.getsockname()
    listener.close()
    Path(path).unlink(missing_ok=True)


def turn_away(listener: socket.socket, words: str) -> None:
    """Tell those who wait for the proxy why there is none."""
    listener.setblocking(False)
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            with client:
                client.sendall(json.dumps({"op": "unavailable", "detail": words}).encode() + b"\n")
