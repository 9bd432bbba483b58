"""/healthz: this process answers. /readyz: everything behind it does too. Neither tells a secret."""

import json
import socket
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from celery import current_app
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse

from accounts.door import answer
from kernel import clock
from kernel.version import VERSION

CLOCK_SKEW = timedelta(seconds=5)
UNTRIED = "not tried on this machine"
_migrated = False


def healthz(request: HttpRequest) -> HttpResponse:
    return answer({"status": "ok", "version": VERSION})


def readyz(request: HttpRequest) -> HttpResponse:
    """200 if every check passes, else 503; each check says only ok or what is missing in general words."""
    found = {name: _said(check) for name, check in CHECKS.items()}
    ready = all(word in ("ok", UNTRIED) for word in found.values())
    return answer({"status": "ready" if ready else "not ready", "checks": found}, 200 if ready else 503)


def _said(check: Callable[[], str]) -> str:
    try:
        return check()
    except Exception:  # whatever broke, the answer is: not ready; details belong in the log of that part
        return "unreachable"


def database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return "ok"


def clocks() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (theirs,) = cursor.fetchone()
    return "ok" if abs(theirs - clock.now()) < CLOCK_SKEW else "the database's and ours differ by more than 5 s"


def migrations() -> str:
    global _migrated
    if not _migrated:
        executor = MigrationExecutor(connection)
        _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return "ok" if _migrated else "migrations are missing"


def broker() -> str:
    with current_app.connection_for_write() as link:
        link.ensure_connection(max_retries=1, timeout=2)
    return "ok"


def vault() -> str:
    return "ok" if (settings.KEYS_DIR / "vault_public").is_file() else "its public key is missing"


def gateway() -> str:
    """Asked only where it lives beside us: elsewhere the workers hold its connection."""
    if not Path(settings.GATEWAY_SOCKET).exists():
        return "ok"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(2)
        line.connect(settings.GATEWAY_SOCKET)
        line.sendall(b'{"op":"ping","id":1}\n')
        reply = line.makefile("rb").readline(4096)
    return "ok" if json.loads(reply).get("ok") else "does not answer"


def sandbox() -> str:
    """Workers try the walls before a scorer runs, and leave a mark where they held; web machines may have none."""
    return "ok" if any(Path(settings.RUN_DIR).glob("sandbox-held-*")) else UNTRIED


CHECKS: dict[str, Callable[[], str]] = {
    "database": database,
    "clock": clocks,
    "migrations": migrations,
    "broker": broker,
    "vault": vault,
    "gateway": gateway,
    "sandbox": sandbox,
}
