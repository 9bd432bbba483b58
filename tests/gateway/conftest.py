"""A real gateway process, a twin of a provider, and runs to call it for."""

import asyncio
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections

from accounts.models import User
from runs.gateway_client import GatewayClient
from runs.gateway_keys import mint
from runs.models import ModelCall, Run
from secrets_vault import sealing
from secrets_vault.models import Secret, SecretVersion
from tests.ports import free_port
from tests.twins.openai_twin import OpenAITwin
from tests.twins.wires import WIRES

ROOT = Path(__file__).resolve().parent.parent.parent
MODEL = "twin-1"


class GatewayProcess:
    """`manage.py gateway` with folders of its own."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.folder = folder
        self.socket = str(folder / "gw.sock")
        self.journal = folder / "journal"
        self.keyed_port = free_port()
        self.wires_port = free_port()  # where the twins of shipped providers are found, each below its name
        self.urls = {
            name: f"http://127.0.0.1:{self.wires_port}/{name}{wire.path}"
            for name, wire in WIRES.items()
            if name != "openai"
        }
        self.urls["openai"] = f"http://127.0.0.1:{self.keyed_port}/v1"
        self.env = env
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, **env: str) -> None:
        entry = settings.DATABASES["default"]
        whole = {
            **os.environ,
            "DATABASE_URL": f"postgresql://postgres:@/{entry['NAME']}?host={entry['HOST']}",
            "BENCHWRIGHT_TEST_DATABASE": "",
            "BENCHWRIGHT_DATA": str(settings.DATA_DIR),
            "BENCHWRIGHT_GATEWAY_SOCKET": self.socket,
            "BENCHWRIGHT_JOURNAL_DIR": str(self.journal),
            "DJANGO_SETTINGS_MODULE": "benchwright_site.settings",
            **{f"BW_PROVIDER_{name.upper()}_BASE_URL": url for name, url in self.urls.items()},
            **self.env,
            **env,
        }
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "gateway"], cwd=ROOT, env=whole, stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], 90)
        line = self.process.stdout.readline() if ready else b""
        assert line.startswith(b"gateway ready"), line

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)
        self.close_pipe()

    def died(self, timeout: float = 10) -> bool:
        assert self.process is not None
        code = self.process.wait(timeout)
        self.close_pipe()
        return code == -signal.SIGKILL

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()
        self.close_pipe()

    def close_pipe(self) -> None:
        if self.process is not None and self.process.stdout is not None:
            self.process.stdout.close()


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="bwg-", dir="/var/tmp"))


@pytest.fixture(scope="session")
def shared_gateway(django_db_setup: None) -> Iterator[GatewayProcess]:
    process = GatewayProcess(_folder(), BENCHWRIGHT_MODEL_TRIES="4")
    process.start()
    yield process
    process.stop()
    shutil.rmtree(process.folder)


@pytest.fixture
def own_gateway(transactional_db: None) -> Iterator[GatewayProcess]:
    """One to kill; not started yet."""
    process = GatewayProcess(_folder())
    yield process
    process.stop()
    shutil.rmtree(process.folder)


@pytest.fixture
async def provider() -> AsyncIterator[OpenAITwin]:
    found = OpenAITwin()
    await found.start()
    yield found
    await found.stop()
    await sync_to_async(connections.close_all)()  # the thread's connection would keep the test database open


@dataclass
class Bench:
    """A lease on a gateway as a worker holds one, and what a scorer does through it."""

    gateway: GatewayProcess
    client: GatewayClient
    run: Run
    lease: str = ""
    mac_key: str = ""
    url: str = ""
    retries: list[dict[str, Any]] = field(default_factory=list)
    revoked: list[dict[str, Any]] = field(default_factory=list)
    lost: list[bool] = field(default_factory=list)

    async def open(self) -> "Bench":
        self.lease, self.mac_key = uuid.uuid4().hex, secrets.token_hex(32)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(512)
            self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            await self.client.lease(self.run.id, self.lease, self.mac_key, listener)
        return self

    def key(self, cell: int = 0, attempt: int = 1, claim: int = 1) -> str:
        return mint(self.mac_key, self.lease, cell, attempt, claim)

    async def chat(
        self, text: str = "2+2?", *, cell: int = 0, attempt: int = 1, key: str | None = None, **body: Any
    ) -> httpx.Response:
        sent = {"model": MODEL, "messages": [{"role": "user", "content": text}], **body}
        return await self.post("/v1/chat/completions", sent, key=key or self.key(cell, attempt))

    async def post(self, path: str, body: Any, *, key: str | None = None) -> httpx.Response:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        async with httpx.AsyncClient(base_url=self.url, timeout=30, trust_env=False) as http:
            if isinstance(body, bytes):
                return await http.post(path, content=body, headers=headers)
            return await http.post(path, json=body, headers=headers)

    async def facts(self, cell: int = 0, attempt: int = 1) -> dict[str, Any]:
        return (await self.client.facts(self.lease, [(cell, attempt)]))[0]

    async def rows(self, count: int) -> list[ModelCall]:
        """The run's journal rows in the order of their cells, once there are that many that have ended."""
        for _ in range(100):
            found = [row async for row in ModelCall.objects.filter(run=self.run).order_by("ordinal", "id")]
            if len(found) >= count:
                return found
            await asyncio.sleep(0.05)
        raise AssertionError(f"{len(found)} rows instead of {count}")


