"""A real server on the test database and a real Chromium, for the tests that look at pages."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, sync_playwright

from accounts.models import User

DOOR = "allauth.account.auth_backends.AuthenticationBackend"

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def browser(alice: User) -> Client:
    """A client that is signed in as alice."""
    client = Client()
    client.force_login(alice, backend=DOOR)
    return client


@pytest.fixture(scope="module")  # later tests run event loops of their own in this thread
def chromium() -> Iterator[Browser]:
    """Skips where there is no browser on the machine."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    # Playwright keeps an event loop in this thread; Django would refuse to use the database beside it.
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
    os.environ.pop("DJANGO_ALLOW_ASYNC_UNSAFE")
    if before is not None:
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before


def _test_database() -> str:
    """The URL of the database that this test fills."""
    made: dict[str, Any] = connection.settings_dict
    where = f"{quote(made['USER'])}:{quote(made['PASSWORD'])}@"
    if str(made["HOST"]).startswith("/"):
        return f"postgresql://{where}/{made['NAME']}?host={made['HOST']}"
    return f"postgresql://{where}{made['HOST']}:{made['PORT'] or 5432}/{made['NAME']}"


def _answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


@pytest.fixture
def site(transactional_db: None, tmp_path: Path) -> Iterator[str]:
    """The base URL of a server with sockets, on this test's database."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "DATABASE_URL": _test_database(),
        "DJANGO_SETTINGS_MODULE": "tests.pages.served_settings",
    }
    command = [
        sys.executable,
        "-m",
        "benchwright_site.web",
        "-b",
        "127.0.0.1",
        "-p",
        str(port),
        "benchwright_site.asgi:application",
    ]
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 60
            while not _answers(port):
                assert server.poll() is None, (tmp_path / "server.log").read_text()
                assert time.monotonic() < deadline, "the server did not start in a minute"
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(timeout=20)
