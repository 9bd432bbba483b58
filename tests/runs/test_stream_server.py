"""Streams through the real web server: how quick they are with many readers, and what is left when readers go."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from urllib.parse import quote

import httpx
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.db import connection, transaction

from accounts.models import User
from kernel.database import conninfo
from runs import events
from runs.doorbell import Bell
from runs.models import Run
from tests.factories import launched

pytestmark = pytest.mark.django_db(transaction=True)
READERS = 60


@pytest.fixture
def server(db: None) -> Iterator[str]:
    """A web server of its own over the test database."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    known = connection.settings_dict
    host = quote(str(known["HOST"]), safe="/")
    url = f"postgresql://{known['USER']}:{known['PASSWORD']}@/{known['NAME']}?host={host}"
    environment = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "benchwright_site.settings"}
    command = ["-m", "benchwright_site.web", "-b", "127.0.0.1", "-p", str(port), "benchwright_site.asgi:application"]
    process = subprocess.Popen(
        [sys.executable, *command],
        env=environment,
        cwd=settings.BASE_DIR,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        base = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                httpx.get(f"{base}/healthz", timeout=5)
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield base
    finally:
        process.terminate()
        process.wait(20)


def listeners() -> int:
    """Connections that wait at the doorbell."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %%'"
        )
        return int(cursor.fetchone()[0])


def progress(run: Run, at: int) -> None:
    with transaction.atomic():
        events.append(run.id, [("PhaseProgress", {"done": at})])


def test_e07_it_is_quick_for_many_readers_and_nothing_is_left_when_they_go(
    alice: User, token: Callable[..., str], server: str
) -> None:
    run, bearer, bell = launched.launch(alice), token(alice), Bell(conninfo())
    async_to_sync(_follow)(run, bearer, server, bell)
    bell.close()
    for _ in range(50):
        if listeners() == 0:
            break
        time.sleep(0.1)
    assert listeners() == 0, "the hub let go of the database"


async def _follow(run: Run, bearer: str, server: str, bell: Bell) -> None:
    seen: list[dict[int, float]] = [{} for _ in range(READERS)]
    limits = httpx.Limits(max_connections=READERS + 1)
    async with httpx.AsyncClient(base_url=server, limits=limits, timeout=30, trust_env=False) as client:

        async def read(mine: dict[int, float]) -> None:
            path, headers = f"/v1/runs/{run.id}/stream", {"Authorization": f"Bearer {bearer}"}
            async with client.stream("GET", path, headers=headers) as response:
                assert response.status_code == 200
                async for line in response.aiter_lines():
                    if line.startswith("id: "):
                        mine[int(line[4:])] = time.monotonic()

        readers = [asyncio.create_task(read(mine)) for mine in seen]
        async with asyncio.timeout(60):
            while not all(1 in mine for mine in seen):
                await asyncio.sleep(0.1)
        late: list[float] = []
        for at in range(2, 8):
            await sync_to_async(progress)(run, at)
            bell.ring(run.id)
            told = time.monotonic()
            async with asyncio.timeout(10):
                while not all(at in mine for mine in seen):
                    await asyncio.sleep(0.01)
            late += [mine[at] - told for mine in seen]
        assert await sync_to_async(listeners)() == 1, "one listener for all readers"
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
    late.sort()
    assert late[len(late) * 95 // 100] < 0.6, late[-10:]
    assert all(sorted(mine) == list(range(1, 8)) for mine in seen)
