"""Tries the known escapes for real inside each role, before any scorer may run here."""

import asyncio
import hashlib
import json
import os
import platform
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.conf import settings

from runs.compute import runtime
from runs.compute.base import Check, ComputeFault, Message, RolesSpec, ScorerFault, SelfTest
from runs.compute.walls import bubblewrap, seccomp
from runs.compute.watching import tree

CODE = """
import bw_probe
from bench_task import BenchTask

class Task(BenchTask):
    def extract(self, path, index):
        import json
        return {"task_id": "probe", "input": bw_probe.probe(json.load(open(path))["given"]), "expected": None}

    def solve(self, index, input):
        return bw_probe.probe(input)

    def score(self, index, output, expected):
        found = bw_probe.probe({**output, "judge": True})
        return {"score": 1.0, "metrics": {"found": found}}
"""
SECONDS = 30.0


async def once(open_roles: Any) -> SelfTest:
    """As ``run``, but what held once on this boot, with these very walls, is not tried again by each process."""
    try:
        mark = Path(settings.RUN_DIR) / f"sandbox-held-{await asyncio.to_thread(_walls)}"
    except (ComputeFault, OSError, ValueError) as error:
        return SelfTest(False, [Check("start", False, str(error))])
    if mark.exists():
        return SelfTest(True, [Check("kept", True, "every escape was tried before, since this machine started")])
    found = await run(open_roles)
    if found.ok:
        mark.touch()
    return found


def _walls() -> str:
    """A hash over all that the outcome depends on: our files, the command, the filter, the kernel, this boot."""
    made = runtime.ensure()
    argv = bubblewrap.command(made, RolesSpec("self-test", ""), seccomp_fd=0, channel_fd=0)
    argv = [word for word in argv if not word.isdigit() or len(word) < 6]  # without the user, new each time
    boot = Path("/proc/sys/kernel/random/boot_id")
    users = Path("/proc/self/uid_map")  # root of a user namespace is another root
    here = [made.sha256, *argv, str(os.geteuid()), platform.release()]
    here += [file.read_text() for file in (boot, users) if file.exists()]
    return hashlib.sha256("\0".join(here).encode() + seccomp.program()).hexdigest()[:24]


async def run(open_roles: Any) -> SelfTest:
    """``open_roles(spec)`` opens roles without asking for a self-test. Never raises: a failure is a check."""
    spec = RolesSpec("self-test", CODE, isolation="task", tmp_mb=8, model="none")
    try:
        roles = await open_roles(spec)
    except (ComputeFault, ScorerFault, OSError) as error:
        return SelfTest(False, [Check("start", False, f"{error}{_hint(str(error))}")])
    try:
        with _bait() as given:
            checks = [_users(roles), *await asyncio.wait_for(_ask(roles, {**given, "tmp_mb": spec.tmp_mb}), SECONDS)]
    except (TimeoutError, OSError, KeyError, TypeError, ValueError) as error:
        checks = [Check("answers", False, f"{type(error).__name__}: {error}")]
    finally:
        await roles.close()
    return SelfTest(all(check.ok for check in checks), checks)


def _hint(said: str) -> str:
    """What most often keeps bubblewrap from starting."""
    if "bwrap: " not in said:
        return ""
    return (
        " Unprivileged user namespaces may be switched off here: see the sysctls user.max_user_namespaces, "
        "kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns, and a container's "
        "seccomp profile and what it lays over /proc."
    )


@contextmanager
def _bait() -> Iterator[dict[str, Any]]:
    """A listener on the host's loopback and a readable file of the host, which no sandbox may reach."""
    Path(settings.RUN_DIR).mkdir(parents=True, exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.NamedTemporaryFile(dir=settings.RUN_DIR) as file:
        os.chmod(file.name, 0o644)
        yield {"port": server.getsockname()[1], "path": file.name}


def _users(roles: Any) -> Check:
    """Seen from outside: no process of a sandbox is root's."""
    wrong = []
    for role in roles.roles.values():
        for pid in tree(role.process.pid):
            with suppress(OSError, StopIteration):
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                ids = next(line for line in lines if line.startswith("Uid:")).split()[1:]
                wrong += [str(pid)] if "0" in ids else []
    return Check("no process of root", not wrong, ", ".join(wrong))


async def _ask(roles: Any, given: dict[str, Any]) -> list[Check]:
    row = json.dumps({"task_id": "probe", "given": given})
    told = await asyncio.gather(
        _answer(roles.extract, {"op": "rows", "shard": 0, "rows": [row]}),
        _answer(roles.solve, {"op": "solve", "cell": 0, "attempt": 1, "index": 0, "input": given, "key": ""}),
        _answer(roles.score, {"op": "score", "cell": 0, "attempt": 1, "index": 0, "output": given, "expected": None}),
    )
    extracted, solved, scored = told
    found = {"extract": extracted["items"][0]["input"], "solve": solved["output"], "score": scored["metrics"]["found"]}
    return [
        Check(f"{role}: {name}", held is True, str(detail))
        for role, probes in found.items()
        for name, held, detail in probes
    ]


async def _answer(role: Any, message: Message) -> Message:
    """The first message that the role says next; ComputeFault's kin ValueError when it dies instead."""
    said: asyncio.Future[Message] = asyncio.get_running_loop().create_future()

    def take(messages: list[Message]) -> None:
        if not said.done():
            said.set_result(messages[0])

    def die(death: Any) -> None:
        if not said.done():
            said.set_exception(ValueError(f"{death.role} died: {death.reason} {death.detail} {death.stderr_tail}"))

    role.on_messages, role.on_death = take, die
    role.send([message])
    answer = await said
    if "error" in answer:
        raise ValueError(str(answer["error"]))
    return answer
