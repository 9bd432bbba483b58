"""H-08: requests that two parsers could read in two ways are refused, and the connection with them."""

import asyncio
import itertools
import json
from typing import Any

import httptools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.gateway.http.inbound import BODY_BYTES, Inbound, Likeness, Request
from tests.gateway.conftest import MODEL, Bench

BODY = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}).encode()
LENGTH = str(len(BODY)).encode()
POST = b"POST /v1/chat/completions HTTP/1.1\r\n"
CHUNK = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
SMUGGLED = b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n"


def _request(*lines: bytes, body: bytes = BODY, start: bytes = POST) -> bytes:
    return start + b"".join(line + b"\r\n" for line in (b"host: x", *lines)) + b"\r\n" + body


MALFORMED = {
    "length and chunked": _request(b"content-length: " + LENGTH, b"transfer-encoding: chunked"),
    "chunked and length": _request(b"transfer-encoding: chunked", b"content-length: 4", body=CHUNK),
    "two lengths": _request(b"content-length: " + LENGTH, b"content-length: 0"),
    "two equal lengths": _request(b"content-length: " + LENGTH, b"content-length: " + LENGTH),
    "a list of lengths": _request(b"content-length: " + LENGTH + b", " + LENGTH),
    "plus sign": _request(b"content-length: +" + LENGTH),
    "minus": _request(b"content-length: -5"),
    "hex length": _request(b"content-length: 0x10"),
    "underscore": _request(b"content-length: 1_0"),
    "empty length": _request(b"content-length:"),
    "fraction": _request(b"content-length: 5.0"),
    "huge length": _request(b"content-length: 99999999999999999999"),
    "too large": _request(b"content-length: %d" % (BODY_BYTES + 1)),
    "xchunked": _request(b"transfer-encoding: xchunked", body=CHUNK),
    "chunked twice": _request(b"transfer-encoding: chunked", b"transfer-encoding: chunked", body=CHUNK),
    "chunked, identity": _request(b"transfer-encoding: chunked, identity", body=CHUNK),
    "gzip, chunked": _request(b"transfer-encoding: gzip, chunked", body=CHUNK),
    "quoted chunked": _request(b'transfer-encoding: "chunked"', body=CHUNK),
    "vertical tab": _request(b"transfer-encoding:\x0bchunked", body=CHUNK),
    "bare LF lines": POST.replace(b"\r\n", b"\n") + b"host: x\ncontent-length: 0\n\n\r\n\r\n",
    "bare LF in a value": _request(b"x-a: 1\ncontent-length: 0"),
    "bare CR in a value": _request(b"x-a: 1\rcontent-length: 0"),
    "bare CR before the name": _request(b"\rcontent-length: 0"),
    "folded line": _request(b"x-a: 1", b" content-length: 0"),
    "folded by a tab": _request(b"x-a: 1", b"\tcontent-length: 0"),
    "space before colon": _request(b"content-length : " + LENGTH),
    "no colon": _request(b"content-length"),
    "no name": _request(b": 5"),
    "NUL": _request(b"x-a: a\x00b"),
    "name with space": _request(b"x a: 1"),
    "no host": POST + b"content-length: 0\r\n\r\n",
    "two hosts": _request(b"host: y"),
    "two keys": _request(b"authorization: Bearer a", b"authorization: Bearer b"),
    "absolute target": _request(start=b"POST http://example.org/v1/chat/completions HTTP/1.1\r\n"),
    "CONNECT": _request(start=b"CONNECT example.org:443 HTTP/1.1\r\n"),
    "version 1.0": _request(start=POST.replace(b"1.1", b"1.0")),
    "version 2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "version 1.10": _request(start=POST.replace(b"1.1", b"1.10")),
    "lower case method": _request(start=b"post /v1/chat/completions HTTP/1.1\r\n"),
    "two spaces": _request(start=b"POST  /v1/chat/completions HTTP/1.1\r\n"),
    "tab in the line": _request(start=b"POST\t/v1/chat/completions HTTP/1.1\r\n"),
    "no version": _request(start=b"POST /v1/chat/completions\r\n"),
    "blank line first": b"\r\n" + _request(b"content-length: 0"),
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "chunk extension": _request(b"transfer-encoding: chunked", body=b"2;a=b\r\nhi\r\n0\r\n\r\n"),
    "0x chunk": _request(b"transfer-encoding: chunked", body=b"0x2\r\nhi\r\n0\r\n\r\n"),
    "plus chunk": _request(b"transfer-encoding: chunked", body=b"+2\r\nhi\r\n0\r\n\r\n"),
    "space in chunk size": _request(b"transfer-encoding: chunked", body=b"2 \r\nhi\r\n0\r\n\r\n"),
    "LF chunk": _request(b"transfer-encoding: chunked", body=b"2\nhi\n0\n\n"),
    "short chunk": _request(b"transfer-encoding: chunked", body=b"2\r\nhello\r\n0\r\n\r\n"),
    "huge chunk": _request(b"transfer-encoding: chunked", body=b"ffffffffffffffff\r\nhi"),
    "trailers": _request(b"transfer-encoding: chunked", body=b"2\r\nhi\r\n0\r\nx-a: 1\r\n\r\n"),
    "unknown expectation": _request(b"expect: something", b"content-length: " + LENGTH),
    "large head": _request(b"x-a: " + b"a" * 40_000),
    "many headers": _request(*[b"x-%d: 1" % number for number in range(200)]),
}


