"""One installation in parts for all tests of this folder: two hosts that work, one that serves."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis

from tests.factories.processes import Model, model
from tests.ports import free_port
from tests.scaled.hosts import Host, Part, command, on_port

__all__ = ["model"]
REDIS_URL = os.environ.get("REDIS_URL") or "redis://127.0.0.1:6379/12"


@pytest.fixture(scope="session")
def redis_url() -> str:
    """A Redis that answers, or the tests that need one are skipped."""
    try:
        with redis.Redis.from_url(REDIS_URL, socket_connect_timeout=1) as client:
            client.ping()
    except redis.RedisError as trouble:
        pytest.skip(f"no Redis at {REDIS_URL} ({trouble}); start one, or set REDIS_URL")
    return REDIS_URL


@dataclass
class Parts:
    """``one`` and ``two`` have a gateway each and workers beside it; ``front`` serves and sweeps."""

    one: Host
    two: Host
    front: Host
    web_url: str = ""
    live_url: str = ""
    workers: list[Part] = field(default_factory=list)

    @property
    def hosts(self) -> tuple[Host, Host, Host]:
        return self.front, self.two, self.one

    def worker(self, host: Host) -> Part:
        number = len(self.workers) + 1
        words = [*command("worker"), "--hostname", f"worker{number}@%h"]
        self.workers.append(host.start(f"worker{number}", words))
        return self.workers[-1]

    def begin(self, keys: Path) -> None:
        """The order that compose's ``depends_on`` gives; parts of one stage together."""
        for host in self.hosts:
            host.make(keys, private=host is not self.front)
        ports = free_port(), free_port()
        self.web_url, self.live_url = (f"http://127.0.0.1:{port}" for port in ports)
        gateways = [host.start("gateway", command("gateway")) for host in (self.one, self.two)]
        workers = [self.worker(host) for host in (self.one, self.one, self.two)]
        sweeper = self.front.start("sweeper", command("sweeper"))
        web = self.front.start("web", on_port("web", ports[0]))
        live = self.front.start("live", on_port("live", ports[1]))
        for gateway in gateways:
            gateway.until(gateway.says("gateway ready"))
        for worker in workers:
            worker.until(worker.says(" ready."))
        sweeper.until(sweeper.says("sweeper ready"))
        web.until(web.answers(f"{self.web_url}/readyz"))
        live.until(live.answers(f"{self.live_url}/readyz"))


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="bwh-", dir="/var/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def parts(folder: Path, redis_url: str, django_db_setup: None, django_db_blocker: object) -> Iterator[Parts]:
    """The processes live through all tests of a module; what they share is the tests' database and a Redis."""
    admin = Host(folder, "admin", redis_url, redis_url)
    admin.run("prepare")
    made = Parts(*(Host(folder, name, redis_url, redis_url) for name in ("one", "two", "front")))
    try:
        made.begin(admin.folder / "keys")
        yield made
    finally:
        for host in made.hosts:
            host.stop()


@pytest.fixture
def slow_model(model: Model) -> Model:
    """Answers after half a second, a quarter of a lease: what a killed worker asked is answered before it lapses."""
    answer = model.twin.always

    def late(seen):  # type: ignore[no-untyped-def]
        fault = answer(seen)
        fault.delay = 0.5
        return fault

    model.twin.always = late
    return model
