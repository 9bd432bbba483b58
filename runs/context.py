"""The only object a phase or a harness is given: what it works on, and what it may write."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psycopg
from django.db import connections

from runs import hot
from runs.doorbell import Bell
from runs.leases import Leases
from runs.limits import Ceilings
from runs.models import Run

T = TypeVar("T")


class PhaseError(Exception):
    """The phase can't go on and the run fails. ``code`` is stable; ``hint`` says what to do next.

    ``model``: the model under test that was asked for, {"model", "provider"}, where the run does not have it yet.
    """

    def __init__(self, code: str, message: str, hint: str = "", model: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.hint, self.model = code, message, hint, model


class CeilingReached(Exception):
    """The run is to halt for this ceiling, e.g. ``phase.tokens``."""


class LeaseLost(Exception):
    """Another worker has taken over: stop at once and write nothing more."""


@dataclass
class Context:
    """One worker's hold on one phase of one run. Use as an async context manager."""

    run: Run  # a snapshot, with impl and subset; never saved
    phase: str
    owner: str
    ceilings: Ceilings
    lease_seconds: float
    stopping: threading.Event  # set when this worker was told to stop
    halting: threading.Event  # set when this run was asked to halt
    bell: Bell
    conninfo: str
    leases: Leases = field(init=False)
    control: hot.Connection = field(init=False)
    _writing: hot.Connection | None = field(init=False, default=None)
    _orm: ThreadPoolExecutor = field(init=False)

    async def __aenter__(self) -> "Context":
        self._orm = ThreadPoolExecutor(1, thread_name_prefix="orm")
        self.control = await psycopg.AsyncConnection.connect(self.conninfo, autocommit=True)
        self.leases = Leases(self.control, str(self.run.id), self.phase, self.owner, self.lease_seconds)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.control.close()
        if self._writing is not None:
            await self._writing.close()
        self._orm.submit(connections.close_all).result()
        self._orm.shutdown(wait=False)

    async def orm(self, read: Callable[..., T], *args: Any) -> T:
        """Run a synchronous read that uses Django's ORM on this context's own thread."""
        return await asyncio.get_running_loop().run_in_executor(self._orm, lambda: read(*args))

    async def write(self, batch: hot.Batch) -> set[int]:
        """Store a batch; returns the shards that were still ours.

        A database that is away is tried again while our leases could last; then LeaseLost.
        """
        deadline = asyncio.get_running_loop().time() + self.lease_seconds
        again = False
        while True:
            fences = {number: lease.attempt_no for number, lease in self.leases.held.items()}
            try:
                if self._writing is None or self._writing.closed:
                    self._writing = await psycopg.AsyncConnection.connect(self.conninfo, autocommit=True)
                written = await hot.flush(self._writing, str(self.run.id), self.phase, fences, batch, again=again)
            except psycopg.OperationalError as error:
                if self._writing is not None:
                    await self._writing.close()
                self._writing, again = None, True
                if asyncio.get_running_loop().time() > deadline:
                    raise LeaseLost("the database was away for longer than our leases") from error
                await asyncio.sleep(0.2)
                continue
            self.bell.ring(str(self.run.id))
            return written


def run_async(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in this thread on a loop of its own."""
    with asyncio.Runner() as runner:
        return runner.run(main)
