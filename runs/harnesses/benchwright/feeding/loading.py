"""What a shard holds: its rows, what earlier workers left, and the rows that extract made of them (kept on disk)."""

import hashlib
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from registry import queries as registry
from runs.harnesses.benchwright.cells import Past, Stored
from runs.hot import Connection
from runs.leases import Lease
from runs.models import Run

_DONE = "SELECT ordinal FROM runs_taskresult WHERE run_id = %s AND ordinal >= %s AND ordinal < %s AND live"
_OUTPUTS = """
SELECT ordinal, attempt, output, fault, facts, duration_ms FROM runs_output
WHERE run_id = %s AND ordinal >= %s AND ordinal < %s ORDER BY ordinal, attempt
"""
_STARTED = """
SELECT (data->>'ordinal')::int, count(*) FROM runs_runevent
WHERE run_id = %s AND type = 'MaterializeTaskStarted'
  AND (data->>'ordinal')::int >= %s AND (data->>'ordinal')::int < %s GROUP BY 1
"""


def rows_of(run: Run, lease: Lease) -> list[registry.TaskRow]:
    """The task rows of a shard, in the order of the run's list."""
    assert run.subset_id is not None
    assert run.subset_revision is not None
    if run.task_positions is not None:
        return registry.task_rows(run.subset_id, run.subset_revision, run.task_positions[lease.start : lease.stop])
    return registry.task_rows(run.subset_id, run.subset_revision, None, lease.start, lease.stop)


async def past_of(connection: Connection, run: Run, lease: Lease) -> Past:
    """What is already in the database of this shard's cells."""
    where = (str(run.id), lease.start * run.trials, lease.stop * run.trials)
    past = Past(done={row[0] for row in await (await connection.execute(_DONE, where)).fetchall()})
    for ordinal, attempt, output, fault, facts, ms in await (await connection.execute(_OUTPUTS, where)).fetchall():
        known = Stored(attempt, None if output is None else json.loads(output), fault, facts, ms)
        past.stored[ordinal] = known
        past.faults[ordinal] = past.faults.get(ordinal, 0) + 1
    if lease.attempt_no > 1:
        started = await (await connection.execute(_STARTED, where)).fetchall()
        past.started = {ordinal: times for ordinal, times in started}
    return past


class Extracted:
    """Rows as extract returned them, under a key of everything that decides them. A wrong or torn file is ignored."""

    def __init__(self, folder: Path, code_sha256: str, runtime_sha256: str) -> None:
        self._folder = folder
        self._prefix = f"{code_sha256}:{runtime_sha256}:".encode()

    def _path(self, rows: Sequence[str]) -> Path:
        digest = hashlib.sha256(self._prefix)
        for row in rows:
            digest.update(len(row).to_bytes(8, "big") + row.encode("utf-8", "surrogatepass"))
        name = digest.hexdigest()
        return self._folder / name[:2] / name

    def load(self, rows: Sequence[str]) -> list[dict[str, Any]] | None:
        try:
            items = orjson.loads(zlib.decompress(self._path(rows).read_bytes()))
        except (OSError, ValueError, zlib.error):
            return None
        return items if isinstance(items, list) and len(items) == len(rows) else None

    def keep(self, rows: Sequence[str], items: Sequence[dict[str, Any]]) -> None:
        path = self._path(rows)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".{id(items)}.part")
            part.write_bytes(zlib.compress(orjson.dumps(list(items)), 1))
            part.replace(path)
        except OSError:
            return  # only a cache: a full disk must not cost a result