async def _talk(bench: Bench, raw: bytes) -> bytes:
    """All that comes back until the gateway closes, or a second of silence."""
    port = int(bench.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw)
    got = b""
    try:
        while data := await asyncio.wait_for(reader.read(65536), 1):
            got += data
    except (TimeoutError, ConnectionResetError):
        got += b"(open)" if not reader.at_eof() else b""
    writer.close()
    return got


async def test_h08_it_refuses_every_malformed_request(bench: Bench, provider: Any) -> None:
    names = list(MALFORMED)
    answers = await asyncio.gather(*(_talk(bench, MALFORMED[name] + SMUGGLED) for name in names))
    for name, answer in zip(names, answers, strict=True):
        assert answer.startswith(b"HTTP/1.1 400 "), (name, answer[:200])
        assert b"connection: close" in answer, name
        assert answer.count(b"HTTP/1.1") == 1, name
        assert not answer.endswith(b"(open)"), name
    assert provider.requests == []


async def test_h08_it_refuses_them_behind_honest_requests_too(bench: Bench, provider: Any) -> None:
    """The head of the second request differs from the first's by what makes it malformed."""
    honest = _request(b"authorization: Bearer " + bench.key().encode(), b"content-length: " + LENGTH)
    names = list(MALFORMED)
    answers = await asyncio.gather(*(_talk(bench, honest * 2 + MALFORMED[name] + SMUGGLED) for name in names))
    for name, answer in zip(names, answers, strict=True):
        assert answer.startswith(b"HTTP/1.1 200 "), (name, answer[:200])
        assert answer.count(b"HTTP/1.1 200 ") == 2, name
        assert answer.count(b"HTTP/1.1 400 ") == 1, (name, answer)
        assert not answer.endswith(b"(open)"), name


async def test_h08_it_serves_their_honest_twins(bench: Bench) -> None:
    key = b"authorization: Bearer " + bench.key().encode()
    close = b"connection: close"
    good = [
        _request(key, close, b"content-length: " + LENGTH),
        _request(key, close, b"Content-Length:" + LENGTH),
        _request(key, close, b"content-length:\t " + LENGTH + b" "),
        _request(key, close, b"transfer-encoding: chunked", body=CHUNK),
        _request(key, close, b"Transfer-Encoding: Chunked", body=CHUNK.replace(b"0\r\n\r\n", b"000\r\n\r\n")),
        _request(key, close, b"content-length: " + LENGTH, b"x-a: \xe9t\xe9", b"x-b:"),
        _request(key, close, start=b"GET /v1/models?x=1 HTTP/1.1\r\n", body=b""),
    ]
    for raw in good:
        answer = await _talk(bench, raw)
        assert answer.startswith(b"HTTP/1.1 200 "), (raw, answer)


