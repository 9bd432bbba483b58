"""The gateway process: its parts, its clock, its start and its end."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings

from runs import gateway_keys
from runs.gateway import breaker
from runs.gateway.answers import Refused, error_body
from runs.gateway.apis.base import Api
from runs.gateway.apis.table import refuse_path
from runs.gateway.books import Beside, Books, LeaseRefused
from runs.gateway.calls.direct import Direct
from runs.gateway.control import Control, ControlServer
from runs.gateway.egress.doors import Doors
from runs.gateway.http.inbound import Inbound, Request
from runs.gateway.journal import Call, Journal
from runs.gateway.leases import Attempt, Lease, RunBook, facts
from runs.gateway.scanning import Scanner
from runs.gateway.store import LIVE, Store

import orjson  # isort: skip

log = logging.getLogger("benchwright.gateway")

TICK_SECONDS = 0.25
LIVE_SECONDS = 1.0  # how often deleted secrets and ended runs are looked for
MOST_CONNECTIONS = 4096  # of one lease
STOP_SECONDS = 5.0
NOTHING: dict[tuple[str, int], Call] = {}  # the earlier calls of a new cell; never written to


def _span(seconds: float) -> str:
    """``12 s``, ``5 min``, ``1.5 h``."""
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


class Gateway:
    """Everything that is shared between connections."""

    def __init__(self, journal: Journal, store: Store) -> None:
        self.loop = asyncio.get_running_loop()
        self.journal = journal
        self.store = store
        self.books = Books(store)
        self.doors = Doors()
        self.leases: dict[str, Lease] = {}
        self.tasks: set[asyncio.Task[None]] = set()  # of calls that have one
        self.direct: set[Direct] = set()  # calls under way without
        store.on_stored.append(self._stored)

    def _stored(self, call: Call) -> None:
        book = self.books.of(call)
        if book is not None and book.taken_over and book.leases > 1:
            self._tell_others(book, call)
        if call.finished is None:
            call.request = call.response = b""  # nobody waits for them here; a later attempt reads them from the table
        if book is not None:
            book.forget(call)
            self.books.tidy(book)

    def _tell_others(self, book: RunBook, call: Call) -> None:
        """A worker that lost its shard may have gone on: who has looked into the table already learns of its calls."""
        for lease in self.leases.values():
            for attempt in lease.attempts.values() if lease.book is book else ():
                if attempt.ordinal == call.ordinal and attempt.known is not None and call not in attempt.calls:
                    attempt.known = {**attempt.known, **self._keep(book, call.ordinal)}

    # -- leases ----------------------------------------------------------------------------------------------------
    async def lease(
        self,
        name: str,
        run: str,
        mac_key: str,
        listener: socket.socket,
        control: Control,
        beside: Beside | None = None,
    ) -> None:
        """Serves ``listener`` for a run's shard, or for a model ``beside`` the one under test. LeaseRefused."""
        if name in self.leases:
            raise LeaseRefused("lease_exists", "this lease is already open")
        bytes.fromhex(mac_key)
        book = await self.books.take(run, beside)
        lease = self.leases[name] = Lease(name, book, mac_key, control)
        try:
            lease.server = await self.loop.create_server(lambda: self._connection(lease), sock=listener, backlog=1024)
        except BaseException:
            self.end_lease(name, "lease_closed")
            raise

    def _connection(self, lease: Lease) -> Inbound:
        conn = Inbound(partial(self.serve, lease), lease.connections.discard, lease.likenesses)
        lease.connections.add(conn)
        if len(lease.connections) > MOST_CONNECTIONS:
            self.loop.call_soon(conn.abort)
        return conn

    def end_lease(self, name: str, code: str, *, cancel: bool = False) -> None:
        """Closes a lease's listener and connections. Its open calls run on unless ``cancel``."""
        lease = self.leases.pop(name, None)
        if lease is None:
            return
        lease.ended = lease.ended or code
        if lease.server is not None:
            lease.server.close()
        if cancel:
            for attempt in lease.attempts.values():
                for chat in list(attempt.open):
                    chat.cancel()
        for conn in list(lease.connections):
            conn.abort()
        self.books.give_back(lease.book)

    async def close_lease(self, name: str, *, keep_calls: bool = False) -> None:
        """Ends a lease and its open calls; what ended is in the database when this returns, if that is there.

        ``keep_calls``: the sandbox died, or others took over, but the run goes on. So its calls end by themselves and
        are answers in store, for which somebody may be waiting already.
        """
        lease = self.leases.get(name)
        waiting = tasks_of(lease.attempts.values()) if lease and not keep_calls else []
        self.end_lease(name, "lease_closed", cancel=not keep_calls)
        if waiting:
            await asyncio.wait(waiting, timeout=5)
        self.journal.flush()
        with contextlib.suppress(psycopg.Error):
            await self.store.flush()

    def revoke(self, lease: Lease) -> None:
        """The run's secret is gone: calls end with 403, and so does whatever its sandbox asks from now on."""
        if lease.ended:
            return
        lease.ended = "secret_revoked"
        lease.control.push({"op": "revoked", "lease": lease.name, "code": "secret_revoked"})
        for attempt in lease.attempts.values():
            for chat in list(attempt.open):
                chat.cancel()
        lease.book.revoked = True  # a later lease must not use the opened secret

    # -- requests --------------------------------------------------------------------------------------------------
    def serve(self, lease: Lease, conn: Inbound, request: Request) -> None:
        try:
            api = lease.book.apis.get(request.path)
            if api is not None and request.method == b"POST":
                self._ask(lease, conn, request, api)
                return
            lease.attempt(request.key)
            if request.path != b"/v1/models" or request.method != b"GET":
                raise refuse_path(request.method, request.path, lease.book.provider)
        except Refused as no:
            conn.respond(no.status, no.body(), keep=request.keep)
            return
        except Exception:  # one request's trouble is not the connection's, nor its neighbours'
            log.exception("a request broke inside the gateway")
            conn.respond(500, error_body(500, "internal_error", "the gateway failed"), keep=False)
            return
        model = {"id": lease.book.model, "object": "model", "created": 0, "owned_by": lease.book.provider.name}
        conn.respond(200, orjson.dumps({"object": "list", "data": [model]}), keep=request.keep)

    def _ask(self, lease: Lease, conn: Inbound, request: Request, api: Api) -> None:
        if lease.open_calls >= lease.book.at_once:
            raise Refused(429, "too_many_calls", f"a scorer may have {lease.book.at_once} calls open at once")
        Direct(self, lease, conn, request, api).start()

    def new_cell(self, book: RunBook, attempt: Attempt) -> bool:
        """True the first time that a cell is seen which can't have any earlier calls: nothing need be asked for it.

        That this run had no calls when its first lease came here says nothing of what other hosts have done since. And
        a worker that has lost its shard without knowing it may begin a cell after the next one did: whoever begins it
        makes it known.
        """
        if not book.fresh or attempt.ordinal in book.seen:
            return False
        book.seen.add(attempt.ordinal)
        if attempt.claim > 1:
            return False
        attempt.known = NOTHING
        return True

    async def load(self, book: RunBook, attempt: Attempt) -> None:
        """Finds the cell's earlier calls."""
        if self.new_cell(book, attempt):
            return
        if attempt.loading is None:
            attempt.loading = self.loop.create_future()
            kept = self._keep(book, attempt.ordinal)  # first: what is stored while we read is in neither afterwards
            try:
                found = await self.store.calls_of(book.run, [attempt.ordinal])
            except BaseException:
                attempt.loading.set_result(None)
                attempt.loading = None
                raise
            attempt.known = {
                **{(call.hash, call.occurrence): call for call in found},
                **kept,
                **self._keep(book, attempt.ordinal),
            }
            attempt.loading.set_result(None)
        else:
            await attempt.loading

    def _keep(self, book: RunBook, ordinal: int) -> dict[tuple[str, int], Call]:
        """A cell's calls that are not in the table yet. They keep their answers from now on, also once it has them."""
        found = dict(book.cells.get(ordinal, {}))
        for call in found.values():
            if call.finished is None:
                call.finished = self.loop.create_future()
                if call.ended():
                    call.finished.set_result(None)
        return found

    # -- facts -----------------------------------------------------------------------------------------------------
    async def facts(self, name: str, cells: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
        """Closes attempts and tells what their calls were. What this process never saw comes from the table."""
        lease = self.leases.get(name)
        attempts = [lease.close_attempt(ordinal, number) if lease else None for ordinal, number in cells]
        waiting = tasks_of(attempt for attempt in attempts if attempt)
        if waiting:
            await asyncio.wait(waiting, timeout=5)
        self.journal.flush()  # nothing is told that a crash could still take back
        out = [_facts_of(attempt) if attempt else None for attempt in attempts]
        missing = [cell for cell, found in zip(cells, out, strict=True) if found is None]
        if missing and lease is not None:
            out = await self._fill(lease.book, cells, out)
        return [found or facts([], known=False) for found in out]

    async def _fill(
        self, book: RunBook, cells: Sequence[Sequence[int]], out: list[dict[str, Any] | None]
    ) -> list[dict[str, Any] | None]:
        wanted = {cell[0] for cell, found in zip(cells, out, strict=True) if found is None}
        calls: dict[tuple[int, str, int], Call] = {}
        here = _at(book, wanted)  # first: what is stored while we read is in neither afterwards
        if not book.fresh or book.seen.intersection(wanted):
            for call in await self.store.calls_of(book.run, list(wanted)):
                calls[call.ordinal, call.hash, call.occurrence] = call
        calls |= here | _at(book, wanted)
        for index, (ordinal, number) in enumerate(cells):
            mine = [call for call in calls.values() if (call.ordinal, call.attempt) == (ordinal, number)]
            if out[index] is None and mine:
                mine.sort(key=lambda call: call.created)
                trouble = None if all(call.ended() for call in mine) else "provider_error"
                waited = sum(call.waited_ms for call in mine)
                out[index] = facts(mine, known=True, waited_ms=waited, trouble=trouble)
        return out

    def waited(self, name: str, cells: Sequence[Sequence[int]]) -> dict[str, list[int]]:
        """How long attempts have waited for slots and back-off so far, in ms, and how many calls they have open."""
        lease = self.leases.get(name)
        found = [lease.attempts.get((cell[0], cell[1])) if lease else None for cell in cells]
        return {
            "waited_ms": [attempt.waits.ms() if attempt else 0 for attempt in found],
            "open_calls": [len(attempt.open) if attempt else 0 for attempt in found],
        }

    def spent(self, name: str, cells: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
        """The accounts so far of attempts that go on; {} where there is none."""
        lease = self.leases.get(name)
        found = [lease.attempts.get((cell[0], cell[1])) if lease else None for cell in cells]
        return [_facts_of(attempt) if attempt else {} for attempt in found]

    def held(self, name: str) -> str | None:
        """What a lease's calls wait for, in words, while the provider refuses or answers with faults; else None."""
        lease = self.leases.get(name)
        found = lease.book.pace.held() if lease else None
        if lease is None or found is None:
            return None
        pause, faults, waiting = found
        if not faults and not (pause and waiting):
            return None
        who = f"{lease.book.provider.name} ({lease.book.model})"
        does = breaker.told(silent=lease.book.pace.breaker.silent)
        said = f"{who} {does} for {max(1, round(faults))} s" if faults else f"429 from {who}"
        then = f"next try in {_span(pause)}" if pause else "it is being tried again"
        return f"{said}, {then}" + (f", {waiting} calls wait" if waiting > 1 else "")

    # -- clock -----------------------------------------------------------------------------------------------------
    async def tick_forever(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = self.loop.time()
            for book in list(self.books.open.values()):
                if book.pool is not None:
                    book.pool.tick(now)
            for lease in list(self.leases.values()):
                for conn in [conn for conn in lease.connections if conn.overdue(now)]:
                    conn.abort()

    async def watch_forever(self) -> None:
        """Ends leases of runs that are over and of secrets that were deleted."""
        while True:
            await asyncio.sleep(LIVE_SECONDS)
            if not self.leases:
                continue
            try:
                await self._watch()
            except psycopg.Error:
                log.warning("can't see whether secrets were deleted: the database is away")

    async def _watch(self) -> None:
        leases = list(self.leases.values())
        secrets = {lease.book.secret for lease in leases if lease.book.secret}
        rows = await self.store.read(LIVE, (list({lease.book.run for lease in leases}), list(secrets)))
        alive = {row["id"] for row in rows}
        for lease in leases:
            if lease.book.run not in alive and lease.book.role != gateway_keys.NARRATOR:
                lease.control.push({"op": "revoked", "lease": lease.name, "code": "run_over"})
                self.end_lease(lease.name, "run_over", cancel=True)
            elif lease.book.secret and lease.book.secret not in alive:
                self.revoke(lease)

    async def stop(self) -> None:
        """Lets calls under way end for a few seconds; what is open then stays in doubt."""
        for name in list(self.leases):
            self.end_lease(name, "gateway_stopping")
        late = self.loop.time() + STOP_SECONDS
        while (self.tasks or self.direct) and self.loop.time() < late:  # noqa: ASYNC110 (two kinds of calls, and only here)
            await asyncio.sleep(0.02)
        for chat in list(self.direct):
            chat.cancel()
        for task in self.tasks:
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=1)
        await self.doors.stop()
        self.journal.flush()
        with contextlib.suppress(psycopg.Error):
            await self.store.flush()
            await self.store.write_uses()
        await self.store.close()
        self.journal.close()


def _at(book: RunBook, ordinals: Iterable[int]) -> dict[tuple[int, str, int], Call]:
    """The calls of cells that are not in the table yet, or still under way."""
    return {(ordinal, *key): call for ordinal in ordinals for key, call in book.cells.get(ordinal, {}).items()}


def tasks_of(attempts: Iterable[Attempt]) -> list[asyncio.Task[None]]:
    """The tasks of calls that are under way."""
    return [chat.task for attempt in attempts for chat in attempt.open if chat.task is not None]


def _facts_of(attempt: Attempt) -> dict[str, Any]:
    return facts(
        attempt.calls,
        known=True,
        reused=attempt.reused,
        cost_reused=attempt.cost_reused,
        reused_ms=attempt.reused_ms,
        waited_ms=attempt.waits.ms(),
        trouble=attempt.trouble,
    )


async def recover(journal: Journal, store: Store) -> int:
    """Brings what an earlier process left in its files into PostgreSQL. The number of calls; waits for the database."""
    calls = list(journal.replay())
    pause = 0.2
    while True:
        try:
            for start in range(0, len(calls), 200):
                await store.write(calls[start : start + 200])
            break
        except psycopg.OperationalError:
            log.warning("waiting for the database to take %d journaled calls", len(calls))
            await asyncio.sleep(pause)
            pause = min(5.0, pause * 2)
    journal.forget_old()
    return len(calls)


async def run(ready: Callable[[str], None]) -> None:
    """The gateway until SIGTERM or SIGINT. ``ready`` is called with a line for people. JournalBusy."""
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    journal = Journal(Path(settings.GATEWAY_JOURNAL_DIR))
    store = Store(journal)
    recovered = await recover(journal, store)
    gate = Gateway(journal, store)
    server = ControlServer(gate, settings.GATEWAY_SOCKET)
    scanner = Scanner()
    works = (
        store.write_forever(),
        store.note_forever(),
        gate.tick_forever(),
        gate.watch_forever(),
        gate.doors.look_forever(),
        scanner.look_forever(),
    )
    clocks = [loop.create_task(work) for work in works]
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    ready(f"gateway ready on {settings.GATEWAY_SOCKET} ({recovered} calls recovered)")
    await stopping.wait()
    server.close()
    for clock in clocks:
        clock.cancel()
    await asyncio.wait(clocks, timeout=2)
    scanner.stop()
    await gate.stop()
