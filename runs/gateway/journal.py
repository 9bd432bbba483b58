"""The journal's file: what is sent is durable before it is sent, what came back is written before it is handed over.

Segments ``<number>.journal`` of records ``length, crc32, payload``; payload = ``length of meta, meta (JSON), request,
response``. A segment is deleted when every call in it has ended and is in PostgreSQL.
"""

import asyncio
import fcntl
import logging
import os
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import orjson

from kernel.faults import fault

log = logging.getLogger("benchwright.gateway")

SEGMENT_BYTES = 64 << 20
SLOW_SYNC_SECONDS = 0.005  # above this a flush runs in a thread instead of holding up the loop
_FRAME = struct.Struct("<II")
_SIZES = struct.Struct("<II")  # of the meta and of the request

Then = Callable[[OSError | None], None]
SENT, SETTLED, FAILED, UNKNOWN = "sent", "settled", "failed", "unknown"
_ENDS = frozenset((SETTLED, FAILED, UNKNOWN))


class Call:
    """One model call: a row of the journal. Costs are micro-cents, ``cost`` None = unpriced. Times in ms."""

    __slots__ = (
        "attempt",
        "cost",
        "created",
        "error_class",
        "error_message",
        "estimated",
        "finish_reason",
        "finished",
        "hash",
        "http_status",
        "latency_ms",
        "occurrence",
        "ordinal",
        "priced_by",
        "request",
        "response",
        "run",
        "segment",
        "served",
        "settled",
        "status",
        "streamed",
        "tokens_cached",
        "tokens_in",
        "tokens_out",
        "tokens_reasoning",
        "tries",
        "upstream",
        "waited_ms",
    )

    def __init__(self, run: str, ordinal: int, attempt: int, digest: str, occurrence: int) -> None:
        self.run = run
        self.ordinal = ordinal
        self.attempt = attempt
        self.hash = digest
        self.occurrence = occurrence
        self.status = ""  # nothing was sent yet
        self.created = time.time()
        self.settled = 0.0
        self.request = self.response = b""
        self.streamed = self.estimated = False
        self.http_status: int | None = None
        self.served: str | None = None
        self.upstream: str | None = None
        self.finish_reason: str | None = None
        self.tokens_in = self.tokens_out = self.tokens_reasoning = self.tokens_cached = 0
        self.cost: int | None = None
        self.priced_by: str | None = None
        self.tries = self.waited_ms = self.latency_ms = 0
        self.error_class: str | None = None
        self.error_message: str | None = None
        self.segment: Segment | None = None
        self.finished: asyncio.Future[None] | None = None

    @property
    def key(self) -> tuple[str, int, str, int]:
        return self.run, self.ordinal, self.hash, self.occurrence

    def ended(self) -> bool:
        return self.status in _ENDS


# Fields of a record's meta, in order. Adding one goes at the end, so that old files stay readable.
FIELDS = (
    "run", "ordinal", "attempt", "hash", "occurrence", "status", "created", "settled", "http_status", "streamed",
    "served", "upstream", "finish_reason", "tokens_in", "tokens_out", "tokens_reasoning", "tokens_cached", "cost",
    "priced_by", "estimated", "tries", "waited_ms", "latency_ms", "error_class", "error_message",
)  # fmt: skip
_SENT = attrgetter(*FIELDS[:7])
_ENDED = attrgetter(*FIELDS)