async def connect(gateway: GatewayProcess, run: Run) -> Bench:
    retries: list[dict[str, Any]] = []
    revoked: list[dict[str, Any]] = []
    lost: list[bool] = []
    client = GatewayClient(
        gateway.socket, on_retry=retries.append, on_revoked=revoked.append, on_lost=lambda: lost.append(True)
    )
    await client.connect()
    return Bench(gateway, client, run, retries=retries, revoked=revoked, lost=lost)


@pytest.fixture
def make_run(transactional_db: None) -> Callable[..., Any]:
    """``await make_run(base_url=…, provider="local", params={}, **fields)`` -> a running Run of a fresh account."""

    async def make(base_url: str = "", provider: str = "local", params: Any = None, **fields: Any) -> Run:
        owner = fields.pop("owner", None)
        if owner is None:
            owner = await User.objects.acreate(email=f"{uuid.uuid4().hex}@example.org")
        sut = {"model": MODEL, "provider": provider, "base_url": base_url, "params": params or {}, "connection": None}
        fields.setdefault("sut_key", {"kind": "none"})
        return await Run.objects.acreate(owner=owner, status="running", mode="benchmark", sut=sut, **fields)

    return make


@pytest.fixture
async def bench(
    shared_gateway: GatewayProcess, provider: OpenAITwin, make_run: Callable[..., Any]
) -> AsyncIterator[Bench]:
    """A lease on the shared gateway for a run whose provider is the twin."""
    found = await connect(shared_gateway, await make_run(provider.url))
    await found.open()
    yield found
    await found.client.close()


async def arrived(provider: OpenAITwin, count: int = 1) -> None:
    """Waits until the provider has seen that many requests."""
    async with asyncio.timeout(10):
        while len(provider.requests) < count:
            await asyncio.sleep(0.01)


# --- runs with a key ------------------------------------------------------------------------------------------------
VALUE = "sk-live-Zq9/8+w7x6v5u4t3s2r1"


async def secret_key(owner: User, value: str = VALUE) -> dict[str, Any]:
    """A stored secret and the run's reference to it."""
    sealing.ensure_keys(Path(settings.KEYS_DIR))
    secret = await Secret.objects.acreate(id=f"sec_{uuid.uuid4().hex[:26]}", owner=owner, name="openai", preview="••••")
    sealed = sealing.seal(value.encode(), sealing.aad_for(owner.pk, secret.id, 1))
    await SecretVersion.objects.acreate(secret=secret, version=1, sealed=sealed.data, key_id=sealed.key_id)
    return {
        "kind": "secret", "secret": secret.id, "version": 1, "inject_kind": "bearer", "inject_target": "",
        "host": "api.openai.com",
    }  # fmt: skip


@pytest.fixture
async def keyed_provider(shared_gateway: GatewayProcess) -> AsyncIterator[OpenAITwin]:
    """The twin in OpenAI's place, where the operator's base URL points."""
    found = OpenAITwin()
    await found.start(port=shared_gateway.keyed_port)
    yield found
    await found.stop()
    await sync_to_async(connections.close_all)()


@pytest.fixture
async def keyed(
    shared_gateway: GatewayProcess, keyed_provider: OpenAITwin, provider: OpenAITwin, make_run: Any
) -> AsyncIterator[Bench]:
    owner = await User.objects.acreate(email=f"{uuid.uuid4().hex}@example.org")
    run = await make_run(keyed_provider.url, "openai", owner=owner, sut_key=await secret_key(owner))
    found = await connect(shared_gateway, run)
    await found.open()
    yield found
    await found.client.close()


@pytest.fixture
async def keyed_runs(
    shared_gateway: GatewayProcess, keyed_provider: OpenAITwin, make_run: Callable[..., Any]
) -> AsyncIterator[Callable[..., Any]]:
    """``await keyed_runs("model-a", "model-b")``: leases of runs of one account with one key, a run for each model."""
    owner = await User.objects.acreate(email=f"{uuid.uuid4().hex}@example.org")
    key = await secret_key(owner)
    benches: list[Bench] = []

    async def make(*models: str) -> list[Bench]:
        for model in models:
            run = await make_run(keyed_provider.url, "openai", owner=owner, sut_key=key)
            run.sut["model"] = model
            await run.asave(update_fields=["sut"])
            benches.append(await (await connect(shared_gateway, run)).open())
        return benches

    yield make
    for bench in benches:
        await bench.client.close()
