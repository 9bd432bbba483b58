"""Runs at their Analyze, whose way out leads to twins of the places that rows come from."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from kernel.database import conninfo
from runs import pipeline
from runs.context import Context
from runs.doorbell import Bell
from runs.driver.rules import analyze, hub_names
from runs.models import Phase, Run
from runs.sources.way_out import telling
from runs.sources.web import Web, opened
from tests.runs.sources.conftest import hosts, hub, index, places, tunnel
from tests.twins.hosts_twin import Hosts
from tests.twins.tunnel_twin import TOKEN, TunnelTwin

__all__ = ["hosts", "hub", "index", "places", "tunnel"]
SUT = {"model": "gpt-4o-mini", "provider": "openai", "base_url": "https://x.test", "params": {}, "connection": None}


class Ways:
    def __init__(self, hosts: Hosts, tunnel: TunnelTwin) -> None:
        self.hosts, self.tunnel, self.opened = hosts, tunnel, 0

    @asynccontextmanager
    async def __call__(self, context: Context) -> AsyncIterator[Web]:
        self.opened += 1
        trust = str(self.hosts.authority.file)
        async with opened(self.tunnel.url, TOKEN, trust, first_pause=0.001, tell=telling(context)) as web:
            yield web


@pytest.fixture
def ways(hosts: Hosts, tunnel: TunnelTwin, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Ways:
    settings.SNAPSHOTS_DIR = tmp_path / "snapshots"
    made = Ways(hosts, tunnel)
    monkeypatch.setattr(analyze, "way_out", made)
    monkeypatch.setattr(hub_names, "way_out", made)
    return made


Analyzing = Callable[..., Run]


class OneStep(Bell):
    """A worker that stops after one phase."""

    def __init__(self) -> None:
        super().__init__(conninfo())
        self.stopping = threading.Event()

    def ring(self, run_id: str) -> None:
        try:
            asyncio.get_running_loop()  # news from within the phase
        except RuntimeError:
            self.stopping.set()


@pytest.fixture
def stepping() -> Callable[[Run], Run]:
    """``stepping(run)`` does the run's next phase, as a worker would, and returns it fresh."""

    def go(run: Run) -> Run:
        bell = OneStep()
        pipeline.advance(run.id, pipeline.Worker("tester", bell, bell.stopping))
        bell.close()
        return Run.objects.get(id=run.id)

    return go


def begun(owner: User, source: dict[str, Any], found: dict[str, Any] | None = None, **fields: Any) -> Run:
    """A run whose Find has said ``source``."""
    told = {"request": "Run it", "source": source, "sut": None, "limit": None, "part": None, **(found or {})}
    run = Run.objects.create(
        owner=owner, mode="request", request="Run it", sut=SUT, plan=["analyze", "report"],
        findings={"find": told}, **fields,
    )  # fmt: skip
    Phase.objects.create(run=run, name="analyze", position=0)
    return run


@pytest.fixture
def analyzing(ways: Ways, stepping: Callable[[Run], Run]) -> Analyzing:
    """``analyzing(owner, source, …)``: the run after its Analyze. ``found``: more of what Find said."""
    return lambda owner, source, **fields: stepping(begun(owner, source, **fields))
