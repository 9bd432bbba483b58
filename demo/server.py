"""A server of the demo's own: started, and stopped with the demo."""

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchwright_site.serve.postgres import leashed
from scripts.place import CLONE, home, runtime

EMAIL = "demo@localhost"
SCOPES = "runs:read,runs:write,artifacts:read,secrets:read,secrets:write,registry:read,registry:publish"
READY = "Benchwright is ready: "


class DemoTrouble(RuntimeError):
    """The demo can't go on; the message says why."""


@dataclass(frozen=True)
class Login:
    email: str
    password: str
    token: str


def data_folder() -> Path:
    return home() / "demo"


def environment() -> dict[str, str]:
    """The demo's server has its own data folder and database, whatever this shell points at."""
    unset = ("DATABASE_URL", "DJANGO_SETTINGS_MODULE", "BENCHWRIGHT_PUBLIC_URL", "BW_PAT", "BW_BASE_URL")
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    return {**kept, "BENCHWRIGHT_DATA": str(data_folder()), "BENCHWRIGHT_RUNTIME_DIR": str(runtime())}


def port_or_free(port: int) -> int:
    """``port``, or 0 (any) where somebody listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    return 0


@contextlib.contextmanager
def running(port: int, local_model: bool, say: Callable[[str], None]) -> Iterator[str]:
    """Serve for the time of the block; yields the URL. Its output goes to a file. Raises DemoTrouble."""
    log = data_folder() / "logs" / "serve.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(CLONE / "manage.py"), "serve", "--port", str(port)]
    command += ["--local-model"] if local_model else []
    with log.open("wb") as kept:
        process = subprocess.Popen(
            leashed(command, number=signal.SIGTERM),
            cwd=CLONE,
            env=environment(),
            stdout=kept,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the demo, which stops the server in order
        )
    try:
        yield _until_ready(process, log, say)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


def _until_ready(process: "subprocess.Popen[bytes]", log: Path, say: Callable[[str], None]) -> str:
    """The URL, once the server has said it; its own words are passed on meanwhile."""
    with log.open(errors="replace") as words:
        while True:
            line = words.readline()
            if not line and process.poll() is not None:
                last = log.read_text(errors="replace").splitlines()[-15:]
                raise DemoTrouble("the server did not start:\n" + "\n".join(f"    {one}" for one in last))
            if not line.endswith("\n"):
                time.sleep(0.05)
                continue
            if line.startswith("serve ") and "|" in line:
                say(line.partition("|")[2].strip())
            if line.startswith(READY):
                return line.removeprefix(READY).strip()


def login() -> Login:
    """The demo's account and token, made by the operator's commands and kept beside the data."""
    kept = data_folder() / "keys" / "demo-login"
    if kept.is_file():
        return Login(**json.loads(kept.read_text()))
    password = secrets.token_urlsafe(9)
    _manage("create_user", EMAIL, "--password-stdin", given=password + "\n")
    token = _manage("create_token", EMAIL, "--scopes", SCOPES, "--name", "demo").strip()
    made = Login(EMAIL, password, token)
    kept.touch(mode=0o600)
    kept.write_text(json.dumps(made.__dict__))
    return made


def _manage(*arguments: str, given: str = "") -> str:
    command = [sys.executable, str(CLONE / "manage.py"), *arguments]
    done = subprocess.run(command, cwd=CLONE, env=environment(), input=given, text=True, capture_output=True)
    if done.returncode:
        raise DemoTrouble(f"manage.py {arguments[0]} failed: {(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout
