"""H-10, H-11: what was attached to a request never comes back, however the host returns it."""

import base64
import gzip
import itertools
import json
import zlib
from collections.abc import Sequence
from urllib.parse import quote

import pytest

from egress.redaction import MARK, Events, Redactor, Stream, spellings
from tests.egress.conftest import ProxyProcess, Rig, start_proxy, stop_proxy
from tests.twins.hosts_twin import Answer, Hosts, answer
from tests.twins.judge_twin import JudgeTwin, allow

SECRET = 'sk-live-Zq9/8+w7x6v"5u4t3s2r1'
RAW = SECRET.encode()


def pieces(body: bytes, size: int, *headers: str, pause: float = 0.0) -> Answer:
    """Chunks of ``size`` bytes, each sent by itself."""
    head = "\r\n".join(["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *headers]).encode() + b"\r\n\r\n"
    cut = [body[at : at + size] for at in range(0, len(body), size)]
    return [(0.0, head), *((pause, b"%x\r\n%s\r\n" % (len(each), each)) for each in cut), (0.0, b"0\r\n\r\n")]


def coded(lead: int) -> bytes:
    return base64.b64encode(b"u" * lead + RAW + b"tail")


def events(*texts: str) -> bytes:
    return b"".join(b'data: {"choices":[{"delta":{"content":%s}}]}\n\n' % json.dumps(each).encode() for each in texts)


SSE = "Content-Type: text/event-stream"
BODY = b"before " + RAW + b" after " + RAW
REFLECTED: dict[str, Answer] = {
    "raw": answer(BODY),
    "raw, until the end of the connection": b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + BODY,
    "quoted as JSON": answer(json.dumps({"headers": {"Authorization": f"Bearer {SECRET}"}}).encode()),
    "quoted as JSON with escaped slashes": answer(json.dumps(SECRET).replace("/", "\\/").encode()),
    "quoted for a URL": answer(b"u=" + quote(SECRET, safe="").encode()),
    "quoted for a URL in small letters": answer(b"u=" + quote(SECRET, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%22", "%22").encode()),
    "hex": answer(RAW.hex().encode()),
    "HEX": answer(RAW.hex().upper().encode()),
    "backwards": answer(b"x" + RAW[::-1] + b"y"),
    "Base64": answer(coded(0)),
    "Base64, one byte off": answer(coded(1)),
    "Base64, two bytes off": answer(coded(2)),
    "Base64 of a header": answer(base64.b64encode(b"Authorization: Bearer " + RAW)),
    "Base64 for URLs": answer(coded(1).replace(b"+", b"-").replace(b"/", b"_").rstrip(b"=")),
    "gzip": answer(gzip.compress(BODY), "Content-Encoding: gzip"),
    "gzip in two members": answer(gzip.compress(BODY[:20]) + gzip.compress(BODY[20:]), "Content-Encoding: gzip"),
    "deflate": answer(zlib.compress(BODY), "Content-Encoding: deflate"),
    "raw deflate": answer(zlib.compress(BODY)[2:-4], "Content-Encoding: deflate"),
    "gzip in chunks": pieces(gzip.compress(BODY), 3, "Content-Encoding: gzip"),
    "an encoding that nobody asked for": answer(b"\x1b\x00" + BODY, "Content-Encoding: br"),
    "two encodings": answer(BODY, "Content-Encoding: gzip, gzip"),
    "split over chunks": pieces(BODY, 7),
    "one byte a chunk": pieces(BODY, 1),
    "Base64 split over chunks": pieces(coded(2), 5),
    "an error": answer(BODY, status="401 Unauthorized"),
    "a server error": answer(BODY, status="500 Oops"),
    "a header": answer(b"", f"X-Echo: Bearer {SECRET}"),
    "a header in Base64": answer(b"", f"X-Echo: {base64.b64encode(b'run:' + RAW).decode()}"),
    "a cookie": answer(b"", f"Set-Cookie: key={quote(SECRET, safe='')}; Path=/"),
    "a redirect": answer(b"", f"Location: https://b.test/?key={quote(SECRET, safe='')}", status="302 Found"),
    "a reason": answer(b"", status=f"418 {SECRET}"),
    "a challenge": answer(b"", f'WWW-Authenticate: Bearer error="{SECRET}"', status="401 No"),
    "an event": pieces(events(f"it is {SECRET}."), 1000, SSE),
    "events, one letter each": pieces(events(*f"it is {SECRET}."), 60, SSE),
    "events, three letters each": pieces(events(*[SECRET[at : at + 3] for at in range(0, len(SECRET), 3)]), 1000, SSE),
    "events of plain text": pieces(b"".join(b"data: %s\n\n" % RAW[at : at + 5] for at in range(0, len(RAW), 5)), 9, SSE),
    "events cut within their frames": pieces(events("a", SECRET, "b"), 4, SSE),
    "events of Base64": pieces(events(base64.b64encode(RAW).decode()[:9], base64.b64encode(RAW).decode()[9:]), 500, SSE),
    "trailers": [(0.0, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Echo\r\n\r\n2\r\nhi\r\n0\r\nX-Echo: " + RAW + b"\r\n\r\n")],
}  # fmt: skip


def shown(said: bytes) -> list[bytes]:
    """Every way in which the secret can be read in what a client got, joined texts of events included."""
    texts = b""
    for line in said.split(b"\n"):
        if line.startswith(b"data: "):
            try:
                texts += json.loads(line[6:])["choices"][0]["delta"]["content"].encode()
            except (ValueError, KeyError, TypeError):
                texts += line[6:]
    return [each for each in spellings(RAW) if each in said or each in texts]


@pytest.mark.parametrize("name", REFLECTED)
def test_h10_it_takes_out_what_a_host_returns(name: str, rig: Rig) -> None:
    rig.judge.ruling = lambda question: allow(("header", "Authorization", f"Bearer {SECRET}"), redact=(SECRET,))
    rig.hosts.say("a.test", "/echo", REFLECTED[name])
    said = rig.ask("a.test", "/echo")
    assert rig.hosts.seen[0].header("authorization") == f"Bearer {SECRET}"
    assert said.status
    assert not shown(said.head + b"\n" + said.body)
    if "encoding" not in name or said.status == 200:
        told = rig.judge.heard()
        assert name == "trailers" or (told[0]["op"], told[0]["lease"], told[0]["host"]) == (
            "reflected",
            rig.lease,
            "a.test",
        )


@pytest.mark.parametrize(
    "name", ["raw", "gzip", "split over chunks", "an event", "events, one letter each", "an error"]
)
def test_h10_it_leaves_the_rest_as_it_is(name: str, rig: Rig) -> None:
    rig.judge.ruling = lambda question: allow(("header", "Authorization", f"Bearer {SECRET}"), redact=(SECRET,))
    rig.hosts.say("a.test", "/echo", REFLECTED[name])
    said = rig.ask("a.test", "/echo")
    if "event" in name:
        parts = [json.loads(line[6:])["choices"][0]["delta"]["content"] for line in said.body.split(b"\n") if line]
        assert "".join(parts) == "it is [redacted]."
    else:
        assert said.body == b"before [redacted] after [redacted]"


@pytest.mark.parametrize("name", ["raw", "gzip", "split over chunks", "events, one letter each", "a redirect"])
def test_h10_it_changes_nothing_where_nothing_was_attached(name: str, rig: Rig) -> None:
    rig.hosts.say("a.test", "/echo", REFLECTED[name])
    said = rig.ask("a.test", "/echo")
    assert shown(said.head + b"\n" + said.body)
    assert not rig.judge.told


def test_h10_it_passes_events_on_as_they_come(rig: Rig) -> None:
    """A stream is not held up for the sake of what may come: the first event is there before the second is sent."""
    rig.judge.ruling = lambda question: allow(("header", "Authorization", f"Bearer {SECRET}"), redact=(SECRET,))
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n"
    first, second = events("one"), events("two")
    rig.hosts.say(
        "a.test",
        "/s",
        [(0.0, head + b"%x\r\n%s\r\n" % (len(first), first)), (1.0, b"%x\r\n%s\r\n0\r\n\r\n" % (len(second), second))],
    )
    client = rig.tls("a.test")
    client.sendall(b"GET /s HTTP/1.1\r\nHost: a.test\r\n\r\n")
    client.settimeout(0.7)
    data = b""
    while b"one" not in data:
        data += client.recv(65536)
    client.settimeout(5)
    while b"two" not in data:
        data += client.recv(65536)


def test_h10_a_head_answer_keeps_its_length(rig: Rig) -> None:
    rig.judge.ruling = lambda question: allow(("header", "X-Key", SECRET), redact=(SECRET,))
    rig.hosts.say("a.test", "/h", b"HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n")
    assert b"content-length: 77" in rig.ask("a.test", "/h", method="HEAD").head.lower()


# --- what is attached ---
def test_it_replaces_what_the_sandbox_sent_itself(rig: Rig) -> None:
    rig.judge.ruling = lambda question: allow(("header", "authorization", f"Bearer {SECRET}"), redact=(SECRET,))
    rig.ask("a.test", "/", "Authorization: Bearer mine", "AUTHORIZATION: Basic mine", "X-Other: kept")
    assert rig.hosts.seen[0].count("authorization") == 1
    assert rig.hosts.seen[0].header("authorization") == f"Bearer {SECRET}"
    assert rig.hosts.seen[0].header("x-other") == "kept"


def test_h11_it_attaches_to_the_query_and_shows_it_nowhere(
    egress_python: str, hosts: Hosts, tmp_path_factory: pytest.TempPathFactory
) -> None:
    hosts.forget()
    found: ProxyProcess = start_proxy(egress_python, hosts, tmp_path_factory.mktemp("h11"), BENCHWRIGHT_EGRESS_LOG="1")
    judge = JudgeTwin(found.socket)
    judge.ruling = lambda question: allow(("query", "key", SECRET), redact=(SECRET,))
    rig = Rig(judge, hosts, found.bundle)
    hosts.say("a.test", "/echo", lambda seen: answer(f"no {seen.path} here".encode(), status="404 Not Found"))  # type: ignore[arg-type]
    hosts.say("a.test", "/bad", b"HTTP/1.1 200 OK " + RAW + b"\r\nbroken " + RAW + b"\r\n\r\n")
    said = [
        rig.ask("a.test", "/echo?a=1&key=mine&b=2&%6bey=mine"),
        rig.ask("a.test", "/echo?"),
        rig.ask("a.test", "/bad"),
        rig.ask("gone.test"),
    ]
    rig.close()
    judge.close()
    printed = stop_proxy(found)
    assert [seen.path for seen in hosts.seen][:2] == [
        f"/echo?a=1&b=2&key={quote(SECRET, safe='')}",
        f"/echo?key={quote(SECRET, safe='')}",
    ]
    assert b"https://a.test/echo" in printed
    everything = printed + json.dumps(judge.questions).encode() + b"".join(each.head + each.body for each in said)
    assert not shown(everything)
    assert b"key=" not in printed + json.dumps(judge.questions).encode()


# --- pure ---
def cut(data: bytes, at: Sequence[int]) -> list[bytes]:
    ends = sorted({0, *at, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(ends)]


@pytest.mark.parametrize("spelling", sorted(spellings(RAW)))
def test_h10_it_finds_each_spelling_wherever_it_is_cut(spelling: bytes) -> None:
    whole = b"x" + spelling + b"y" + spelling[:5]
    for first in range(len(whole)):
        stream = Stream(Redactor([RAW]))
        got = b"".join(stream.take(each) for each in cut(whole, [first, first + 3])) + stream.end()
        assert got == b"x" + MARK + b"y" + spelling[:5]


def test_h10_it_does_not_look_for_short_values() -> None:
    assert not Redactor([b"short"])
    assert Redactor([b"short", b"long enough"])


def test_h10_events_that_only_begin_like_a_value_come_whole() -> None:
    stream = Events(Redactor([RAW]))
    sent = events("sk-", "live", "-", "other things") + events(SECRET[:9])
    assert stream.take(sent) + stream.end() == sent
