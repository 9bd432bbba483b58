"""What a compute backend gives: three long-lived roles that run a scorer's code away from everything else.

A role is one sandboxed process. Messages are JSON objects (shapes in docs/decisions/sandbox.md); they come
from a process that also runs the user's code, so a reader must treat every field as a claim.
"""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

Message = dict[str, Any]
ROLE_NAMES = ("extract", "solve", "score")


class ComputeFault(Exception):
    """The sandbox could not be started or did not answer: a fault of the installation, worth a retry elsewhere."""


class ScorerFault(Exception):
    """The user's code could not be loaded. ``error`` = {"class", "message", "trace"}; no retry will help."""

    def __init__(self, role: str, error: dict[str, str]) -> None:
        self.role = role
        self.error = error
        super().__init__(f"{role}: {error.get('class')}: {error.get('message')}")


class RoleDead(Exception):
    """The role is gone; nothing can be sent to it. ``on_death`` tells why."""


@dataclass(frozen=True)
class WayOut:
    """What a solve sandbox is given to reach hosts on the network through the egress proxy.

    ``token``: its credentials there; ``trust``: a folder with ``certificates.pem``, what its clients trust;
    ``port``: where its own loopback listens for the proxy.
    """

    token: str
    trust: Path
    port: int = 8081


@dataclass(frozen=True)
class RolesSpec:
    """One shard's roles.

    ``code``: text of task_impl.py. ``trusted``: compiled by us and running nothing the model wrote, so it may
    score in the score role's own process. ``isolation``: "batch" = a fresh child per batch under the audit
    hook; "task" = a fresh child and an empty /tmp per task. ``concurrency``: most solves at once.
    ``memory_mb``/``pids``/``tmp_mb``: caps of EACH role. ``score_seconds``: most time of one score() call.
    ``proxy_port``: where the solve sandbox's own loopback listens for the model gateway. ``way_out``: None where the
    run reaches nothing else.
    """

    run_id: str
    code: str
    trusted: bool = False
    isolation: str = "batch"
    model: str = ""
    concurrency: int = 16
    memory_mb: int = 1024
    pids: int = 512
    tmp_mb: int = 256
    score_seconds: float = 60.0
    proxy_port: int = 8080
    way_out: WayOut | None = None


@dataclass(frozen=True)
class Death:
    """Why a role ended. ``reason``: killed | memory | pids | disk | exited | protocol."""

    role: str
    reason: str
    detail: str
    stderr_tail: str = ""


@dataclass(frozen=True)
class Check:
    """One thing the self-test tried: ``ok`` means the sandbox held."""

    name: str
    ok: bool
    detail: str = ""


@dataclass(frozen=True)
class SelfTest:
    """``ok`` False: scorers must be refused here. ``sandboxed`` False: it works, but without any wall."""

    ok: bool
    checks: list[Check] = field(default_factory=list)
    sandboxed: bool = True

    def failures(self) -> list[str]:
        return [f"{check.name}: {check.detail}" for check in self.checks if not check.ok]


class Role(Protocol):
    """One living role, used from the event loop that opened it."""

    name: str
    on_messages: Callable[[list[Message]], None] | None
    on_death: Callable[[Death], None] | None

    @property
    def pending_bytes(self) -> int:
        """Bytes accepted by ``send`` that the role has not read yet: stop feeding when it grows."""

    @property
    def dead(self) -> Death | None: ...

    def send(self, messages: Sequence[Message]) -> None:
        """Queue messages; never blocks. Raises RoleDead when the role is gone."""

    def kill(self, reason: str = "killed", detail: str = "") -> None:
        """End the whole process tree; ``on_death`` follows."""


class Roles(Protocol):
    """The three roles of a shard. Closing is the caller's duty, also after a death."""

    extract: Role
    solve: Role
    score: Role
    sandboxed: bool

    @property
    def listener(self) -> socket.socket:
        """The TCP listener inside the solve sandbox's own network; a new one after each restart of solve."""

    @property
    def egress_listener(self) -> socket.socket | None:
        """The same for the egress proxy; None where the spec has no way out."""

    async def restart(self, name: str) -> None:
        """Replace the named role (killing it if it lives). Raises ComputeFault or ScorerFault. Callbacks move over."""

    async def close(self) -> None:
        """End all roles and wait until no process of theirs is left."""


class Compute(Protocol):
    """Where sandboxes live."""

    name: str

    async def self_test(self) -> SelfTest:
        """Try the known escapes for real inside each role. Cheap after the first time (kept per process)."""

    async def open(self, spec: RolesSpec) -> Roles:
        """Start the roles and load the code. Raises ComputeFault or ScorerFault."""
