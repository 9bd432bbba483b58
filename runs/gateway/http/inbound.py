"""The server side of HTTP/1.1, strict: anything that two parsers could read in two ways is refused and closed.

Not a general server: origin-form targets, version 1.1, bodies by Content-Length or plain chunked. One compiled
grammar judges the whole head, so nothing that does not match it is ever looked at.
"""

import asyncio
import re
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple, cast

from runs.gateway.answers import error_body

HEAD_BYTES = 32 << 10
HEADERS = 100
BODY_BYTES = 24 << 20
PIPELINE = 32  # complete requests that may wait on one connection before it stops reading
HEAD_SECONDS = 30.0  # a request that was begun must have arrived by then
IDLE_SECONDS = 900.0

# request line and field lines of RFC 9112, without obs-fold, bare CR or LF, or whitespace before the colon
_HEAD = re.compile(
    rb"([A-Z]{1,16}) (/[!-~]{0,8000}) HTTP/1\.1\r\n"
    rb"((?:[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}:[^\x00-\x08\x0a-\x1f\x7f]*\r\n)*)"
)
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,7})\r\n")
# The fields that mean something to us. Each may come once.
_MEANT = re.compile(rb"(?mi)^(host|content-length|transfer-encoding|authorization|expect|content-type):(.*)\r$")
_CLOSE = re.compile(rb"(?mi)^connection:.*\bclose\b")
# What a Likeness leaves open, in a head that ``_HEAD`` has accepted.
_KEYED = re.compile(rb"(?i)\r\nauthorization:[ \t]*bearer ([!-~]+)\r\n")
_SIZED = re.compile(rb"(?i)\r\ncontent-length:[ \t]*([0-9]{1,10})\r\n")
_KEY = re.compile(rb"[!-~]+")
_KEY_BYTES = 256
LIKENESSES = 8  # that are kept; a client that writes another head each time is read by the grammar
_REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}


class BadRequest(Exception):
    """The bytes are not the one way of HTTP that we read."""


class Request(NamedTuple):
    method: bytes
    path: bytes  # without the query
    key: str  # the bearer token, "" where there is none
    body: bytes
    keep: bool


class Likeness(NamedTuple):
    """A head that the grammar has accepted, as its bytes around the key and the body's length.

    Another head with the same bytes there reads alike: what it may have instead can't begin a new line.
    """

    parts: tuple[bytes, bytes, bytes]
    key_first: bool
    method: bytes
    path: bytes

    def read(self, data: bytes) -> Request | None:
        """``data`` if it is one whole request like that; None says nothing about it."""
        before, between, after = self.parts
        start = len(before)
        middle = data.find(b"\r", start, start + _KEY_BYTES)
        if middle < 0 or not data.startswith(between, middle):
            return None
        second = middle + len(between)
        end = data.find(b"\r", second, second + _KEY_BYTES)
        if end < 0 or not data.startswith(after, end):
            return None
        first, last = data[start:middle], data[second:end]
        key, length = (first, last) if self.key_first else (last, first)
        body = end + len(after)
        if not _KEY.fullmatch(key) or not length.isdigit() or len(length) > 10 or len(data) - body != int(length):
            return None
        return Request(self.method, self.path, key.decode("ascii"), data[body:], True)


def _likeness(head: bytes, request: tuple[bytes, bytes, str, bool]) -> Likeness | None:
    """What other heads may be read by; None where ``head`` is no plain one with key and length."""
    method, path, key, keep = request
    keyed, sized = _KEYED.search(head), _SIZED.search(head)
    if (
        not keep
        or keyed is None
        or sized is None
        or keyed[1] != key.encode("latin-1")
        or b"\r\nexpect:" in head.lower()
    ):
        return None
    (start, middle), (second, end) = sorted((keyed.span(1), sized.span(1)))
    return Likeness((head[:start], head[middle:second], head[end:]), keyed.start() < sized.start(), method, path)