class Segment:
    """One file. ``open`` counts its records whose call has not yet ended in PostgreSQL."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.size = 0
        self.open = 0
        self.current = True

    def release(self) -> None:
        self.open -= 1
        self.drop_if_done()

    def drop_if_done(self) -> None:
        if not self.current and self.open <= 0 and self.fd >= 0:
            self.close()
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class JournalBusy(Exception):
    """Another gateway holds this journal folder."""


class Journal:
    """Appends records. One per folder and machine; the folder is locked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self.lock)
            raise JournalBusy(f"another gateway is using {folder}") from None
        self.old = sorted(folder.glob("*.journal"))
        self.number = int(self.old[-1].stem) if self.old else 0
        self.loop: asyncio.AbstractEventLoop | None = None
        self.pending: list[bytes] = []
        self.senders: list[Then] = []  # of records in ``pending`` that must be durable
        self.enders: list[Callable[[], None]] = []  # of records in ``pending`` that must be written
        self.unsynced: list[Then] = []  # of records that are written and not durable yet
        self.planned = False
        self.syncing = False
        self.sync_seconds = 0.0
        self.segment = self._next_segment()

    def _next_segment(self) -> Segment:
        self.number += 1
        segment = Segment(self.folder / f"{self.number:010d}.journal")
        directory = os.open(self.folder, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)
        return segment

    def sent(self, call: Call) -> asyncio.Future[None]:
        """Records that ``call`` is about to be sent. The future is done once that is on the disk; OSError."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def then(bad: OSError | None) -> None:
            if done.done():
                return
            if bad is None:
                done.set_result(None)
            else:
                done.set_exception(bad)

        self.post(call, then)
        return done

    def post(self, call: Call, then: Then) -> None:
        """As ``sent``, with a callback: ``then(None)`` once it is on the disk, ``then(error)`` where it is not."""
        call.status = SENT
        call.segment = self.segment
        self.segment.open += 1
        self.pending.append(_record(orjson.dumps(_SENT(call)), b"", b""))
        self.senders.append(then)
        self._plan()

    def finish(self, call: Call, then: Callable[[], None]) -> None:
        """Records how ``call`` ended, with all else that happens in this turn of the loop; ``then`` once written."""
        self.pending.append(self._end_of(call))
        self.enders.append(then)
        self._plan()

    def ended(self, call: Call) -> None:
        """Records how ``call`` ended, written at once (and durable with the next group)."""
        record = self._end_of(call)
        try:
            self._append(record)
        except OSError:
            log.error("the journal's disk refuses a record; the database gets it directly")

    def _end_of(self, call: Call) -> bytes:
        fault("M4")
        if call.segment is not self.segment:
            # Both files are needed until PostgreSQL has the call: the newer one tells its end.
            if call.segment is not None:
                call.segment.release()
            call.segment = self.segment
            self.segment.open += 1
        return _record(orjson.dumps(_ENDED(call)), call.request, call.response)

    def _plan(self) -> None:
        if not self.planned:
            self.planned = True
            if self.loop is None:
                self.loop = asyncio.get_running_loop()
            self.loop.call_soon(self._planned)

    def _planned(self) -> None:
        self.planned = False
        self.flush()

    def flush(self) -> None:
        """Writes what is pending and tells those who wait for it. One write and one flush of the disk for all."""
        if not self.pending:
            return
        senders, self.senders = self.senders, []
        enders, self.enders = self.enders, []
        data, self.pending = b"".join(self.pending), []
        try:
            self._append(data)
            self.unsynced += senders
        except OSError as bad:
            if enders:
                log.error("the journal's disk refuses a record; the database gets it directly")
            _tell(senders, bad)
        for then in enders:
            try:
                then()
            except Exception:  # one call's trouble is not its neighbours'
                log.exception("a call broke after its end was written")
        if self.unsynced and not self.syncing:
            self._sync()
        if self.segment.size > SEGMENT_BYTES:
            self.rotate()

    def _append(self, record: bytes) -> None:
        """OSError (a full disk) leaves the file as it was before."""
        data, size = memoryview(record), self.segment.size
        try:
            while data:
                count = os.write(self.segment.fd, data)
                size += count
                data = data[count:]
        except OSError:
            os.ftruncate(self.segment.fd, self.segment.size)
            raise
        self.segment.size = size

    def _sync(self) -> None:
        group, self.unsynced = self.unsynced, []
        if self.sync_seconds < SLOW_SYNC_SECONDS:
            try:
                seconds = _timed_sync(self.segment.fd)
            except OSError as bad:
                _tell(group, bad)
            else:
                self._synced(group, seconds)
            return
        self.syncing = True
        waiting = asyncio.get_running_loop().run_in_executor(None, _timed_sync, self.segment.fd)
        waiting.add_done_callback(lambda done: self._synced_later(group, done))

    def _synced_later(self, group: list[Then], done: asyncio.Future[float]) -> None:
        self.syncing = False
        bad = done.exception()
        if bad is None:
            self._synced(group, done.result())
        else:
            _tell(group, bad if isinstance(bad, OSError) else OSError(str(bad)))
        if self.unsynced and not self.syncing:
            self._sync()

    def _synced(self, group: list[Then], seconds: float) -> None:
        self.sync_seconds += (seconds - self.sync_seconds) * 0.05
        _tell(group, None)

    def rotate(self) -> None:
        """Starts a new file; the old one goes when its calls are in PostgreSQL."""
        if self.syncing or self.pending:
            return  # the next flush tries again
        os.fdatasync(self.segment.fd)
        old, self.segment = self.segment, self._next_segment()
        old.current = False
        old.drop_if_done()

    def tidy(self) -> None:
        """Empties the current file where all that it says is in PostgreSQL."""
        if self.segment.open == 0 and self.segment.size and not (self.pending or self.unsynced or self.syncing):
            os.ftruncate(self.segment.fd, 0)
            self.segment.size = 0

    def replay(self) -> Iterator[Call]:
        """Calls of the files that an earlier process left, each as it was last known; sent without an end = unknown."""
        for path in self.old:
            calls: dict[tuple[str, int, str, int], Call] = {}
            for call in read_file(path):
                calls[call.key] = call
            yield from calls.values()

    def forget_old(self) -> None:
        """Deletes the files of ``replay``: their calls are in PostgreSQL now."""
        for path in self.old:
            path.unlink(missing_ok=True)
        self.old = []

    def close(self) -> None:
        self.flush()
        self.segment.close()
        os.close(self.lock)


def _tell(group: list[Then], bad: OSError | None) -> None:
    for then in group:
        try:
            then(bad)
        except Exception:  # one call's trouble is not its neighbours'
            log.exception("a call broke after it was journaled")


def _timed_sync(fd: int) -> float:
    begun = time.perf_counter()
    os.fdatasync(fd)
    return time.perf_counter() - begun


def _record(meta: bytes, request: bytes, response: bytes) -> bytes:
    payload = b"".join((_SIZES.pack(len(meta), len(request)), meta, request, response))
    return _FRAME.pack(len(payload), zlib.crc32(payload)) + payload


def read_file(path: Path) -> Iterator[Call]:
    """The records of one file up to the first torn one (the process died while writing it)."""
    data = path.read_bytes()
    offset = 0
    while offset + _FRAME.size <= len(data):
        size, crc = _FRAME.unpack_from(data, offset)
        payload = data[offset + _FRAME.size : offset + _FRAME.size + size]
        if len(payload) < size or zlib.crc32(payload) != crc:
            return
        yield _call_of(payload)
        offset += _FRAME.size + size


def _call_of(payload: bytes) -> Call:
    meta_size, request_size = _SIZES.unpack_from(payload)
    start = _SIZES.size
    values: list[Any] = orjson.loads(payload[start : start + meta_size])
    call = Call(*values[:5])
    for name, value in zip(FIELDS, values, strict=False):
        setattr(call, name, value)
    call.request = payload[start + meta_size : start + meta_size + request_size]
    call.response = payload[start + meta_size + request_size :]
    if call.status == SENT:
        call.status, call.error_class = UNKNOWN, "provider_error"
    return call