async def test_it_answers_pipelined_requests_in_order(bench: Bench, provider: Any) -> None:
    raw = b""
    for number in range(8):
        body = json.dumps({"messages": [{"role": "user", "content": f"q{number}"}]}).encode()
        key = b"authorization: Bearer " + bench.key(number).encode()
        raw += _request(key, b"content-length: %d" % len(body), body=body)
    raw += _request(b"authorization: Bearer " + bench.key(1).encode(), start=b"GET /v1/models HTTP/1.1\r\n", body=b"")
    answer = await _talk(bench, raw + b"rubbish\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200 ") == 9
    assert answer.count(b"HTTP/1.1 400 ") == 1
    assert [seen.body["messages"][0]["content"] for seen in provider.requests] == [f"q{n}" for n in range(8)]
    assert answer.rindex(b'"object":"list"') < answer.index(b"HTTP/1.1 400 ")


async def test_it_says_continue_to_a_client_that_asks(bench: Bench) -> None:
    port = int(bench.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    key = b"authorization: Bearer " + bench.key().encode()
    writer.write(_request(key, b"expect: 100-continue", b"content-length: " + LENGTH, body=b""))
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(BODY)
    assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200 ")
    writer.close()


# --- in process: any split of the bytes, and httptools as the second opinion ----------------------------------------
class _Pipe(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.out = b""
        self.closing = False

    def write(self, data: Any) -> None:
        self.out += bytes(data)

    def close(self) -> None:
        self.closing = True

    abort = close

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


def _read(pieces: list[bytes]) -> tuple[list[Request], bytes]:
    """What our reader makes of the pieces: requests, and the refusal if any."""
    seen: list[Request] = []

    async def main() -> bytes:
        pipe = _Pipe()

        def serve(conn: Inbound, request: Request) -> None:
            seen.append(request)
            conn.done(request.keep)

        conn = Inbound(serve, lambda conn: None)
        conn.connection_made(pipe)
        for piece in pieces:
            if not pipe.closing:
                conn.data_received(piece)
        return pipe.out

    return seen, asyncio.run(main())


@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(1, 400), max_size=12), chunked=st.booleans())
def test_it_reads_the_same_however_the_bytes_are_cut(cuts: list[int], chunked: bool) -> None:
    coding = b"transfer-encoding: chunked" if chunked else b"content-length: " + LENGTH
    raw = _request(coding, b"authorization: Bearer k", body=CHUNK if chunked else BODY)
    raw += _request(start=b"GET /v1/models HTTP/1.1\r\n", body=b"")
    edges = [0, *sorted({min(cut, len(raw)) for cut in cuts}), len(raw)]
    pieces = [raw[a:b] for a, b in itertools.pairwise(edges) if a < b]
    seen, refusal = _read(pieces)
    assert refusal == b""
    assert [(request.path, request.body, request.key) for request in seen] == [
        (b"/v1/chat/completions", BODY, "k"),
        (b"/v1/models", b"", ""),
    ]


