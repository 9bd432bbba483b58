"""The sandbox on this machine: bubblewrap, one process tree and one set of namespaces per role."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from functools import partial

from django.conf import settings

from runs.compute import runtime, selftest, watching
from runs.compute.base import ROLE_NAMES, ComputeFault, Message, RolesSpec, SelfTest, WayOut
from runs.compute.role import RoleProcess
from runs.compute.walls import bubblewrap, cgroups, seccomp


class LocalCompute:
    """Compute on this machine. Needs Linux with user namespaces; `self_test` tells.

    With BENCHWRIGHT_UNSAFE_LOCAL=1 a machine where the sandbox can't hold runs scorers without it, marked so.
    """

    name = "local"
    tested: SelfTest | None = None  # per process: what decides it can't change while it runs

    async def self_test(self) -> SelfTest:
        kept = LocalCompute.tested
        if kept is None or not kept.ok:
            kept = LocalCompute.tested = await self._test()
        return kept

    async def _test(self) -> SelfTest:
        found = await selftest.once(self._open_sandboxed)
        if not found.ok and settings.UNSAFE_LOCAL:
            return SelfTest(True, found.checks, sandboxed=False)
        return found

    async def open(self, spec: RolesSpec) -> "LocalRoles":
        test = await self.self_test()
        if not test.ok:
            raise ComputeFault("The sandbox does not hold here, so no scorer runs: " + "; ".join(test.failures()[:3]))
        if not test.sandboxed:
            return await self._open(UnsafeRoles, spec)
        return await self._open_sandboxed(spec)

    async def _open_sandboxed(self, spec: RolesSpec) -> "LocalRoles":
        return await self._open(LocalRoles, spec)

    async def _open(self, kind: "type[LocalRoles]", spec: RolesSpec) -> "LocalRoles":
        roles = kind(spec, await asyncio.to_thread(_made))
        await roles.start()
        return roles


def _made() -> runtime.Runtime:
    made = runtime.ensure()
    watching.end_orphans(f"{made.root.parent}/runner-")
    cgroups.sweep()
    return made


class LocalRoles:
    """The three roles of a shard in bubblewrap."""

    sandboxed = True

    def __init__(self, spec: RolesSpec, made: runtime.Runtime) -> None:
        self.spec = spec
        self.runtime = made
        self.roles: dict[str, RoleProcess] = {}
        self.watch: asyncio.Task[None] | None = None

    @property
    def extract(self) -> RoleProcess:
        return self.roles["extract"]

    @property
    def solve(self) -> RoleProcess:
        return self.roles["solve"]

    @property
    def score(self) -> RoleProcess:
        return self.roles["score"]

    @property
    def listener(self) -> socket.socket:
        listener = self.solve.listener
        if listener is None:
            raise ComputeFault("The solve sandbox has no listener.")
        return listener

    @property
    def egress_listener(self) -> socket.socket | None:
        return self.solve.egress_listener

    async def start(self) -> None:
        """Start all three at once; all or none."""
        try:
            for name in ROLE_NAMES:
                self.roles[name] = self._role(name)
            results = await asyncio.gather(*map(self._load, ROLE_NAMES), return_exceptions=True)
            faults = [result for result in results if isinstance(result, BaseException)]
            if faults:
                raise faults[0]
        except BaseException:
            await self.close()
            raise
        self.watch = asyncio.create_task(watching.watch(self.roles.values, self.spec))

    async def restart(self, name: str) -> None:
        old = self.roles[name]
        on_messages, on_death = old.on_messages, old.on_death
        old.on_messages = old.on_death = None
        await old.closed()
        fresh = self.roles[name] = self._role(name)
        await self._load(name)
        fresh.on_messages, fresh.on_death = on_messages, on_death

    async def close(self) -> None:
        if self.watch:
            self.watch.cancel()
            await asyncio.gather(self.watch, return_exceptions=True)
        for role in self.roles.values():
            role.on_messages = role.on_death = None
            role.kill()
        ends = await asyncio.gather(*(role.closed() for role in self.roles.values()), return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    def _role(self, name: str) -> RoleProcess:
        ways = 2 if self.spec.way_out else 1
        fence = self._fence()
        return RoleProcess(name, partial(self._launch, name, fence), fence, ways=ways)

    def _fence(self) -> cgroups.Fence | None:
        return cgroups.Fence(self.spec.memory_mb << 20, _tasks(self.spec))

    def _launch(
        self, name: str, fence: cgroups.Fence | None, channel: int, stdout: int, stderr: int
    ) -> "subprocess.Popen[bytes]":
        filter_fd = seccomp.open_program()
        try:
            trust = self.spec.way_out.trust if self.spec.way_out and name == "solve" else None
            argv = bubblewrap.command(self.runtime, self.spec, seccomp_fd=filter_fd, channel_fd=channel, trust=trust)
            return subprocess.Popen(  # noqa: S603 - an argv of ours
                fence.around(argv) if fence else argv,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(channel, filter_fd),
                env={},
                cwd="/",
                start_new_session=True,
            )
        finally:
            os.close(filter_fd)

    async def _load(self, name: str) -> None:
        start = self._start_message()
        if name == "solve" and self.spec.way_out is not None:
            start["way_out"] = self._way_out(self.spec.way_out)
        await self.roles[name].load(self.spec, start)

    def _way_out(self, way: WayOut) -> Message:
        return {"port": way.port, "token": way.token, "trust": "/bw/trust/certificates.pem"}

    def _start_message(self) -> Message:
        spec = self.spec
        return {
            "limits": limits(spec),
            "site": "/bw/site",
            "rows_folder": "/rows",
            "sandboxed": True,
            "scratch": ["/tmp", "/rows", "/dev/shm"],  # noqa: S108 - the sandbox's own
            "port": spec.proxy_port,
            "model": spec.model,
            "concurrency": spec.concurrency,
            "trusted": spec.trusted,
            "isolation": spec.isolation,
            "score_seconds": spec.score_seconds,
        }


class UnsafeRoles(LocalRoles):
    """The same roles as plain processes of this user: no wall at all. Only by an explicit setting."""

    sandboxed = False

    def __init__(self, spec: RolesSpec, made: runtime.Runtime) -> None:
        super().__init__(spec, made)
        self.folder = tempfile.mkdtemp(prefix="benchwright-unsandboxed-")

    async def close(self) -> None:
        await super().close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _fence(self) -> cgroups.Fence | None:
        return None

    def _way_out(self, way: WayOut) -> Message:
        return super()._way_out(way) | {"port": 0, "trust": str(way.trust / "certificates.pem")}

    def _launch(
        self, name: str, fence: cgroups.Fence | None, channel: int, stdout: int, stderr: int
    ) -> "subprocess.Popen[bytes]":
        environment = bubblewrap.ENVIRONMENT | {"HOME": self.folder, "TMPDIR": self.folder}
        environment["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.defpath])
        return subprocess.Popen(  # noqa: S603 - an argv of ours
            [sys.executable, "-P", "-s", "-S", "-X", "utf8", str(self.runtime.lib / "bw_main.py"), str(channel)],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(channel,),
            env=environment,
            cwd=self.folder,
            start_new_session=True,
        )

    def _start_message(self) -> Message:
        here: Message = {"limits": {"RLIMIT_CORE": 0}, "site": str(self.runtime.root / "bw/site"), "port": 0}
        return super()._start_message() | here | {"rows_folder": self.folder, "sandboxed": False, "scratch": []}


def _tasks(spec: RolesSpec) -> int:
    """The kernel counts threads as processes; a solve at once is a thread of our own."""
    return spec.pids + spec.concurrency


def limits(spec: RolesSpec) -> dict[str, int]:
    """Caps that each process of a role sets on itself before any user code. Bytes and counts.

    Address space is only a last fence: threads reserve far more than they use, so memory itself is watched.
    """
    return {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": spec.tmp_mb << 20,
        "RLIMIT_NOFILE": max(1024, 4 * spec.concurrency + 256),
        "RLIMIT_NPROC": _tasks(spec),
        "RLIMIT_AS": (1536 << 20) + (spec.memory_mb << 20) + (spec.concurrency << 21),
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_MEMLOCK": 64 << 10,
    }
