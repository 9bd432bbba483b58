"""The look through a run before it is published: only this process can compare with the values themselves."""

import asyncio
import json
import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, close_old_connections
from django.db.models import Q

from kernel import clock
from registry.models import Task
from runs import publishing, states
from runs.artifacts import records
from runs.call_bodies import unpack
from runs.gateway.answers import spellings
from runs.models import Artifact, ModelCall, Output, Run, RunEvent, TaskResult
from secrets_vault.models import SecretVersion
from secrets_vault.sealing import Opener, SealBroken, Sealed, aad_for

log = logging.getLogger("benchwright.gateway")
LOOK_SECONDS = 0.5
_LEAST_BYTES = 8  # a shorter value stands in innocent text
_ROWS = 200
_BATCH_BYTES = 1 << 20
_REST_SECONDS = 0.002  # between two batches: calls go first

Piece = tuple[str, bytes]


class Unseen(Exception):
    """The files that runs leave can't be read here, so nothing can be said of them."""


@dataclass(frozen=True)
class Finding:
    secret: str
    where: str


class Scanner:
    """Looks through what is waited for, one run at a time, in a thread of its own."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="scan")

    async def look_forever(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                while await loop.run_in_executor(self.thread, look):
                    pass
            except Unseen:
                log.warning("a run waits to be published: BENCHWRIGHT_ARTIFACTS_DIR is not there for this gateway")
                await asyncio.sleep(10 * LOOK_SECONDS)
            except DatabaseError as bad:
                log.warning("runs that are to be published wait for the database: %s", type(bad).__name__)
            except Exception as bad:  # whatever it is, nothing is published; its words could show what was looked at
                log.error("a run could not be looked through: %s", type(bad).__name__)

    def stop(self) -> None:
        self.thread.shutdown(wait=False, cancel_futures=True)


def look() -> bool:
    """Look through one run that waits for it. False where none does."""
    close_old_connections()
    due = Q(scan_state=publishing.WANTED) | Q(scan_state=publishing.LATER, status__in=states.TERMINAL)
    run = Run.objects.filter(due, destroyed_at=None).select_related("impl").order_by("id").first()
    if run is None:
        return False
    finding = search(run, values_of(run.owner_id))
    scan: dict[str, Any] = {"at": clock.stamp(clock.now()), "seq": run.last_seq}
    if finding is not None:
        log.warning("run %s: a secret's value stands in it; it is not published", run.id)
        scan |= {"secret": finding.secret, "where": finding.where}
    state = publishing.CLEAN if finding is None else publishing.FOUND
    Run.objects.filter(id=run.id, scan_state=run.scan_state).update(scan_state=state, scan=scan)
    return True


def values_of(account: int) -> dict[str, list[bytes]]:
    """How each value of the account's secrets may be spelled, by the secret's name. Values that don't open are left."""
    opener = Opener(Path(settings.KEYS_DIR) / "vault_private")
    found: dict[str, list[bytes]] = {}
    versions = SecretVersion.objects.filter(secret__owner=account).exclude(sealed=b"").select_related("secret")
    for row in versions:
        try:
            value = opener.open(Sealed(bytes(row.sealed), row.key_id), aad_for(account, row.secret_id, row.version))
        except SealBroken:
            continue
        if len(value) >= _LEAST_BYTES:
            found.setdefault(row.secret.name, []).extend(spellings(value))
            if b":" in value:  # a pair travels as such, and its password may travel alone
                password = value.partition(b":")[2]
                found[row.secret.name].extend(spellings(password) if len(password) >= _LEAST_BYTES else ())
    return found


def search(run: Run, values: dict[str, list[bytes]]) -> Finding | None:
    """The first place where a value stands; None where none does."""
    patterns = [(name, pattern) for name, spelt in values.items() for pattern in spelt]
    for pieces in _batches(_pieces(run)):
        whole = b"\n".join(data for _, data in pieces)
        for name, pattern in patterns:
            if pattern in whole:
                where = next((place for place, data in pieces if pattern in data), None)
                if where is not None:
                    return Finding(name, where)
        time.sleep(_REST_SECONDS)
    return None


def _batches(pieces: Iterator[Piece]) -> Iterator[list[Piece]]:
    batch: list[Piece] = []
    size = 0
    for piece in pieces:
        batch.append(piece)
        size += len(piece[1])
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _pieces(run: Run) -> Iterator[Piece]:
    """All that is shown of a run, and where it stands."""
    names = ("request", "description", "sut", "metadata", "hints", "findings", "error", "served")
    yield "the run itself", _json({name: getattr(run, name) for name in names})
    if run.impl is not None:
        yield "the scorer's code", run.impl.code.encode()
    for row in Task.objects.filter(subset=run.subset_id).iterator(_ROWS):
        yield f"the row {row.task_id}", row.row.encode()
    for output in Output.objects.filter(run=run).iterator(_ROWS):
        yield f"the output of cell {output.ordinal}", (output.output or "").encode()
        yield f"the fault of cell {output.ordinal}", _json([output.fault, output.facts])
    for result in TaskResult.objects.filter(run=run).iterator(_ROWS):
        told = {name: getattr(result, name) for name in ("error_message", "output_preview", "explanation", "metrics")}
        yield f"the result of {result.task_id} ({result.id})", _json(told)
    for event in RunEvent.objects.filter(run=run).iterator(_ROWS):
        yield f"the event {event.seq}", _json(event.data)
    for call in ModelCall.objects.filter(run=run).iterator(_ROWS):
        for body in (call.request, call.response):
            if body is not None:
                yield f"a model call of cell {call.ordinal}", unpack(body)
    for file in Artifact.objects.filter(run=run).iterator(_ROWS):
        yield f"the file {file.name}", _content(file)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _content(file: Artifact) -> bytes:
    try:
        return records.blobs().read(file.blob, file.start, file.size)
    except OSError:
        if not Path(settings.ARTIFACTS_DIR).is_dir():
            raise Unseen from None
        return b""  # what is lost is not shown either
