"""H-21: answers that are too large, too slow, or swell, end; and so do the runs' connections when they must."""

import contextlib
import gzip
import ssl
import time

import pytest

from egress.limits import Limits
from egress.passing import PIECE, TooMuch, Unpacker
from tests.egress.conftest import Rig, read
from tests.twins.hosts_twin import Answer, answer
from tests.twins.judge_twin import allow, refuse

MIB = 1 << 20
HEAD = b"HTTP/1.1 200 OK\r\n"
ZEROS = gzip.compress(bytes(600 * MIB), compresslevel=1)

# Answers that are refused as a whole: with 502 or 504 and a code.
REFUSED: dict[str, tuple[Answer, str]] = {
    "ten gigabytes": (HEAD + b"Content-Length: 10737418240\r\n\r\n", "upstream_limit"),
    "a megabyte of one header": (HEAD + b"X-A: " + b"a" * MIB + b"\r\n\r\n", "upstream_limit"),
    "ten thousand headers": (HEAD + b"".join(b"X-%d: a\r\n" % at for at in range(10_000)) + b"\r\n", "upstream_limit"),
    "headers without end": ([(0.0, HEAD), *((0.0, b"X-A: " + b"a" * 60_000 + b"\r\n") for _ in range(10))], "upstream_limit"),
    "silence": ([(3.0, answer())], "upstream_timeout"),
    "headers drop by drop": ([(0.3, bytes([letter])) for letter in HEAD * 2], "upstream_timeout"),
    "no HTTP": (b"SSH-2.0-OpenSSH\r\n\r\n", "upstream_error"),
    "another protocol": (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", "upstream_error"),
    "length and chunks": (HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "upstream_error"),
    "two lengths": (HEAD + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde", "upstream_error"),
    "a bare line break": (HEAD + b"X-A: b\nX-B: c\r\nContent-Length: 0\r\n\r\n", "upstream_error"),
}  # fmt: skip
# Answers whose beginning is passed on, and that break off: no client takes them for whole.
BROKEN: dict[str, Answer] = {
    "nine megabytes in chunks": [(0.0, HEAD + b"Transfer-Encoding: chunked\r\n\r\n"), *((0.0, b"100000\r\n" + bytes(MIB) + b"\r\n") for _ in range(9)), (0.0, b"0\r\n\r\n")],
    "a gzip bomb": answer(ZEROS[:500_000], "Content-Encoding: gzip"),
    "a small gzip bomb": answer(gzip.compress(bytes(7 * MIB)), "Content-Encoding: gzip"),
    "one byte a second": [(0.0, HEAD + b"Content-Length: 60\r\n\r\n"), *((0.5, b"x") for _ in range(8))],
    "silence within": [(0.0, HEAD + b"Content-Length: 60\r\n\r\nabc"), (3.0, b"x")],
    "events without end": [(0.0, HEAD + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"), *((0.5, b"9\r\ndata: a\n\n\r\n") for _ in range(8))],
    "broken gzip": answer(b"\x1f\x8b\x08\x00nonsense" * 20, "Content-Encoding: gzip"),
    "a cut body": HEAD + b"connection: close\r\nContent-Length: 60\r\n\r\nabc",
    "a chunk longer than it says": HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_h21_it_refuses_an_answer_beyond_the_limits(name: str, rig: Rig) -> None:
    what, code = REFUSED[name]
    rig.hosts.say("a.test", "/big", what)
    began = time.monotonic()
    said = rig.ask("a.test", "/big")
    assert (said.status, said.code) == (504 if code == "upstream_timeout" else 502, code)
    assert time.monotonic() - began < 6


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("watched", [False, True])
def test_h21_it_breaks_an_answer_off_that_grows_or_lasts_too_long(name: str, watched: bool, rig: Rig) -> None:
    if watched:
        rig.judge.ruling = lambda question: allow(("header", "X-Key", "sk-live-123456"), redact=("sk-live-123456",))
    rig.hosts.say("a.test", "/big", BROKEN[name])
    client = rig.tls("a.test")
    client.sendall(b"GET /big HTTP/1.1\r\nHost: a.test\r\n\r\n")
    client.settimeout(8)
    data = b""
    began = time.monotonic()
    while True:
        try:
            piece = client.recv(1 << 20)
        except (ConnectionError, OSError):
            break
        if not piece:
            break
        data += piece
    assert time.monotonic() - began < 7
    head, _, body = data.partition(b"\r\n\r\n")
    length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    whole = body.endswith(b"0\r\n\r\n") if not length else len(body) >= int(length[0].split(b":")[1])
    assert not whole or head.startswith(b"HTTP/1.1 502")
    assert len(body) < 10 * MIB


@pytest.mark.parametrize("size", [0, 1, MIB, 7 * MIB])
def test_h21_it_passes_answers_within_the_limits(size: int, rig: Rig) -> None:
    rig.judge.ruling = lambda question: allow(("header", "X-Key", "sk-live-123456"), redact=("sk-live-123456",))
    rig.hosts.say("a.test", "/ok", answer(b"abcdefg\n" * (size // 8)))
    said = rig.ask("a.test", "/ok")
    assert (said.status, len(said.body)) == (200, size // 8 * 8)


def test_h21_it_unpacks_no_more_than_a_piece_at_a_time() -> None:
    unpacker = Unpacker("gzip")
    with pytest.raises(TooMuch):
        for at in range(0, len(ZEROS), 4096):
            assert all(len(piece) <= PIECE for piece in unpacker.take(ZEROS[at : at + 4096]))
    assert unpacker.given < 2 * MIB


def test_h21_it_says_why_time_is_over() -> None:
    limits = Limits(first_byte=2, idle=1, total=5)
    assert limits.overdue(0, 0, 1.9, begun=False) is None
    assert limits.overdue(0, 1.5, 2.4, begun=True) is None
    assert "not begun" in str(limits.overdue(0, 0, 2.1, begun=False))
    assert "silent" in str(limits.overdue(0, 1, 2.1, begun=True))
    assert "longer" in str(limits.overdue(0, 5, 5.1, begun=True))


# --- the gateway's word ---
def test_it_refuses_with_the_judges_words(rig: Rig) -> None:
    rig.judge.ruling = lambda question: refuse("secret_revoked") if question["kind"] == "request" else allow()
    said = rig.ask("a.test")
    assert (said.status, said.code, b"no: secret_revoked" in said.body) == (403, "secret_revoked", True)
    assert not rig.hosts.seen


def test_it_shows_a_refused_tunnels_code_where_clients_show_it(rig: Rig) -> None:
    rig.judge.ruling = lambda question: refuse("host_blocked")
    _, said = rig.tunnel("a.test:443")
    assert said.head.startswith(b"HTTP/1.1 403 host_blocked\r\n")


def test_it_lets_nothing_pass_while_the_judge_is_away(rig: Rig) -> None:
    client = rig.tls("a.test")
    rig.judge.close()
    client.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
    said = read(client)
    assert said.status in (0, 503)  # 0: its connection has been cut already
    assert not rig.hosts.seen
    with pytest.raises(ConnectionRefusedError):
        rig.connect()


def test_it_cuts_the_connections_of_a_lease_and_goes_on_listening(rig: Rig) -> None:
    rig.hosts.say("a.test", "/s", [(0.0, HEAD + b"Content-Length: 9\r\n\r\nabc"), (1.2, b"def")])
    client = rig.tls("a.test")
    client.sendall(b"GET /s HTTP/1.1\r\nHost: a.test\r\n\r\n")
    assert client.recv(4096)
    rig.judge.send(op="cut", lease=rig.lease)
    client.settimeout(1)
    with contextlib.suppress(ConnectionError, ssl.SSLError):  # but not a timeout
        while client.recv(4096):
            pass
    assert rig.ask("a.test").status == 200


def test_h23_runs_share_no_connection(rig: Rig) -> None:
    other = Rig(rig.judge, rig.hosts, rig.bundle)
    for each in (rig, other):
        client = each.tls("a.test")
        for _ in range(2):
            client.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            assert read(client).status == 200
    first, second, third, fourth = [seen.connection for seen in rig.hosts.seen]
    assert first == second != third == fourth  # kept within a run, never between two
    other.close()


def test_it_takes_no_large_body_for_a_request_that_it_refuses(rig: Rig) -> None:
    rig.judge.ruling = lambda question: refuse("host_blocked") if question["kind"] == "request" else allow()
    small = rig.ask("a.test", method="POST", body=bytes(300_000))
    assert (small.status, small.code) == (403, "host_blocked")
    client = rig.tls("a.test")
    client.sendall(b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 60000000\r\n\r\n")
    sent = 0
    with contextlib.suppress(OSError):
        while sent < 60_000_000:
            sent += client.send(bytes(65536))
    assert sent < 30_000_000


def test_it_sends_hosts_their_name_in_its_one_spelling(rig: Rig) -> None:
    client = rig.tls("a.test")
    client.sendall(b"GET / HTTP/1.1\r\nHost: A.TEST.:443\r\n\r\n")
    assert read(client).status == 200
    assert rig.hosts.seen[0].header("host") == "a.test"
