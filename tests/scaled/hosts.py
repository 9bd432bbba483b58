"""An installation in parts, started with the very commands of deploy/compose.yaml, on several "hosts" of one machine.

A host is a data folder: its own sockets, its own gateway and journal. The vault's private key lies only where a gateway
runs.
"""

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import yaml
from django.conf import settings

from benchwright_site.serve.postgres import leashed
from tests.factories.processes import ROOT, database_url

COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
LEASE_SECONDS = 2.0
START_SECONDS = 180.0
PROGRAMS = {"python": [sys.executable], "gunicorn": [sys.executable, "-m", "gunicorn"]}


def command(service: str) -> list[str]:
    """What compose runs for a service, with this environment's Python."""
    program, *words = COMPOSE["services"][service]["command"]
    if program == "sh":  # several commands: the first is ours, the others lay out the volumes
        program, *words = words[1].split(" && ")[0].removesuffix(" --roles").split()  # our user may make none
    return [*PROGRAMS[program], *words]


def on_port(service: str, port: int) -> list[str]:
    """The same on loopback and another port."""
    own = {"web": "8001", "live": "8002"}[service]
    words = [word.replace("0.0.0.0", "127.0.0.1") for word in command(service)]
    return [word.replace(own, str(port)) for word in words]


class Part:
    """One started process; what it says goes to a file."""

    def __init__(self, name: str, words: list[str], environment: dict[str, str], log: Path) -> None:
        self.name, self.log = name, log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                leashed(words), env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )

    def until(self, ready: Callable[[], bool]) -> "Part":
        end = time.monotonic() + START_SECONDS
        while not ready():
            assert self.process.poll() is None, f"{self.name} ended:\n{self.said()[-3000:]}"
            assert time.monotonic() < end, f"{self.name} is not ready:\n{self.said()[-3000:]}"
            time.sleep(0.05)
        return self

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def says(self, words: str) -> Callable[[], bool]:
        return lambda: words in self.said()

    def answers(self, url: str) -> Callable[[], bool]:
        def ready() -> bool:
            try:
                return httpx.get(url, timeout=5, trust_env=False).status_code == 200
            except httpx.TransportError:
                return False

        return ready

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)


class Host:
    def __init__(self, folder: Path, name: str, redis_url: str, broker_url: str) -> None:
        self.name, self.folder = name, folder / name
        self.parts: list[Part] = []
        unset = ("BENCHWRIGHT_TEST_DATABASE", "BENCHWRIGHT_TEST_CLUSTER", "DJANGO_SETTINGS_MODULE")
        self.environment = {key: value for key, value in os.environ.items() if key not in unset} | {
            "DATABASE_URL": database_url(),
            "REDIS_URL": redis_url,
            "BENCHWRIGHT_BROKER_URL": broker_url,
            "BENCHWRIGHT_DATA": str(self.folder),
            "BENCHWRIGHT_ARTIFACTS_DIR": str(settings.ARTIFACTS_DIR),  # the one folder that all hosts share
            "BENCHWRIGHT_SECRET_KEY": settings.SECRET_KEY,
            "BENCHWRIGHT_LEASE_SECONDS": f"{LEASE_SECONDS:g}",
            "BENCHWRIGHT_RUNTIME_DIR": str(settings.RUNTIME_DIR),
            "PYTHONUNBUFFERED": "1",
        }

    def make(self, keys: Path, *, private: bool) -> None:
        """The folder as an operator lays it out: the private key only where a gateway runs."""
        for name in ("keys", "journal", "run"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for path in (self.folder.parent, self.folder, self.folder / "run"):
            path.chmod(0o711)
        for name in ("vault_public", *(("vault_private",) if private else ())):
            shutil.copy2(keys / name, self.folder / "keys" / name)

    def start(self, name: str, words: list[str], **more: str) -> Part:
        self.folder.mkdir(parents=True, exist_ok=True)
        part = Part(f"{self.name}/{name}", words, self.environment | more, self.folder / f"{name}.log")
        self.parts.append(part)
        return part

    def run(self, service: str) -> None:
        """A command that ends by itself."""
        shown = shlex.join(command(service))
        done = subprocess.run(command(service), env=self.environment, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, f"{shown}:\n{done.stderr[-3000:]}"

    def stop(self) -> None:
        for part in reversed(self.parts):
            if part.process.poll() is None:
                part.process.terminate()
        for part in reversed(self.parts):
            try:
                part.process.wait(10)
            except subprocess.TimeoutExpired:
                part.kill()