class Inbound(asyncio.Protocol):
    """One client connection. Requests are answered one at a time, in order."""

    __slots__ = (
        "begun",
        "body_need",
        "buffer",
        "busy",
        "chunks",
        "closed",
        "draining",
        "head",
        "likenesses",
        "on_close",
        "serve",
        "touched",
        "transport",
        "waiting",
    )
    transport: asyncio.Transport

    def __init__(
        self,
        serve: Callable[["Inbound", Request], None],
        on_close: Callable[["Inbound"], None],
        likenesses: list[Likeness] | None = None,
    ) -> None:
        """``likenesses`` are shared by connections of one kind of client."""
        self.likenesses = [] if likenesses is None else likenesses
        self.serve = serve
        self.on_close = on_close
        self.buffer = bytearray()
        self.head: tuple[bytes, bytes, str, bool] | None = None
        self.body_need = 0  # -1 while the body is chunked
        self.chunks: list[bytes] = []
        self.waiting: deque[Request] = deque()
        self.busy = False
        self.closed = False
        self.draining: asyncio.Future[None] | None = None
        self.begun = 0.0  # when the unfinished request began, 0 = none
        self.touched = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.touched = asyncio.get_running_loop().time()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self.resume_writing()
        self.on_close(self)

    def pause_writing(self) -> None:
        self.draining = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self.draining is not None:
            self.draining.set_result(None)
            self.draining = None

    def data_received(self, data: bytes) -> None:
        if not (self.busy or self.buffer or self.head) and not self.transport.is_closing():
            for likeness in self.likenesses:
                if data.startswith(likeness.parts[0]):
                    request = likeness.read(data)
                    if request is not None:
                        self.busy = True
                        self.serve(self, request)
                        return
        self.buffer += data
        try:
            self._read()
        except BadRequest as bad:
            self._refuse(str(bad))

    def _refuse(self, why: str) -> None:
        """400 and close, after the answers that are still owed; nothing more is read."""
        self.buffer.clear()
        self.transport.pause_reading()
        if self.busy:
            self.waiting.append(Request(b"", b"", "", why.encode(), False))
        else:
            self.respond(400, error_body(400, "bad_request", why), keep=False)

    def _read(self) -> None:
        while self.buffer and not self.transport.is_closing():
            if self.head is None and not self._read_head():
                break
            body = self._read_body()
            if body is None:
                break
            method, path, key, keep = self.head  # type: ignore[misc]
            self.head = None
            self.begun = 0.0
            self._take(Request(method, path, key, body, keep))
            if not keep:
                self.buffer.clear()
                self.transport.pause_reading()
                return
        if self.begun == 0.0 and (self.buffer or self.head):
            self.begun = asyncio.get_running_loop().time()

    def _take(self, request: Request) -> None:
        if self.busy:
            self.waiting.append(request)
            if len(self.waiting) >= PIPELINE:
                self.transport.pause_reading()
            return
        self.busy = True
        self.serve(self, request)

    # -- head ------------------------------------------------------------------------------------------------------
    def _read_head(self) -> bool:
        end = self.buffer.find(b"\r\n\r\n", 0, HEAD_BYTES)
        if end < 0:
            if len(self.buffer) > HEAD_BYTES:
                raise BadRequest("the request's head is too large")
            if self.buffer[:1] and not 0x41 <= self.buffer[0] <= 0x5A:
                raise BadRequest("this is no HTTP request")
            return False
        match = _HEAD.fullmatch(self.buffer, 0, end + 2)
        if match is None:
            raise BadRequest("the request's head is malformed")
        method, target, lines = match.groups()
        head = bytes(self.buffer[: end + 4])
        del self.buffer[: end + 4]
        self._read_fields(bytes(method), bytes(target), bytes(lines))
        if len(self.likenesses) < LIKENESSES and self.body_need > 0 and self.head is not None:
            likeness = _likeness(head, self.head)
            if likeness is not None and likeness not in self.likenesses:
                self.likenesses.append(likeness)
        return True

    def _read_fields(self, method: bytes, target: bytes, lines: bytes) -> None:
        if lines.count(b"\r\n") > HEADERS:
            raise BadRequest("too many headers")
        fields: dict[bytes, bytes] = {}
        for name, value in _MEANT.findall(lines):
            name = name.lower()
            if name in fields:
                raise BadRequest(f"the header {name.decode()} is repeated")
            fields[name] = value.strip(b" \t")
        if b"host" not in fields:
            raise BadRequest("the header host is missing")
        self.body_need = _body_length(fields)
        scheme, _, token = fields.get(b"authorization", b"").partition(b" ")
        key = token.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""
        keep = _CLOSE.search(lines) is None
        self.head = method, target.partition(b"?")[0], key, keep
        if b"expect" in fields:
            self._expect(fields[b"expect"])

    def _expect(self, value: bytes) -> None:
        if value.lower() != b"100-continue":
            raise BadRequest("the header expect has an unknown value")
        if not self.busy and not self.buffer:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    # -- body ------------------------------------------------------------------------------------------------------
    def _read_body(self) -> bytes | None:
        need = self.body_need
        if need < 0:
            return self._read_chunked()
        if len(self.buffer) < need:
            return None
        body = bytes(self.buffer[:need])
        del self.buffer[:need]
        return body

    def _read_chunked(self) -> bytes | None:
        while True:
            match = _CHUNK_SIZE.match(self.buffer, 0, 12)
            if match is None:
                if b"\n" in self.buffer[:10] or len(self.buffer) >= 9:
                    raise BadRequest("a chunk's size is malformed")
                return None
            size, start = int(match[1], 16), match.end()
            if self.body_need - size < -BODY_BYTES:
                raise BadRequest("the body is too large")
            if len(self.buffer) < start + size + 2:
                return None
            if self.buffer[start + size : start + size + 2] != b"\r\n":
                raise BadRequest("a chunk is longer than it says, or trailers follow")
            if size:
                self.chunks.append(bytes(self.buffer[start : start + size]))
                self.body_need -= size
            del self.buffer[: start + size + 2]
            if not size:
                body, self.chunks = b"".join(self.chunks), []
                return body

    # -- answers ---------------------------------------------------------------------------------------------------
    def respond(
        self, status: int, body: bytes, *, keep: bool = True, extra: bytes = b"", kind: bytes = b"application/json"
    ) -> None:
        if not self.closed:
            self.transport.write(
                b"HTTP/1.1 %d %s\r\ncontent-type: %s\r\ncontent-length: %d\r\n%s%s\r\n%s"
                % (
                    status,
                    _REASONS.get(status, b"Status"),
                    kind,
                    len(body),
                    extra,
                    b"" if keep else b"connection: close\r\n",
                    body,
                )
            )
        self.done(keep)

    def begin_stream(self) -> None:
        self.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )

    def write(self, data: bytes) -> None:
        if not self.closed:
            self.transport.write(data)

    def write_chunk(self, data: bytes) -> None:
        if data and not self.closed:
            self.transport.write(b"%x\r\n%s\r\n" % (len(data), data))

    def done(self, keep: bool) -> None:
        """The current answer is complete: the next request's turn."""
        self.busy = False
        if not keep:
            self.waiting.clear()
            self.transport.close()
        elif self.waiting and not self.closed:
            following = self.waiting.popleft()
            if not following.method:
                self.respond(400, error_body(400, "bad_request", following.body.decode()), keep=False)
                return
            if len(self.waiting) < PIPELINE and following.keep:
                self.transport.resume_reading()
            self.busy = True
            self.serve(self, following)
        else:
            self.touched = asyncio.get_running_loop().time()

    def break_off(self) -> None:
        """Ends the connection in the middle of an answer: the client gets what was written, and sees the cut."""
        self.waiting.clear()
        if not self.closed:
            self.transport.close()

    def abort(self) -> None:
        if not self.closed:
            self.transport.abort()

    def overdue(self, now: float) -> bool:
        """True when the client dawdles: a request half sent, or nothing for a long time."""
        if self.begun and now - self.begun > HEAD_SECONDS + len(self.buffer) / 100_000:
            return True
        return not self.busy and now - self.touched > IDLE_SECONDS


def _body_length(fields: dict[bytes, bytes]) -> int:
    length, coding = fields.get(b"content-length"), fields.get(b"transfer-encoding")
    if coding is not None:
        if length is not None:
            raise BadRequest("content-length and transfer-encoding exclude each other")
        if coding.lower() != b"chunked":
            raise BadRequest("transfer-encoding can only be chunked")
        return -1
    if length is None:
        return 0
    if not length.isdigit() or len(length) > 10:
        raise BadRequest("content-length is no plain number")
    if int(length) > BODY_BYTES:
        raise BadRequest("the body is too large")
    return int(length)
