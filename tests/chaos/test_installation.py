"""Kills that only a whole installation can suffer: PostgreSQL, the broker, the web part, the supervisor.

Each test launches a run on a real `manage.py serve`, strikes while it goes, and lets one checker look at everything.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from celery import current_app
from django.conf import settings
from kombu import Connection

from benchmarks.chaos.invariants import check, database_of
from benchmarks.chaos.world import Customer, Launched, Twin, customer_of
from benchwright_site import spool
from tests.operations.serving import Server, serving, until

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="watches processes through /proc"),
    pytest.mark.long,
]
LEASE_SECONDS = 2


@dataclass
class Home:
    server: Server
    customer: Customer
    twin: Twin

    def strike(self, when: int, blow: Callable[[Launched], None], size: int = 24) -> None:
        """Launch, and strike once the reader has seen ``when`` events; then the run must end well."""
        run = self.customer.launch(size)
        until(lambda: len(run.seen) >= when, 60, f"{when} events")
        blow(run)
        self.judge()

    def judge(self) -> None:
        self.customer.wait(90)
        until(lambda: self.server.get("/readyz") == 200, 60, "every part answers again")
        figures = check(database_of(self.server.data), self.customer.runs, self.twin.asked)
        assert (figures.broken, figures.lost, figures.doubled) == ([], 0, 0)

    def kill(self, name: str) -> None:
        until(lambda: self.server.part(name), 60, f"{name} runs")
        part = self.server.part(name)
        assert part
        os.kill(part[0], signal.SIGKILL)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="bwx-", dir="/var/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    made = Twin(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BW_PROVIDER_VLLM_BASE_URL", made.url)
        patch.setenv("BENCHWRIGHT_LEASE_SECONDS", str(LEASE_SECONDS))
        yield made
    made.stop()


@pytest.fixture(scope="module")
def home(folder: Path, twin: Twin) -> Iterator[Home]:
    with serving(folder, "--workers", "2") as server:
        server.wait_ready()
        yield Home(server, customer_of(server, 1), twin)
    assert server.leftovers() == []


def seeds(*values: int) -> list[object]:
    return [pytest.param(value, marks=[pytest.mark.chaos] if at else []) for at, value in enumerate(values)]


@pytest.mark.parametrize("when", seeds(20, 3, 40))
def test_x1_postgres_killed_at_any_commit(home: Home, when: int) -> None:
    home.strike(when, lambda run: home.kill("postgres"))


@pytest.mark.parametrize("when", seeds(20, 1, 40))
def test_d08_x2_the_broker_loses_everything(home: Home, when: int) -> None:
    """Once while a run goes, and once just before another is launched."""

    def wipe(run: Launched) -> None:
        shutil.rmtree(home.server.data / "broker", ignore_errors=True)
        home.customer.launch(8)

    home.strike(when, wipe)


def test_d15_messages_of_another_version_are_left_behind(home: Home) -> None:
    """Names that no task has, and what is no message at all; one that says what it always said still wakes."""
    folder, queue = home.server.data / "broker", settings.CELERY_TASK_DEFAULT_QUEUE
    options = {"data_folder_in": f"{folder}", "data_folder_out": f"{folder}", "control_folder": f"{folder}/control"}
    spool.register()
    run = home.customer.launch(8)
    with Connection(os.environ.get("REDIS_URL") or "filesystem://localhost//", transport_options=options) as link:
        for name, ids in (("runs.carry_on", [run.id]), ("runs.advance", [run.id]), ("runs.gone", [])):
            current_app.send_task(name, args=ids, connection=link, queue=queue, ignore_result=True)
        if not os.environ.get("REDIS_URL"):
            (folder / f"1_torn.{queue}.msg").write_text('{"body": "')
        home.judge()
        until(lambda: not link.default_channel._size(queue), 30, "no message is left")
    home.customer.launch(8)
    home.judge()


@pytest.mark.parametrize("when", seeds(10, 2, 30))
def test_x7_web_killed_under_its_readers(home: Home, when: int) -> None:
    """The reader resumes where it was: each event once and in order."""
    home.strike(when, lambda run: home.kill("web"))


@pytest.mark.parametrize("when", seeds(2, 20))
def test_d11_x5_the_sweeper_and_a_worker_killed_together(home: Home, when: int) -> None:
    def kill_both(run: Launched) -> None:
        home.kill("sweeper")
        home.kill("worker1")

    home.strike(when, kill_both)


@pytest.mark.chaos
def test_x6_the_supervisor_killed_and_started_again(folder: Path, twin: Twin, home: Home) -> None:
    """Runs last: it leaves the module's server dead. Another one goes on with what that had under way."""
    run = home.customer.launch(40)
    until(lambda: len(run.seen) >= 10, 60, "10 events")
    home.server.process.kill()
    until(lambda: home.server.leftovers() == [], 30, "all descendants are gone")
    port = home.server.url.rpartition(":")[2]
    with serving(folder, "--workers", "2", "--port", port) as server:
        server.wait_ready()
        Home(server, home.customer, twin).judge()
    assert server.leftovers() == []


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """``redis()`` starts a Redis of our own, always on the same port."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("no redis-server on this machine")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
        started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        return started[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REDIS_URL", f"redis://127.0.0.1:{port}/0")
        yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.chaos
def test_d08_x2_x3_redis_emptied_and_down(
    redis: Callable[[], subprocess.Popen[bytes]], twin: Twin, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Launches are accepted while it is away; what runs goes on, and what waits begins when it is back."""
    place = Path(tempfile.mkdtemp(prefix="bwx-", dir="/var/tmp"))
    place.chmod(0o755)
    process = redis()
    try:
        with serving(place, "--workers", "2") as server:
            server.wait_ready()
            home = Home(server, customer_of(server, 2), twin)
            twin.asked.clear()

            def empty(run: Launched) -> None:
                subprocess.run(["redis-cli", "-u", os.environ["REDIS_URL"], "flushall"], check=True)
                home.customer.launch(8)

            def down(run: Launched) -> None:
                nonlocal process
                process.kill()
                process.wait()
                home.customer.launch(8)
                time.sleep(10)
                process = redis()

            home.strike(10, empty)
            home.strike(10, down)
        assert server.leftovers() == []
    finally:
        shutil.rmtree(place, ignore_errors=True)
