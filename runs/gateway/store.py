"""The journal's table and what else the gateway reads of PostgreSQL. Raw SQL, since this is the hot path's far end."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Any, LiteralString

import psycopg
from django.conf import settings
from psycopg.rows import dict_row

from runs.call_bodies import pack, unpack
from runs.gateway.journal import Call, Journal, moment

log = logging.getLogger("benchwright.gateway")

BATCH_SECONDS = 0.1
BATCH_ROWS = 500
BATCH_BYTES = 8 << 20

_COLUMNS: LiteralString = (
    "ordinal, attempt, request_hash, occurrence, status, http_status, request, response, streamed, model_served,"
    " upstream, finish_reason, tokens_in, tokens_out, tokens_reasoning, tokens_cached, cost, priced_by,"
    " usage_estimated, tries, waited_ms, latency_ms, error_class, created_at, settled_at"
)
_TYPES: LiteralString = (
    "%s::uuid[], %s::int[], %s::int[], %s::text[], %s::int[], %s::text[], %s::int[], %b::bytea[], %b::bytea[],"
    " %s::bool[], %s::text[], %s::text[], %s::text[], %s::int[], %s::int[], %s::int[], %s::int[], %s::bigint[],"
    " %s::text[], %s::bool[], %s::int[], %s::int[], %s::int[], %s::text[], %s::timestamptz[], %s::timestamptz[]"
)
# A run that was destroyed meanwhile takes its rows with it: the join drops them instead of failing the batch.
# A settled call never changes again; anything else may still learn its end.
WRITE: LiteralString = f"""
INSERT INTO runs_modelcall (run_id, {_COLUMNS})
SELECT u.* FROM unnest({_TYPES}) AS u(run_id, {_COLUMNS}) JOIN runs_run r ON r.id = u.run_id
ON CONFLICT (run_id, ordinal, request_hash, occurrence) DO UPDATE SET
 (attempt, status, http_status, request, response, streamed, model_served, upstream, finish_reason, tokens_in,
  tokens_out, tokens_reasoning, tokens_cached, cost, priced_by, usage_estimated, tries, waited_ms, latency_ms,
  error_class, created_at, settled_at)
 = (EXCLUDED.attempt, EXCLUDED.status, EXCLUDED.http_status, EXCLUDED.request, EXCLUDED.response, EXCLUDED.streamed,
  EXCLUDED.model_served, EXCLUDED.upstream, EXCLUDED.finish_reason, EXCLUDED.tokens_in, EXCLUDED.tokens_out,
  EXCLUDED.tokens_reasoning, EXCLUDED.tokens_cached, EXCLUDED.cost, EXCLUDED.priced_by, EXCLUDED.usage_estimated,
  EXCLUDED.tries, EXCLUDED.waited_ms, EXCLUDED.latency_ms, EXCLUDED.error_class, EXCLUDED.created_at,
  EXCLUDED.settled_at)
WHERE runs_modelcall.status <> 'settled'
"""  # noqa: S608 (constants only)
CELL: LiteralString = f"SELECT run_id, {_COLUMNS} FROM runs_modelcall WHERE run_id = %s AND ordinal = ANY(%s)"  # noqa: S608
RUN: LiteralString = (
    "SELECT owner_id, status, sut, sut_key, concurrency FROM runs_run WHERE id = %s AND destroyed_at IS NULL"
)
HAS_CALLS: LiteralString = "SELECT EXISTS (SELECT 1 FROM runs_modelcall WHERE run_id = %s)"
SEALED: LiteralString = """
SELECT s.owner_id, s.deleted_at, v.sealed FROM secrets_vault_secret s
LEFT JOIN secrets_vault_secretversion v ON v.secret_id = s.id AND v.version = %s WHERE s.id = %s
"""
LIVE: LiteralString = """
SELECT id::text FROM runs_run WHERE id = ANY(%s::uuid[]) AND status IN ('queued', 'running', 'needs_input')
 AND destroyed_at IS NULL
