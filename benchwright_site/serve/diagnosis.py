"""What `manage.py doctor` looks at: each finding with its cure."""

import asyncio
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from celery import current_app
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from benchwright_site.serve import egress, probes
from benchwright_site.serve.postgres import DatabaseTrouble
from benchwright_site.serve.supervisor import embedded_cluster
from benchwright_site.serve.walls import people
from benchwright_site.serve.walls.cast import ROLE_URLS
from runs.compute.base import ComputeFault
from runs.compute.table import COMPUTE
from runs.local_model.server import why_not
from secrets_vault.sealing import private_files

LEAST_FREE_GB = 2.0
MOST_SKEW_SECONDS = 5.0
USER_NAMESPACES = (
    "Scorers can't be walled in here. Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1; "
    "on Ubuntu also kernel.apparmor_restrict_unprivileged_userns=0; in a container, run it with fewer restrictions). "
    "BENCHWRIGHT_UNSAFE_LOCAL=1 runs scorers without walls and marks every such run."
)


@dataclass(frozen=True)
class Finding:
    name: str
    ok: bool
    detail: str
    cure: str = ""
    needed: bool = True  # a missing extra is told, but is no fault


def database() -> Finding:
    cure = "Start it with `manage.py serve`, or check DATABASE_URL."
    try:
        if settings.EMBEDDED_DATABASE and not embedded_cluster().ready():
            with embedded_cluster().running():
                return _tables(" (embedded; started for this check)")
        return _tables(" (embedded)" if settings.EMBEDDED_DATABASE else "")
    except (DatabaseError, DatabaseTrouble, OSError) as trouble:
        return Finding("database", False, str(trouble).strip(), cure)


def _tables(where: str) -> Finding:
    executor = MigrationExecutor(connection)
    missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    with connection.cursor() as cursor:
        cursor.execute("show server_version")
        version = cursor.fetchone()[0].split()[0]
    connection.close()
    detail = f"PostgreSQL {version}{where}" + (f", {missing} migrations missing" if missing else "")
    return Finding("database", not missing, detail, "Run `manage.py prepare`." if missing else "")


def clock() -> Finding:
    """Leases use the database's clock; ours only shows."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("select extract(epoch from clock_timestamp())")
            skew = abs(float(cursor.fetchone()[0]) - time.time())
        connection.close()
    except DatabaseError:
        return Finding("clock", True, "not compared: the database does not run", needed=False)
    return Finding("clock", skew < MOST_SKEW_SECONDS, f"{skew:.1f} s from the database's", "Set the clocks (NTP).")


def broker() -> Finding:
    cure = "Check BENCHWRIGHT_BROKER_URL or REDIS_URL; without either, the data folder must be writable."
    try:
        with current_app.connection_for_write() as link:
            link.ensure_connection(max_retries=1, timeout=3)
        if settings.CELERY_BROKER_URL.startswith("filesystem") and not os.access(settings.BROKER_DIR, os.W_OK):
            return Finding("broker", False, f"{settings.BROKER_DIR} is missing or not writable", cure)
    except Exception as trouble:  # each broker's library has its own errors
        return Finding("broker", False, str(trouble), cure)
    files = settings.CELERY_BROKER_URL.startswith("filesystem")
    return Finding("broker", True, f"files in {settings.BROKER_DIR}" if files else "answers")


def gateway() -> Finding:
    up = asyncio.run(_ask_gateway())
    cure = "It runs with `manage.py serve`, or alone with `manage.py gateway`."
    return Finding(
        "gateway", up, "answers" if up else f"does not answer on {settings.GATEWAY_SOCKET}", cure, needed=False
    )


async def _ask_gateway() -> bool:
    return await probes.control(settings.GATEWAY_SOCKET)()


def keys() -> Finding:
    folder = settings.KEYS_DIR
    if not (folder / "vault_public").is_file():
        return Finding("keys", False, f"no vault keys in {folder}", "Run `manage.py prepare`.")
    told = [file for file in private_files(folder) if file.stat().st_mode & 0o077]
    detail = "the vault's private key can be read by others" if told else f"in {folder}"
    return Finding("keys", not told, detail, f"chmod 600 {' '.join(map(str, told))}")


def _only_public() -> bool:
    """Whether this part was given what seals values, and not what opens them."""
    return (settings.KEYS_DIR / "vault_public").is_file() and not private_files(settings.KEYS_DIR)


def walls() -> Finding:
    """Whether the vault's parts have a user and a role of their own. One user for all is allowed, and told."""
    found, words = people.find()
    if found is None and _only_public():
        return Finding("walls", True, "the vault's private key is not here, so the gateway has a place of its own")
    if found is None:
        cure = (
            "Who gets code into the web part could read the vault's key. Start `manage.py serve` as root to part them."
        )
        return Finding("walls", False, words, cure, needed=False)
    wrong = [str(file) for file in private_files(settings.KEYS_DIR) if file.stat().st_uid != found.vault]
    if wrong:
        return Finding("walls", False, f"{wrong[0]} is not uid {found.vault}'s", "Start `manage.py serve` once more.")
    if not settings.EMBEDDED_DATABASE and not all(os.environ.get(name) for name in ROLE_URLS.values()):
        cure = f"Set {' and '.join(ROLE_URLS.values())} (docs/settings.md)."
        return Finding("walls", False, f"{words}; but all enter the database as its owner", cure, needed=False)
    return Finding("walls", True, f"{words}; each with a role of its own in the database")


