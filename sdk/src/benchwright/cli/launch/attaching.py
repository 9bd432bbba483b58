"""Launching so that the same command never pays twice."""

import hashlib
import json
import os
import subprocess
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import GoneError, NotFoundError
from .. import cache

if TYPE_CHECKING:
    from ..._objects import Object
    from ...client import Benchwright

MOST = 200  # beginnings of one launch that are looked through


@dataclass(frozen=True)
class Launched:
    run: "Object"
    reattached: bool


def derived_key(body: Mapping[str, Any]) -> str:
    """The same launch from the same folder and commit has the same key.

    It hashes what the arguments ask for, not their spelling: --no-wait, --gate and --output do not change a run.
    """
    facts = [json.dumps(body, sort_keys=True, ensure_ascii=False), os.getcwd(), _commit()]
    return "cli-" + hashlib.sha256("\0".join(facts).encode("utf-8", "surrogateescape")).hexdigest()[:40]


def _commit() -> str:
    with suppress(OSError, subprocess.TimeoutExpired):
        command = ["git", "rev-parse", "HEAD"]
        found = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)  # noqa: S603  # fixed words
        return found.stdout.strip() if found.returncode == 0 else ""
    return ""


def launch(client: "Benchwright", body: Mapping[str, Any], key: str | None, new: bool) -> Launched:
    """Launch, or re-attach to the run that this very launch made before.

    A key given by the user is taken as it is. The derived one is followed by a counter: a run that failed, was halted
    or destroyed makes way for the next.
    """
    if key:
        run = client.runs.launch(**body, idempotency_key=key)
        return _remembered(client, Launched(client.runs.get(run.id), True) if run.replayed else Launched(run, False))
    base = derived_key(body)
    begun = cache.beginnings(client.account, base)
    for count in range(begun + (1 if new else 0), begun + MOST):
        launched = _under(client, body, f"{base}-{count}")
        if launched and not (new and launched.reattached):
            with suppress(OSError):
                cache.remember_beginning(client.account, base, count)
            return _remembered(client, launched)
    run = client.runs.launch(**body, idempotency_key=f"cli-{uuid.uuid4().hex}")
    return _remembered(client, Launched(run, False))


def _under(client: "Benchwright", body: Mapping[str, Any], key: str) -> Launched | None:
    """The run of this key; None when it is one that came to nothing."""
    run = client.runs.launch(**body, idempotency_key=key)
    if not run.replayed:
        return Launched(run, False)
    try:
        current = client.runs.get(run.id)
    except (GoneError, NotFoundError):
        return None
    return None if current["status"] in ("failed", "halted") else Launched(current, True)


def _remembered(client: "Benchwright", launched: Launched) -> Launched:
    with suppress(OSError):  # a read-only home must not cost the run
        cache.remember_run(client.account, launched.run.id)
    return launched
