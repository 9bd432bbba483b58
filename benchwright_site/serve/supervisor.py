"""Starts every part in order, keeps them alive, stops them all."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connections

from benchwright_site.serve import egress, folders, parts
from benchwright_site.serve.keeper import Keeper, NeverReady
from benchwright_site.serve.output import Output
from benchwright_site.serve.postgres import Cluster, DatabaseTrouble, leashed
from benchwright_site.serve.walls import cast, cells, owners, roles
from runs.compute import runtime
from runs.compute.base import ComputeFault
from runs.local_model.server import why_not


@dataclass(frozen=True)
class Options:
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    threads: int = 8
    local_model: bool = False
    egress: bool = False  # start it at once instead of when a run needs it


class CantServe(RuntimeError):
    """The server can't start; the message says why and what to do."""


def embedded_cluster(group: int | None = None) -> Cluster:
    """``group``: a gid whose members may come to its socket too, with a password."""
    return Cluster(settings.POSTGRES_DIR, settings.DATABASE_SOCKETS, group=group)


def listen(host: str, port: int) -> socket.socket:
    """Take the port now, so that a taken one is told before anything starts. Raises CantServe."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as trouble:
        listener.close()
        raise CantServe(
            f"can't listen on {host}:{port}: {trouble.strerror}; choose another with --port (0 = any)"
        ) from None
    listener.setblocking(False)
    return listener


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Supervisor:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.output = Output()
        self.keepers: list[Keeper] = []
        self.stop_asked = asyncio.Event()
        self.environment = {name: value for name, value in os.environ.items() if name not in cast.ROLE_URLS.values()}
        self.cast = cast.gathered()
        self.egress_calls: socket.socket | None = None

    async def serve(self) -> None:
        """Run until SIGINT or SIGTERM. Raises CantServe, DatabaseTrouble, FolderTrouble."""
        if self.options.local_model and (reason := why_not()):
            raise CantServe(f"no local model: {reason}")
        folders.raise_file_limit()
        folders.ensure_folders()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop_asked.set)
        with listen(self.options.host, self.options.port) as listener, self._database_lock():
            folders.ensure_secrets()
            self._hand_over()
            url = self._describe(listener)
            try:
                await self._until_stopped(self._start(listener))
                if not self.stop_asked.is_set():
                    self.output.plain(f"Benchwright is ready: {url}")
                    await self.stop_asked.wait()
            except NeverReady as trouble:
                raise CantServe(str(trouble)) from None
            finally:
                await self._stop()

    def _hand_over(self) -> None:
        """Folders and keys to the users of the parts. Raises CantServe."""
        self.output.say(self.cast.words)
        if self.cast.people is not None:
            try:
                owners.hand_over(self.cast.people)
            except OSError as trouble:
                raise CantServe(f"{trouble.filename} can't be given to another user: {trouble.strerror}") from None

    @contextlib.contextmanager
    def _database_lock(self) -> Iterator[None]:
        if not settings.EMBEDDED_DATABASE:
            yield
            return
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(embedded_cluster().lock(patience=5))
            except DatabaseTrouble:
                raise CantServe(f"another server uses this data folder ({settings.DATA_DIR}); see --data") from None
            yield

    def _describe(self, listener: socket.socket) -> str:
        """Tell the children where they live; returns the URL."""
        host, port = listener.getsockname()[:2]
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
        url = f"http://{shown}:{port}"
        self.environment.setdefault("BENCHWRIGHT_PUBLIC_URL", url)
        if "*" not in settings.ALLOWED_HOSTS:  # our own question whether the web part is ready must be answered
            own = [name for name in ("127.0.0.1", "[::1]") if name not in settings.ALLOWED_HOSTS]
            self.environment["BENCHWRIGHT_ALLOWED_HOSTS"] = ",".join([*settings.ALLOWED_HOSTS, *own])
        self.environment |= {
            "BENCHWRIGHT_DATA": str(settings.DATA_DIR),
            "DJANGO_SETTINGS_MODULE": "benchwright_site.settings",
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(settings.BASE_DIR), os.environ.get("PYTHONPATH", "")])),
        }
        return url

    async def _until_stopped(self, starting: Coroutine[Any, Any, None]) -> None:
        """Start up, unless Ctrl-C comes first."""
        work = asyncio.create_task(starting)
        stop = asyncio.create_task(self.stop_asked.wait())
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not work.done():
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work
            return
        work.result()

    async def _start(self, listener: socket.socket) -> None:
        if settings.EMBEDDED_DATABASE:
            cluster = embedded_cluster(self.cast.people.house if self.cast.people else None)
            self.output.say("starting the database")
            await asyncio.to_thread(cluster.prepare)
            await self._bring_up([parts.postgres(cluster)])
        await self._prepare()
        await self._test_sandbox()
        await self._await_egress_calls()
        everything = self._parts(listener)
        for stage in sorted({part.stage for part in everything}):
            now = [part for part in everything if part.stage == stage]
            self.output.say(f"starting {', '.join(part.name for part in now)}")
            await self._bring_up(now)

    def _parts(self, listener: socket.socket) -> list[parts.Part]:
        resident, worker = self.cast.resident(), self.cast.worker()
        chosen = [parts.gateway(self.cast.gateway()), parts.sweeper(resident)]
        if self.options.local_model:
            port = free_port()
            self.environment["BW_PROVIDER_LOCAL_BASE_URL"] = f"http://127.0.0.1:{port}/v1"
            chosen.append(parts.local_model(port, resident))
        chosen += [parts.worker(number, self.options.threads, worker) for number in range(1, self.options.workers + 1)]
        port = listener.getsockname()[1]
        return [*chosen, parts.web(self.options.host, port, listener.fileno(), resident)]

    async def _bring_up(self, some: Iterable[parts.Part]) -> None:
        keepers = [Keeper(part, self.output, self.environment) for part in some]
        self.keepers += keepers
        for keeper in keepers:
            keeper.start()
        await asyncio.gather(*(keeper.until_ready() for keeper in keepers))

    async def _prepare(self) -> None:
        """Migrations, the cache table, static files. Raises CantServe."""
        self.output.say("preparing tables and static files")
        try:
            await asyncio.to_thread(_prepare_database, self.cast.passwords if settings.EMBEDDED_DATABASE else {})
        except DatabaseError as trouble:
            raise CantServe(f"the database can't be prepared: {trouble}") from None

    async def _test_sandbox(self) -> None:
        """Make the runtime and try the walls once, as a worker; workers trust the note it leaves. Never fatal."""
        if self.options.workers == 0:
            return
        self.output.say("testing the sandbox")
        try:
            await asyncio.to_thread(_make_runtime)
        except (ComputeFault, OSError) as fault:
            self.output.say(f"no sandbox on this machine: {fault}")
            return
        place = self.cast.worker()
        told = await asyncio.create_subprocess_exec(
            *leashed([sys.executable, parts.MANAGE, "try_walls"], user=place.user),
            env={**self.environment, **place.environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            said, _ = await told.communicate()
        finally:
            if told.returncode is None:
                told.kill()
        for line in said.decode(errors="replace").splitlines():
            self.output.say(line)

    async def _await_egress_calls(self) -> None:
        """The egress proxy starts when the gateway first calls it: most installations never need it."""
        self.egress_calls = egress.listen(settings.EGRESS_SOCKET)
        if self.cast.people is not None:
            os.chown(settings.EGRESS_SOCKET, self.cast.people.vault, self.cast.people.house)
        if self.options.egress:
            self.output.say("starting egress")
            await self._bring_up([parts.egress(self.egress_calls.fileno())])
        else:
            asyncio.get_running_loop().add_reader(self.egress_calls.fileno(), self._start_egress)

    def _start_egress(self) -> None:
        assert self.egress_calls is not None
        asyncio.get_running_loop().remove_reader(self.egress_calls.fileno())
        if self.stop_asked.is_set():
            return
        self.output.say("a run needs the egress proxy: starting it")
        keeper = Keeper(parts.egress(self.egress_calls.fileno()), self.output, self.environment)
        self.keepers.append(keeper)
        keeper.start()

    async def _stop(self) -> None:
        if self.keepers:
            self.output.say("stopping")
        for stages in ((3, 2), (1,), (0,)):
            await asyncio.gather(*(keeper.stop() for keeper in self.keepers if keeper.part.stage in stages))
        if self.egress_calls is not None:
            asyncio.get_running_loop().remove_reader(self.egress_calls.fileno())
            egress.close(self.egress_calls)
        if self.cast.people is not None:
            cells.remove()
        if self.keepers:
            self.output.say("stopped")


def _prepare_database(passwords: Mapping[str, str]) -> None:
    try:
        roles.make(passwords)
        call_command("prepare")
    finally:
        connections.close_all()  # this process watches; it talks to no database later


def _make_runtime() -> None:
    """What sandboxes see, made by us, so that workers need not write there."""
    runtime.ensure()
    runtime.trust(Path(settings.EGRESS_CERTIFICATE))