UNION ALL SELECT id FROM secrets_vault_secret WHERE id = ANY(%s::text[]) AND deleted_at IS NULL
"""


def conninfo() -> str:
    """libpq's words for Django's default database."""
    entry: dict[str, Any] = settings.DATABASES["default"]
    words = {
        "dbname": entry["NAME"], "user": entry["USER"], "password": entry["PASSWORD"],
        "host": entry["HOST"], "port": entry["PORT"], **entry.get("OPTIONS", {}),
    }  # fmt: skip
    return psycopg.conninfo.make_conninfo("", **{key: value for key, value in words.items() if value})


class Store:
    """Two connections: one writes batches, one answers reads. Both come back by themselves."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.waiting: list[Call] = []
        self.flushed: list[asyncio.Future[None]] = []
        self.on_stored: list[Any] = []
        self._writer: psycopg.AsyncConnection[Any] | None = None
        self._reader: psycopg.AsyncConnection[Any] | None = None
        self._read_lock = asyncio.Lock()
        self._write_lock = asyncio.Lock()

    # -- reads -----------------------------------------------------------------------------------------------------
    async def read(self, query: LiteralString, values: Sequence[Any]) -> list[dict[str, Any]]:
        """Rows of a query. psycopg.OperationalError where the database is away even after a second try."""
        async with self._read_lock:
            for last in (False, True):
                try:
                    if self._reader is None or self._reader.closed:
                        self._reader = await _connect()
                    async with self._reader.cursor(row_factory=dict_row) as cursor:
                        await cursor.execute(query, values)
                        return await cursor.fetchall()
                except psycopg.OperationalError:
                    self._reader = None
                    if last:
                        raise
        return []

    async def calls_of(self, run: str, ordinals: Sequence[int]) -> list[Call]:
        return [_call_of(row) for row in await self.read(CELL, (run, list(ordinals)))]

    # -- writes ----------------------------------------------------------------------------------------------------
    def add(self, call: Call) -> None:
        """Puts an ended call into the next batch."""
        self.waiting.append(call)

    async def write_forever(self) -> None:
        """A batch each 100 ms. While the database is away the file keeps what happened."""
        pause = BATCH_SECONDS
        while True:
            await asyncio.sleep(pause)
            try:
                await self.flush()
                pause = BATCH_SECONDS
            except psycopg.Error as bad:
                pause = min(5.0, pause * 2)
                log.warning("the journal waits for the database: %s", type(bad).__name__)

    async def flush(self) -> None:
        """Writes all that waits. psycopg.Error leaves it waiting."""
        async with self._write_lock:
            while self.waiting:
                batch = _slice(self.waiting)
                await self.write(batch)
                del self.waiting[: len(batch)]
                for call in batch:
                    if call.segment is not None:
                        call.segment.release()
                        call.segment = None
                    for tell in self.on_stored:
                        tell(call)
            self.journal.tidy()

    async def write(self, calls: Iterable[Call]) -> None:
        """One statement. The last of several records of one call counts, as ON CONFLICT can't touch a row twice."""
        unique = list({call.key: call for call in calls}.values())
        if not unique:
            return
        if self._writer is None or self._writer.closed:
            self._writer = await _connect()
        try:
            await self._writer.execute(WRITE, columns(unique))
        except psycopg.OperationalError:
            self._writer = None
            raise

    async def close(self) -> None:
        for conn in (self._writer, self._reader):
            if conn is not None:
                await conn.close()


async def _connect() -> psycopg.AsyncConnection[Any]:
    return await psycopg.AsyncConnection.connect(conninfo(), autocommit=True, application_name="benchwright gateway")


def _slice(waiting: list[Call]) -> list[Call]:
    size, batch = 0, []
    for call in waiting[:BATCH_ROWS]:
        batch.append(call)
        size += len(call.request) + len(call.response)
        if size > BATCH_BYTES:
            break
    return batch


def columns(calls: Sequence[Call]) -> list[list[Any]]:
    """Values of WRITE: one list per column."""
    rows = [
        (
            call.run, call.ordinal, call.attempt, call.hash, call.occurrence, call.status, call.http_status,
            pack(call.request), pack(call.response), call.streamed, _text(call.served, 200), _text(call.upstream, 200),
            _text(call.finish_reason, 40), _int(call.tokens_in), _int(call.tokens_out), _int(call.tokens_reasoning),
            _int(call.tokens_cached), call.cost, call.priced_by, call.estimated, call.tries, _int(call.waited_ms),
            _int(call.latency_ms), call.error_class, moment(call.created), moment(call.settled),
        )
        for call in calls
    ]  # fmt: skip
    return [list(column) for column in zip(*rows, strict=True)]


def _text(value: str | None, most: int) -> str | None:
    return value.replace("\0", "\ufffd")[:most] if value is not None else None


def _int(value: int) -> int:
    return max(0, min(value, 2_147_483_647))


def _call_of(row: dict[str, Any]) -> Call:
    call = Call(str(row["run_id"]), row["ordinal"], row["attempt"], row["request_hash"], row["occurrence"])
    call.status = row["status"]
    call.request, call.response = unpack(row["request"]), unpack(row["response"])
    call.served, call.estimated = row["model_served"], row["usage_estimated"]
    call.created, call.settled = (
        row["created_at"].timestamp(),
        row["settled_at"].timestamp() if row["settled_at"] else 0,
    )
    for name in (
        "http_status", "streamed", "upstream", "finish_reason", "tokens_in", "tokens_out", "tokens_reasoning",
        "tokens_cached", "cost", "priced_by", "tries", "waited_ms", "latency_ms", "error_class",
    ):  # fmt: skip
        setattr(call, name, row[name])
    return call
