"""The journal's table and what else the gateway reads of PostgreSQL. Raw SQL, since this is the hot path's far end."""

import asyncio
import logging
from binascii import b2a_base64
from collections.abc import Iterable, Sequence
from typing import Any, LiteralString

import orjson
import psycopg
from django.conf import settings
from psycopg.rows import dict_row

from runs.call_bodies import pack, unpack
from runs.gateway.journal import Call, Journal
from secrets_vault import uses

log = logging.getLogger("benchwright.gateway")

BATCH_SECONDS = 0.1
BATCH_ROWS = 500
BATCH_BYTES = 8 << 20
THREAD_BYTES = 256 << 10  # more than this is packed in a thread, off the loop
MOST_WAITING_BYTES = 512 << 20

_COLUMNS: LiteralString = (
    "ordinal, attempt, request_hash, occurrence, status, http_status, request, response, streamed, model_served,"
    " upstream, finish_reason, tokens_in, tokens_out, tokens_reasoning, tokens_cached, cost, priced_by,"
    " usage_estimated, tries, waited_ms, latency_ms, error_class, created_at, settled_at"
)
# One JSON parameter instead of a column of arrays: it is written and read in C on both sides.
_TYPED: LiteralString = (
    "run_id uuid, ordinal int, attempt int, request_hash text, occurrence int, status text, http_status int,"
    " request text, response text, streamed bool, model_served text, upstream text, finish_reason text, tokens_in int,"
    " tokens_out int, tokens_reasoning int, tokens_cached int, cost bigint, priced_by text, usage_estimated bool,"
    " tries int, waited_ms int, latency_ms int, error_class text, created_at float8, settled_at float8"
)
_VALUES: LiteralString = (
    "u.run_id, u.ordinal, u.attempt, u.request_hash, u.occurrence, u.status, u.http_status,"
    " decode(u.request, 'base64'), decode(u.response, 'base64'), u.streamed, u.model_served, u.upstream,"
    " u.finish_reason, u.tokens_in, u.tokens_out, u.tokens_reasoning, u.tokens_cached, u.cost, u.priced_by,"
    " u.usage_estimated, u.tries, u.waited_ms, u.latency_ms, u.error_class, to_timestamp(u.created_at),"
    " to_timestamp(u.settled_at)"
)
# A run that was destroyed meanwhile takes its rows with it: the join drops them instead of failing the batch.
# A settled call never changes again; anything else may still learn its end.
WRITE: LiteralString = f"""
INSERT INTO runs_modelcall (run_id, {_COLUMNS})
SELECT {_VALUES} FROM json_to_recordset(%s::json) AS u({_TYPED}) JOIN runs_run r ON r.id = u.run_id
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
        self.waiting_bytes = 0
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
        self.waiting_bytes += len(call.request) + len(call.response)

    def full(self) -> bool:
        """True while the database has been away for so long that memory would run out."""
        return self.waiting_bytes > MOST_WAITING_BYTES

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

    async def write_uses(self) -> None:
        """Writes which secrets were used since the last time. psycopg.Error leaves it waiting."""
        taken = uses.NOTES.take()
        if not taken:
            return
        async with self._write_lock:
            try:
                if self._writer is None or self._writer.closed:
                    self._writer = await _connect()
                await self._writer.execute(uses.WRITE, (taken,))
            except BaseException as bad:
                if isinstance(bad, psycopg.OperationalError):
                    self._writer = None
                uses.NOTES.put_back(taken)
                raise

    async def note_forever(self) -> None:
        """The record of uses, once a second."""
        while True:
            await asyncio.sleep(uses.FLUSH_SECONDS)
            try:
                await self.write_uses()
            except psycopg.Error as bad:
                log.warning("the record of uses waits for the database: %s", type(bad).__name__)

    async def flush(self) -> None:
        """Writes all that waits. psycopg.Error leaves it waiting."""
        async with self._write_lock:
            while self.waiting:
                batch = _slice(self.waiting)
                await self._write_or_split(batch)
                del self.waiting[: len(batch)]
                for call in batch:
                    self.waiting_bytes -= len(call.request) + len(call.response)
                    if call.segment is not None:
                        call.segment.release()
                        call.segment = None
                    for tell in self.on_stored:
                        tell(call)
            self.journal.tidy()

    async def _write_or_split(self, batch: list[Call]) -> None:
        """A batch that the database won't take is written call by call, so that one odd call keeps no other back."""
        try:
            await self.write(batch)
        except psycopg.OperationalError:
            raise
        except (psycopg.Error, TypeError) as bad:
            if len(batch) > 1:
                for call in batch:
                    await self._write_or_split([call])
                return
            log.error("the database refuses a call of run %s: %s", batch[0].run, type(bad).__name__)

    async def write(self, calls: Iterable[Call]) -> None:
        """One statement. The last of several records of one call counts, as ON CONFLICT can't touch a row twice."""
        unique = list({call.key: call for call in calls}.values())
        if not unique:
            return
        if self._writer is None or self._writer.closed:
            self._writer = await _connect()
        try:
            size = sum(len(call.request) + len(call.response) for call in unique)
            rows = rows_of(unique) if size < THREAD_BYTES else await asyncio.to_thread(rows_of, unique)
            await self._writer.execute(WRITE, (rows,))
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


def rows_of(calls: Sequence[Call]) -> str:
    """The parameter of WRITE: a JSON list with one object per call, bodies packed and in Base64."""
    rows = [
        {
            "run_id": call.run,
            "ordinal": call.ordinal,
            "attempt": call.attempt,
            "request_hash": call.hash,
            "occurrence": call.occurrence,
            "status": call.status,
            "http_status": call.http_status,
            "request": b2a_base64(pack(call.request), newline=False).decode("ascii"),
            "response": b2a_base64(pack(call.response), newline=False).decode("ascii"),
            "streamed": call.streamed,
            "model_served": _text(call.served, 200),
            "upstream": _text(call.upstream, 200),
            "finish_reason": _text(call.finish_reason, 40),
            "tokens_in": call.tokens_in,
            "tokens_out": call.tokens_out,
            "tokens_reasoning": call.tokens_reasoning,
            "tokens_cached": call.tokens_cached,
            "cost": call.cost,
            "priced_by": call.priced_by,
            "usage_estimated": call.estimated,
            "tries": call.tries,
            "waited_ms": call.waited_ms,
            "latency_ms": call.latency_ms,
            "error_class": call.error_class,
            "created_at": call.created,
            "settled_at": call.settled or None,
        }
        for call in calls
    ]
    return orjson.dumps(rows).decode()


def _text(value: str | None, most: int) -> str | None:
    return value.replace("\0", "\ufffd")[:most] if value is not None else None


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
