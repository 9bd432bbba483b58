"""The sandbox on this machine: bubblewrap, one process tree and one set of namespaces per role."""

import asyncio
import os
import socket
import subprocess

from runs.compute import bubblewrap, runtime, seccomp, watching
from runs.compute.base import ROLE_NAMES, ComputeFault, Message, RolesSpec, SelfTest
from runs.compute.role import RoleProcess


class LocalCompute:
    """Compute on this machine. Needs Linux with user namespaces; `self_test` tells."""

    name = "local"

    async def self_test(self) -> SelfTest:
        return SelfTest(True)

    async def open(self, spec: RolesSpec) -> "LocalRoles":
        roles = LocalRoles(spec, await asyncio.to_thread(runtime.ensure))
        await roles.start()
        return roles


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

    async def start(self) -> None:
        """Start all three at once; all or none."""
        try:
            for name in ROLE_NAMES:
                self.roles[name] = RoleProcess(name, self._launch)
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
        fresh = self.roles[name] = RoleProcess(name, self._launch)
        await self._load(name)
        fresh.on_messages, fresh.on_death = on_messages, on_death

    async def close(self) -> None:
        if self.watch:
            self.watch.cancel()
            await asyncio.gather(self.watch, return_exceptions=True)
        for role in self.roles.values():
            role.on_messages = role.on_death = None
            role.kill()
        await asyncio.gather(*(role.closed() for role in self.roles.values()))

    def _launch(self, channel: int, stdout: int, stderr: int) -> "subprocess.Popen[bytes]":
        filter_fd = seccomp.open_program()
        try:
            argv = bubblewrap.command(self.runtime, self.spec, seccomp_fd=filter_fd, channel_fd=channel)
            return subprocess.Popen(  # noqa: S603 - an argv of ours
                argv,
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
        await self.roles[name].load(self.spec, self._start_message())

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


def limits(spec: RolesSpec) -> dict[str, int]:
    """Caps that each process of a role sets on itself before any user code. Bytes and counts.

    Address space is only a last fence: threads reserve far more than they use, so memory itself is watched.
    """
    return {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": spec.tmp_mb << 20,
        "RLIMIT_NOFILE": max(1024, 4 * spec.concurrency + 256),
        "RLIMIT_NPROC": spec.pids,
        "RLIMIT_AS": (4 << 30) + (spec.memory_mb << 22),
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_MEMLOCK": 64 << 10,
    }
