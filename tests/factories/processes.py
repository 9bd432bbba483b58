"""The real parts around the pipeline: a gateway process, a provider's twin, a worker that is this test's thread."""

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection

from accounts.models import User
from kernel.database import conninfo
from runs import pipeline
from runs.doorbell import Bell
from runs.models import Run
from tests.factories import planned
from tests.twins.openai_twin import Fault, OpenAITwin, Seen

ROOT = Path(__file__).resolve().parents[2]
ASK = textwrap.dedent("""
    import os, requests
    from bench_task import BenchTask

    class Task(BenchTask):
        def solve(self, index, input):
            reply = requests.post(
                f"{os.environ['BW_MODEL_PROXY_URL']}/v1/chat/completions",
                headers={"Authorization": f"Bearer {os.environ['BW_MODEL_PROXY_KEY']}"},
                json={"model": os.environ["BW_MODEL_MODEL"], "messages": [{"role": "user", "content": input}]},
                timeout=30,
            )
            reply.raise_for_status()
            return reply.json()["choices"][0]["message"]["content"]

        def score(self, index, output, expected):
            return 1.0 if output == expected else 0.0
""")


def database_url() -> str:
    """The test database, for processes of their own."""
    params = connection.settings_dict
    host = quote(str(params["HOST"]), safe="")
    credentials = params["USER"] + (f":{params['PASSWORD']}" if params["PASSWORD"] else "")
    return f"postgresql://{credentials}@/{params['NAME']}?host={host}" + (
        f"&port={params['PORT']}" if params["PORT"] else ""
    )


class GatewayProcess:
    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.socket = folder / "gateway.sock"
        self.environment = {
            **os.environ,
            "DATABASE_URL": database_url(),
            "BENCHWRIGHT_GATEWAY_SOCKET": str(self.socket),
            "BENCHWRIGHT_JOURNAL_DIR": str(folder / "journal"),
            "DJANGO_SETTINGS_MODULE": "benchwright_site.settings",
            **environment,
        }
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, **more: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "gateway"], env={**self.environment, **more}, cwd=ROOT
        )
        until = time.monotonic() + 20
        while not self.socket.exists() and time.monotonic() < until:
            assert self.process.poll() is None, "the gateway did not start"
            time.sleep(0.02)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)
        self.socket.unlink(missing_ok=True)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(10)


@pytest.fixture
def gateway(transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GatewayProcess]:
    made = GatewayProcess(tmp_path, {})
    monkeypatch.setattr(settings, "GATEWAY_SOCKET", str(made.socket))
    made.start()
    yield made
    made.stop()


class Model:
    """The twin in a thread. By default it answers "n + 1" questions rightly; ``rule`` may answer otherwise."""

    def __init__(self) -> None:
        self.twin = OpenAITwin()
        self.rule: Callable[[str], Fault | None] = lambda question: None
        self.twin.always = self._answer
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def _answer(self, seen: Seen) -> Fault:
        question = str(seen.body["messages"][-1]["content"])
        chosen = self.rule(question)
        if chosen is not None:
            return chosen
        try:
            return Fault(text=str(int(question.split("+")[0]) + 1))
        except ValueError:
            return Fault(text="I do not know")

    @property
    def url(self) -> str:
        return self.twin.url

    @property
    def calls(self) -> int:
        return len(self.twin.requests)

    def asked(self, question: str) -> int:
        return sum(1 for seen in self.twin.requests if seen.body["messages"][-1]["content"] == question)

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.twin.start(), self._loop).result(10)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self.twin.stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    made = Model()
    made.start()
    yield made
    made.stop()


@pytest.fixture
def work() -> Iterator[Callable[..., Run]]:
    """``work(run)`` carries a run forward in this thread, as a worker would, and returns it fresh."""
    bell = Bell(conninfo())

    def go(run: Run, stopping: threading.Event | None = None, **_: Any) -> Run:
        pipeline.advance(run.id, pipeline.Worker("tester", bell, stopping or threading.Event()))
        return Run.objects.get(id=run.id)

    yield go
    bell.close()


def launch(owner: User, model: Model, code: str = ASK, **fields: Any) -> Run:
    sut = {"model": "twin-1", "provider": "vllm", "base_url": model.url, "params": {}, "connection": None}
    return planned.run(owner, fields.pop("rows", None), code=code, sut=sut, **fields)
