"""HTTP/1 without tolerance: what two programs could read differently is refused, and its connection closed."""

import re
from collections.abc import Iterator
from typing import Any

import h11
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers import http
from mitmproxy.proxy.layers.http import _http1
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import ResponseProtocolError

from egress.answers import Refused, told

HEAD_BYTES, HEADERS = 64 << 10, 100  # of a request
ANSWER_HEAD_BYTES, ANSWER_HEADERS = 128 << 10, 200
BODY_BYTES = 64 << 20  # of a request
UNWANTED_BYTES = 1 << 20
CHUNK_LINE_BYTES = 32
TRAILER_BYTES = 8 << 10
_REQUEST_LINE = re.compile(rb"[A-Z]{1,20} [!-~]{1,16384} HTTP/1\.[01]")
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] [1-5][0-9]{2}(?: [\t -~\x80-\xff]*)?")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}):[ \t]*([\t -~\x80-\xff]*)")
_LENGTH = re.compile(rb"[0-9]{1,15}")
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_CHUNK_SIZE_EXTENDED = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t -~]*)?")


class Bad(Exception):
    """``status`` for the client, and words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


def check_head(data: bytes, *, request: bool) -> None:
    """Raise Bad where the head that ``data`` begins with is not strictly HTTP/1; nothing while it is incomplete."""
    most_bytes, most_headers = (HEAD_BYTES, HEADERS) if request else (ANSWER_HEAD_BYTES, ANSWER_HEADERS)
    end = data.find(b"\r\n\r\n")
    head = data[: end if end >= 0 else most_bytes + 1]
    if len(head) > most_bytes:
        raise Bad(431, "the headers are too large")
    lines = head.split(b"\r\n")
    if any(b"\r" in line or b"\n" in line or b"\0" in line for line in (lines if end >= 0 else lines[:-1])):
        raise Bad(400, "a bare line break or NUL in the headers")
    if end < 0:
        if b"\n" in lines[-1]:
            raise Bad(400, "a bare line break in the headers")
        return
    if not (_REQUEST_LINE if request else _STATUS_LINE).fullmatch(lines[0]):
        raise Bad(400, "the first line can't be read")
    if len(lines) - 1 > most_headers:
        raise Bad(431, "too many headers")
    _check_headers(lines[1:], request=request)


def _check_headers(lines: list[bytes], *, request: bool) -> None:
    seen: dict[bytes, list[bytes]] = {}
    for line in lines:
        found = _HEADER.fullmatch(line)
        if found is None:
            raise Bad(400, "a header can't be read")
        name = found[1].lower()
        if name in (b"content-length", b"transfer-encoding", b"host"):
            seen.setdefault(name, []).append(found[2].strip(b" \t"))
    if any(len(values) > 1 for values in seen.values()):
        raise Bad(400, "a header that must be there once is there twice")
    length, coding = seen.get(b"content-length"), seen.get(b"transfer-encoding")
    if length and coding:
        raise Bad(400, "both Content-Length and Transfer-Encoding")
    if coding and coding[0].lower() != b"chunked":
        raise Bad(400, "a Transfer-Encoding other than chunked")
    if length and not _LENGTH.fullmatch(length[0]):
        raise Bad(400, "a Content-Length that is no number")
    if request and length and int(length[0]) > BODY_BYTES:
        raise Bad(413, f"a request's body may have {BODY_BYTES >> 20} MiB")


class Chunked:
    """A chunked body. Extensions are an error in requests, and skipped in answers."""

    def __init__(self, *, request: bool) -> None:
        self.request = request
        self.left = 0
        self.after = 0  # bytes of the line break behind a chunk that are still to come
        self.total = 0
        self.last = False
        self.trouble: Bad | None = None

    def __call__(self, buf: Any) -> Any:
        try:
            return self._read(buf)
        except Bad as bad:
            self.trouble = bad
            raise h11.RemoteProtocolError(str(bad)) from None

    def read_eof(self) -> Any:
        raise h11.RemoteProtocolError("the body breaks off")

    def _read(self, buf: Any) -> Any:
        if self.left == 0 and not self.last and not self._next_chunk(buf):
            return None
        if self.last:
            return self._trailer(buf)
        data = buf.maybe_extract_at_most(self.left)
        if data is None:
            return None
        self.left -= len(data)
        self.total += len(data)
        if self.request and self.total > BODY_BYTES:
            raise Bad(413, f"a request's body may have {BODY_BYTES >> 20} MiB")
        self.after = 2 if self.left == 0 else 0
        return h11.Data(data=bytes(data))

    def _next_chunk(self, buf: Any) -> bool:
        data = bytes(buf)[: CHUNK_LINE_BYTES if self.request else 4096]
        if self.after:
            if data[:2] != b"\r\n"[: len(data[:2])]:
                raise Bad(400, "a chunk is longer than it says")
            if len(data) < 2:
                return False
            buf.maybe_extract_at_most(2)
            self.after, data = 0, data[2:]
        end = data.find(b"\r\n")
        if end < 0:
            if b"\n" in data or (self.request and len(data) >= CHUNK_LINE_BYTES - 2) or len(data) > 4000:
                raise Bad(400, "a chunk's size can't be read")
            return False
        found = (_CHUNK_SIZE if self.request else _CHUNK_SIZE_EXTENDED).fullmatch(data[:end])
        if found is None:
            raise Bad(400, "a chunk's size can't be read")
        buf.maybe_extract_at_most(end + 2)
        self.left = int(found[0] if self.request else found[1], 16)
        self.last = self.left == 0
        return True

    def _trailer(self, buf: Any) -> Any:
        """The end; trailers are an error in requests, and dropped from answers."""
        data = bytes(buf)[: TRAILER_BYTES + 1]
        if data[:2] == b"\r\n":
            buf.maybe_extract_at_most(2)
            return h11.EndOfMessage()
        end = data.find(b"\r\n\r\n")
        if len(data) > TRAILER_BYTES or (self.request and len(data) >= 2):
            raise Bad(400, "trailers")
        if end < 0:
            return None
        buf.maybe_extract_at_most(end + 4)
        return h11.EndOfMessage()


class Server(_http1.Http1Server):  # type: ignore[misc]
    """The side towards the sandbox."""

    body_reader: Any
    unwanted = 0  # bytes of a body that belongs to a refused request

    def read_headers(self, event: events.ConnectionEvent) -> Iterator[Any]:
        if isinstance(event, events.DataReceived):
            try:
                check_head(bytes(self.buf), request=True)
            except Bad as bad:
                yield commands.SendData(self.conn, refusal(bad))
                yield commands.CloseConnection(self.conn)
                self.state = self.done
                return
        yield from super().read_headers(event)

    def read_body(self, event: events.Event) -> Iterator[Any]:
        if isinstance(self.body_reader, _http1.ChunkedReader):
            self.body_reader = Chunked(request=True)
        refused = getattr(self.conn, "refused", None)
        if refused is not None and isinstance(event, events.DataReceived):
            self.unwanted += len(event.data)
            if self.unwanted > UNWANTED_BYTES:  # it would only fill our memory
                yield commands.SendData(self.conn, _told(refused))
                yield commands.CloseConnection(self.conn)
                self.state = self.done
                return
        for command in super().read_body(event):
            trouble = getattr(self.body_reader, "trouble", None)
            ends = isinstance(command, commands.CloseConnection) and not self.response
            if ends and trouble and self.conn.state & ConnectionState.CAN_WRITE:
                yield commands.SendData(self.conn, refusal(trouble))
            yield command


class Client(_http1.Http1Client):  # type: ignore[misc]
    """The side towards the network. ``conn.error`` says why the addon has ended a connection."""

    body_reader: Any

    def read_headers(self, event: events.ConnectionEvent) -> Iterator[Any]:
        trouble = None
        if isinstance(event, events.DataReceived) and self.request:
            try:
                check_head(bytes(self.buf), request=False)
            except Bad as bad:
                trouble = f"upstream_{'limit' if bad.status == 431 else 'error'}: the host's answer: {bad}"
        elif isinstance(event, events.ConnectionClosed) and self.stream_id and self.conn.error:
            trouble = self.conn.error
        if trouble is None or self.stream_id is None:
            yield from super().read_headers(event)
            return
        self.state = self.done
        yield commands.CloseConnection(self.conn)
        # Its code differs between mitmproxy's versions; what the client gets is told by the words.
        yield ReceiveHttp(ResponseProtocolError(self.stream_id, trouble, ResponseProtocolError.code))

    def read_body(self, event: events.Event) -> Iterator[Any]:
        if isinstance(self.body_reader, _http1.ChunkedReader):
            self.body_reader = Chunked(request=False)
        for command in super().read_body(event):
            fault = getattr(command, "event", None)
            if isinstance(fault, ResponseProtocolError) and self.conn.error:
                fault.message = self.conn.error
            yield command


def refusal(bad: Bad) -> bytes:
    code = "payload_too_large" if bad.status == 413 else "bad_request"
    return _answer(bad.status, f"{code}: {bad}")


def _answer(status: int, message: str = "") -> bytes:
    return _told(told(status, message))


def _told(no: Refused) -> bytes:
    body = no.body()
    head = f"HTTP/1.1 {no.status} {no.code}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + body


def install() -> None:
    """Put these in mitmproxy's place. RuntimeError where this mitmproxy is built otherwise."""
    for module, name in ((http, "Http1Server"), (http, "Http1Client"), (_http1, "make_error_response")):
        if not hasattr(module, name):
            raise RuntimeError(f"this mitmproxy has no {module.__name__}.{name}")
    http.Http1Server, http.Http1Client = Server, Client
    _http1.make_error_response = _answer