def disk() -> Finding:
    folder = settings.DATA_DIR if settings.DATA_DIR.exists() else settings.DATA_DIR.parent
    try:
        free = shutil.disk_usage(folder).free / 1e9
    except OSError as trouble:
        return Finding("disk", False, str(trouble), "Choose a data folder with BENCHWRIGHT_DATA.")
    return Finding("disk", free > LEAST_FREE_GB, f"{free:.1f} GB free for {settings.DATA_DIR}", "Make room.")


def sandbox() -> Finding:
    try:
        test = asyncio.run(COMPUTE["local"]().self_test())
    except ComputeFault as fault:
        return Finding("sandbox", False, str(fault), USER_NAMESPACES)
    if test.ok and not test.sandboxed:
        return Finding("sandbox", True, "OFF (BENCHWRIGHT_UNSAFE_LOCAL): scorers run without walls", needed=False)
    detail = f"held {len(test.checks)} attempts to get out" if test.ok else "; ".join(test.failures())
    if platform.system() != "Linux":
        return Finding("sandbox", False, "needs Linux", "Run scorers elsewhere, or set BENCHWRIGHT_UNSAFE_LOCAL=1.")
    return Finding("sandbox", test.ok, detail, USER_NAMESPACES)


def local_model() -> Finding:
    reason = why_not()
    return Finding("local model", not reason, reason or "installed", "", needed=False)


def egress_proxy() -> Finding:
    """It starts on demand, so that it does not run is no fault; that it could not would be one for some runs."""
    if not Path(settings.EGRESS_CERTIFICATE).is_file():
        return Finding("egress", False, f"no authority in {settings.KEYS_DIR}", "Run `manage.py prepare`.")
    if not egress.interpreter().exists():
        cure = "`manage.py egress --prepare` makes it now (it needs the package index once)."
        return Finding("egress", True, "its environment is made when a run first needs it", cure, needed=False)
    asked = [str(egress.interpreter()), "-c", "import egress.proxy"]
    done = subprocess.run(  # noqa: S603 - our own program
        asked, cwd=settings.BASE_DIR, env=egress.environment(os.environ), capture_output=True, text=True
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it does not start"])[-1]
        return Finding("egress", False, last, f"Remove {egress.environment_folder()}; it is made anew.")
    return Finding("egress", True, "ready; it starts when a run needs it")


CHECKS: tuple[Callable[[], Finding], ...] = (
    database, clock, broker, keys, walls, gateway, egress_proxy, disk, sandbox, local_model,
)  # fmt: skip


def findings() -> Iterator[Finding]:
    """One finding per check, each as soon as it is known."""
    for check in CHECKS:
        yield check()
