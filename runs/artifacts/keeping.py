"""The worker's side: what cells print and what had to be cleaned is stored in bundles, beside the hot path.

A cell without any of it costs nothing. Many small pieces share one file, so that a flood of logs is a few writes.
"""

import asyncio
import hashlib
import json
import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from kernel import ids
from kernel.secret_signs import redact
from runs.artifacts import records
from runs.context import Context

log = logging.getLogger(__name__)
GATHER_SECONDS = 0.5
BUNDLE_BYTES = 8 << 20
RUN_BYTES = 256 << 20  # of one worker for one run; what comes later is cut to its beginning
SHORT_BYTES = 4 << 10
CLOSE_SECONDS = 10.0
_CUT = b"\n[truncated]"

# The fence: what a worker writes after it lost the shard is not stored. The scorer's code belongs to no shard.
_INSERT = """
INSERT INTO runs_artifact
    (id, run_id, type, name, version, ordinal, task_id, content_type, size, sha256, blob, start)
SELECT u.id, %(run)s, u.type, u.name, u.version, u.ordinal, u.task_id, u.content_type, u.size, u.sha256, %(blob)s,
       u.start
FROM json_to_recordset(%(rows)s::json)
  AS u (id text, type text, name text, version int, ordinal int, task_id text, content_type text, size bigint,
        sha256 text, start bigint, shard int, fence int)
WHERE u.shard IS NULL OR EXISTS (
    SELECT 1 FROM runs_shard s WHERE s.run_id = %(run)s AND s.phase = %(phase)s AND s.number = u.shard
      AND s.attempt_no = u.fence)
ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class Piece:
    type: str
    name: str
    data: bytes
    version: int = 1
    ordinal: int | None = None
    task_id: str | None = None
    shard: int | None = None
    fence: int | None = None


class Keeping:
    """``run`` stores what was added until it is cancelled; ``close`` stores the rest."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._pieces: deque[Piece] = deque()
        self._kept = 0  # bytes
        self._some = asyncio.Event()
        self._storing = asyncio.Lock()
        self._under_way: asyncio.Task[None] | None = None  # held, so that it isn't collected
        impl = context.run.impl
        if impl is not None:
            self._add(Piece("code", "task_impl.py", impl.code.encode()))
            if impl.grader is not None:
                recipe = json.dumps(impl.grader, ensure_ascii=False, sort_keys=True, indent=2)
                self._add(Piece("recipe", "grader.json", recipe.encode()))

    def said(self, role: str, cell: Any, message: Mapping[str, Any]) -> None:
        """What a role told of a cell beside its answer: ``log``, and ``raw`` where the output had to be cleaned."""
        if "log" in message:
            self._of_cell("log", f"{role}.log", cell, redact(message["log"]).encode("utf-8", "replace"))
        if "raw" in message:
            self._of_cell("raw_output", "raw", cell, _raw(redact(message["raw"])))

    def extracted(self, shard: int, items: Mapping[int, Mapping[str, Any]]) -> None:
        """Rows, by position, whose input or expected answer extract made something else of."""
        lines = [json.dumps({"position": position, **item}) + "\n" for position, item in sorted(items.items())]
        self._of_shard(shard, Piece("extracted", f"extracted-{shard}.jsonl", "".join(lines).encode()))

    def _of_cell(self, kind: str, suffix: str, cell: Any, data: bytes) -> None:
        trial = f".trial{cell.trial}" if self._context.run.trials > 1 else ""
        name = f"{cell.task_id}{trial}.{suffix}"
        self._of_shard(cell.shard, Piece(kind, name, data, cell.attempt, cell.ordinal, cell.task_id))

    def _of_shard(self, shard: int, piece: Piece) -> None:
        lease = self._context.leases.held.get(shard)
        if lease is not None:
            self._add(replace(piece, shard=shard, fence=lease.attempt_no))

    def _add(self, piece: Piece) -> None:
        most = records.MOST_BYTES if self._kept < RUN_BYTES else SHORT_BYTES
        if len(piece.data) > most:
            if piece.type != "log":
                return  # half of it would be no use
            piece = replace(piece, data=piece.data[:most].decode("utf-8", "ignore").encode() + _CUT)
        self._kept += len(piece.data)
        self._pieces.append(piece)
        self._some.set()

    async def run(self) -> None:
        while True:
            await self._some.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._under_way = asyncio.create_task(self._store())
            await asyncio.shield(self._under_way)  # cancelled or not: what was taken off the line is stored

    async def close(self) -> None:
        """Store what is left, after what is being stored; never raises, and never takes long."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._store()
        except Exception as error:  # a run must not end otherwise because of its logs
            log.warning("some logs of run %s were not stored: %r", self._context.run.id, error)

    async def _store(self) -> None:
        async with self._storing:
            while self._pieces:
                await self._write(self._bundle())
            self._some.clear()

    def _bundle(self) -> list[Piece]:
        """What goes into one file. The scorer's own goes apart: the same bytes serve all runs of the same impl."""
        first, bundle, size = self._pieces[0].shard, [], 0
        while self._pieces and size < BUNDLE_BYTES and (self._pieces[0].shard is None) == (first is None):
            bundle.append(self._pieces.popleft())
            size += len(bundle[-1].data)
        return bundle

    async def _write(self, bundle: list[Piece]) -> None:
        rows, start, run = [], 0, str(self._context.run.id)
        for piece in bundle:
            rows.append(_row(piece, start))
            start += len(piece.data)
        try:
            blob = await asyncio.to_thread(records.blobs().put, b"".join(piece.data for piece in bundle))
            named = {"run": run, "phase": self._context.phase, "blob": blob, "rows": json.dumps(rows)}
            await self._context.control.execute(_INSERT, named)
        except (OSError, psycopg.Error) as error:  # a full disk must not cost an answer that is paid for
            log.warning("%s artifacts of run %s were not stored: %s", len(bundle), run, error)


def _row(piece: Piece, start: int) -> dict[str, Any]:
    return {
        "id": ids.prefixed_ulid("art"),
        "type": piece.type,
        "name": piece.name[:400],
        "version": piece.version,
        "ordinal": piece.ordinal,
        "task_id": piece.task_id,
        "content_type": records.TYPES[piece.type],
        "size": len(piece.data),
        "sha256": hashlib.sha256(piece.data).hexdigest(),
        "start": start,
        "shard": piece.shard,
        "fence": piece.fence,
    }


def _raw(text: str) -> bytes:
    """Text as its bytes, what else solve returned as JSON. The text is a sandbox's claim, so it may be no JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return text.encode("utf-8", "replace")
