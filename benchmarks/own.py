"""An installation of a measurement's own: a new database with fsync on, an owner, a web process on a free port.

A measurement is a module with ``own.enter(name)`` before its imports of the product: the first time that starts the
database and the module again inside it, the second time it sets Django up.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import django

from benchwright_site.serve.postgres import Cluster, leashed
from scripts import place

ROOT = Path(__file__).resolve().parent.parent
INSIDE = "BENCHWRIGHT_BENCHMARK"
QUIET_LOAD = 0.5
PAGE = os.sysconf("SC_PAGE_SIZE")
UNLIMITED = {f"BENCHWRIGHT_{name}": "0" for name in ("RATE_TOKEN", "RATE_ACCOUNT", "RATE_ADDRESS", "MAX_STREAMS")}


def enter(module: str) -> None:
    """Go on inside an installation that is removed afterwards. With DATABASE_URL set, its database is used instead."""
    if os.environ.get(INSIDE):
        django.setup()
        return
    busy = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="bwm-", dir="/var/tmp") as name, contextlib.ExitStack() as held:
        folder = Path(name)
        folder.chmod(0o755)
        url = os.environ.get("DATABASE_URL") or held.enter_context(
            Cluster(folder / "postgres", folder / "run" / "db").running()
        )
        environment = {
            **os.environ,
            **UNLIMITED,
            INSIDE: f"{busy:.2f}",
            "DATABASE_URL": url,
            "BENCHWRIGHT_DATA": name,
            "BENCHWRIGHT_RUNTIME_DIR": str(place.runtime()),
            "DJANGO_SETTINGS_MODULE": "benchwright_site.settings",
        }
        manage = [sys.executable, str(ROOT / "manage.py"), "prepare"]
        subprocess.run(manage, env=environment, cwd=ROOT, check=True)
        command = leashed([sys.executable, "-m", module, *sys.argv[1:]])
        sys.exit(subprocess.run(command, env=environment, cwd=ROOT).returncode)


def report(name: str, **figures: object) -> None:
    """The one line of a measurement; ``quiet`` says whether its figures may be compared with a target."""
    before = float(os.environ[INSIDE])
    print(json.dumps({"benchmark": name, **figures, "load_before": before, "quiet": before < QUIET_LOAD}), flush=True)


def percentile(values: list[float], part: float) -> float:
    """In the values' unit. Nearest rank."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(len(ranked) * part))]


def resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 2**20


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Web:
    port: int
    pid: int


@contextlib.contextmanager
def web() -> Iterator[Web]:
    """The web part as `serve` starts it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["-v", "0", "-b", "127.0.0.1", "-p", str(port), "benchwright_site.asgi:application"]
    process = subprocess.Popen(
        leashed([sys.executable, "-m", "benchwright_site.web", *words]), cwd=ROOT, stderr=subprocess.DEVNULL
    )
    try:
        _until_ready(port, process)
        yield Web(port, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def _until_ready(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5):
            return
        time.sleep(0.1)
    raise SystemExit("the web part does not answer")