_CHANGES = st.sampled_from(
    [b"", b"\r", b"\n", b"\r\n", b" ", b"\t", b"\x00", b"\x7f", b"\xe9", b":", b",", b"0", b"+", b"9", b"A", b"chunked",
     b"\r\ncontent-length: 2", b"\r\nx: y", b"\r\n\r\n", b"\nexpect: 100-continue", b"\r\nconnection: close"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    order=st.booleans(),
    extra=st.sampled_from([(), (b"x-b: authorization: Bearer q",), (b"accept: */*", b"Connection: keep-alive")]),
    change=_CHANGES,
    cut=st.integers(0, 3),
    at=st.integers(0, 220),
    behind=st.booleans(),
)
def test_h08_a_request_like_an_earlier_one_is_read_as_if_it_were_the_first(
    order: bool, extra: tuple[bytes, ...], change: bytes, cut: int, at: int, behind: bool
) -> None:
    lines = [b"authorization: Bearer bwk1.a.1.1.x", b"content-length: " + LENGTH]
    first = _request(*(lines if order else reversed(lines)), *extra)
    place = min(at, len(first) - len(BODY))
    second = first[:place] + change + first[place + cut :] + (SMUGGLED if behind else b"")
    alone, refusal = _read([second])
    after, refusal_after = _read([first, second])
    assert [request.body for request in after[:1]] == [BODY]
    assert (after[1:], refusal_after) == (alone, refusal)


def test_it_reads_a_request_by_its_likeness_to_another() -> None:
    lines = b"Content-Length: %d", b"Authorization: Bearer %s"
    one = _request(lines[0] % len(BODY), lines[1] % b"k1")
    two = _request(lines[0] % 2, lines[1] % b"another-key", body=b"{}")
    seen: list[Request] = []

    async def main() -> None:
        shared: list[Likeness] = []

        def serve(conn: Inbound, request: Request) -> None:
            seen.append(request)
            conn.done(request.keep)

        conn = Inbound(serve, lambda conn: None, shared)
        conn.connection_made(_Pipe())
        conn.data_received(one)
        (likeness,) = shared
        assert likeness.read(two) == Request(b"POST", b"/v1/chat/completions", "another-key", b"{}", True)
        assert likeness.read(two + b"x") is None
        conn.data_received(two)
        assert shared == [likeness]

    asyncio.run(main())
    assert [(request.key, request.body) for request in seen] == [("k1", BODY), ("another-key", b"{}")]


class _Second:
    """What httptools makes of the same bytes."""

    def __init__(self, raw: bytes) -> None:
        self.requests: list[tuple[bytes, bytes]] = []
        self.url = self.body = b""
        self.parser = httptools.HttpRequestParser(self)
        self.parser.feed_data(raw)

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.requests.append((self.url.partition(b"?")[0], self.body))
        self.url = self.body = b""


_LINES = st.sampled_from(
    [b"content-length: 2", b"content-length: 0", b"Content-Length: 02", b"transfer-encoding: chunked", b"x: y",
     b"transfer-encoding: CHUNKED", b"connection: keep-alive", b"content-length: 2, 2", b"x:\x80", b" y", b"x : y"]
)  # fmt: skip
_BODIES = st.sampled_from(
    [b"", b"hi", b"2\r\nhi\r\n0\r\n\r\n", b"2;x\r\nhi\r\n0\r\n\r\n", b"1\r\nh\r\n1\r\ni\r\n0\r\n\r\n"]
)


@settings(max_examples=300, deadline=None)
@given(lines=st.lists(_LINES, max_size=4), body=_BODIES)
def test_h08_whatever_we_read_a_second_parser_reads_alike(lines: list[bytes], body: bytes) -> None:
    raw = _request(*lines, body=body)
    seen, refusal = _read([raw])
    if refusal or not seen:
        return
    second = _Second(raw)
    assert second.requests == [(request.path, request.body) for request in seen]


def test_it_closes_on_a_client_that_dawdles() -> None:
    async def main() -> None:
        conn = Inbound(lambda conn, request: None, lambda conn: None)
        conn.connection_made(_Pipe())
        now = asyncio.get_running_loop().time()
        assert not conn.overdue(now + 60)
        conn.data_received(b"POST /v1/chat")
        assert not conn.overdue(now + 5)
        assert conn.overdue(now + 60)

    asyncio.run(main())


@pytest.mark.parametrize("size", [1 << 20, 8 << 20])
async def test_it_takes_large_bodies(size: int, bench: Bench, provider: Any) -> None:
    assert (await bench.chat("x" * size)).status_code == 200
    assert len(provider.requests[0].body["messages"][0]["content"]) == size
