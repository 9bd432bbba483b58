"""H-05, H-07, H-08: requests that two programs could read differently, or that say two things about where they go."""

import pytest

from tests.egress.conftest import TOKEN, Rig, basic, read
from tests.twins.hosts_twin import answer
from tests.twins.judge_twin import allow

SECRET = "sk-live-Zq9/8+w7x6v5u4t3s2r1"
CHUNKED = "Transfer-Encoding: chunked"


def post(*headers: str, body: str = "", line: str = "POST / HTTP/1.1", host: str = "Host: a.test") -> bytes:
    return "\r\n".join([line, *([host] if host else []), *headers, "", body]).encode("latin-1")


# Each is sent in a tunnel to a.test; a host that got any of it, or an answer but 400, 413, 421 or 431, is a failure.
SMUGGLED = {
    "length and chunks": post("Content-Length: 5", CHUNKED, body="0\r\n\r\nGET /x HTTP/1.1\r\n\r\n"),
    "chunks and length": post(CHUNKED, "Content-Length: 5", body="0\r\n\r\nGET /x HTTP/1.1\r\n\r\n"),
    "two lengths": post("Content-Length: 3", "Content-Length: 5", body="abcde"),
    "the same length twice": post("Content-Length: 5", "Content-Length: 5", body="abcde"),
    "a list of lengths": post("Content-Length: 5, 5", body="abcde"),
    "a signed length": post("Content-Length: +5", body="abcde"),
    "a negative length": post("Content-Length: -5", body="abcde"),
    "a hex length": post("Content-Length: 0x5", body="abcde"),
    "a spaced length": post("Content-Length: 5 5", body="abcde"),
    "an underscore in the length": post("Content-Length: 1_0", body="abcdefghij"),
    "another coding": post("Transfer-Encoding: xchunked", body="0\r\n\r\n"),
    "a list of codings": post("Transfer-Encoding: gzip, chunked", body="0\r\n\r\n"),
    "identity": post("Transfer-Encoding: identity", "Content-Length: 5", body="abcde"),
    "two codings": post(CHUNKED, CHUNKED, body="0\r\n\r\n"),
    "a coding behind a tab": post("Transfer-Encoding:\x0bchunked", body="0\r\n\r\n"),
    "a coding after a space": post("Transfer-Encoding : chunked", body="0\r\n\r\n"),
    "a space before the header": post(" Content-Length: 5", body="abcde"),
    "a folded header": post("X-A: b", "\tc: d"),
    "a folded coding": post("Transfer-Encoding:", " chunked", body="0\r\n\r\n"),
    "bare line breaks": b"GET / HTTP/1.1\nHost: a.test\n\n",
    "a bare line break in a header": post("X-A: b\nX-B: c"),
    "a bare carriage return": post("X-A: b\rX-B: c"),
    "a NUL in a header": post("X-A: b\x00c"),
    "a NUL in a name": post("X\x00A: b"),
    "a header without a colon": post("X-A"),
    "an empty name": post(": b"),
    "a chunk extension": post(CHUNKED, body="5;x=y\r\nabcde\r\n0\r\n\r\n"),
    "a hex prefix": post(CHUNKED, body="0x5\r\nabcde\r\n0\r\n\r\n"),
    "a signed chunk": post(CHUNKED, body="+5\r\nabcde\r\n0\r\n\r\n"),
    "a spaced chunk": post(CHUNKED, body="5 \r\nabcde\r\n0\r\n\r\n"),
    "a huge chunk": post(CHUNKED, body="fffffffffffffffff\r\nabcde\r\n0\r\n\r\n"),
    "a chunk that is too long": post(CHUNKED, body="5\r\nabcdefg\r\n0\r\n\r\n"),
    "a chunk with a bare line break": post(CHUNKED, body="5\nabcde\r\n0\r\n\r\n"),
    "trailers": post(CHUNKED, body="0\r\nX-A: b\r\n\r\n"),
    "two hosts": post("Host: b.test"),
    "no host": post(host=""),
    "another host": post(host="Host: b.test"),
    "another port": post(host="Host: a.test:8443"),
    "a host with a user": post(host="Host: x@a.test"),
    "a host and its comment": post(host="Host: a.test#b.test"),
    "an absolute target for another host": post(line="GET https://b.test/ HTTP/1.1"),
    "an absolute target": post(line="GET https://a.test/ HTTP/1.1"),
    "a target without a slash": post(line="GET b.test/ HTTP/1.1"),
    "a target with an @": post(line="GET @b.test/ HTTP/1.1"),
    "two spaces": post(line="GET  / HTTP/1.1"),
    "a tab": post(line="GET\t/ HTTP/1.1"),
    "a small method": post(line="get / HTTP/1.1"),
    "HTTP/0.9": b"GET /\r\n\r\n",
    "HTTP/1.2": post(line="GET / HTTP/1.2"),
    "HTTP/2 in the clear": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a leading line break": b"\r\n\r\n" + post(),
    "101 headers": post(*(f"X-{at}: b" for at in range(101))),
    "a long header": post("X-A: " + "b" * 70_000),
    "a long target": post(line=f"GET /{'a' * 20_000} HTTP/1.1"),
    "a large body": post(f"Content-Length: {65 << 20}"),
}
# What is like them and means one thing only: passed on, once.
PLAIN = {
    "a length": post("Content-Length: 5", body="abcde"),
    "no body": post(line="GET / HTTP/1.1"),
    "an empty body": post("Content-Length: 0"),
    "chunks": post(CHUNKED, body="5\r\nabcde\r\n3\r\nfgh\r\n0\r\n\r\n"),
    "chunks in capitals": post("transfer-encoding: Chunked", body="A\r\nabcdefghij\r\n0\r\n\r\n"),
    "chunks with zeros": post(CHUNKED, body="0005\r\nabcde\r\n000\r\n\r\n"),
    "the port": post(host="Host: a.test:443"),
    "a host in capitals": post(host="Host: A.TEST"),
    "a host with a dot": post(host="Host: a.test."),
    "spaces around a value": post("X-A:   b  "),
    "an empty value": post("X-A:"),
    "latin letters": post("X-A: \xe9"),
    "100 headers": post(*(f"X-{at}: b" for at in range(98))),
    "HTTP/1.0": post(line="GET / HTTP/1.0"),
    "a query with a host": post(line="GET /?u=https://b.test/ HTTP/1.1"),
    "a path with an @": post(line="GET /a@b.test HTTP/1.1"),
    "star": post(line="OPTIONS * HTTP/1.1"),
}


@pytest.mark.parametrize("name", SMUGGLED)
def test_h08_it_refuses_and_closes(name: str, rig: Rig) -> None:
    rig.judge.ruling = lambda question: allow(("header", "Authorization", SECRET), redact=(SECRET,))
    client = rig.tls("a.test")
    client.sendall(SMUGGLED[name])
    said = read(client)
    assert said.status in (400, 413, 421, 431), said
    assert said.code in ("bad_request", "payload_too_large", "misdirected_request")
    assert client.recv(1) == b""  # closed
    assert not rig.hosts.seen or not any(seen.count("authorization") for seen in rig.hosts.seen)
    assert not [seen for seen in rig.hosts.seen if seen.host != "a.test" or seen.path == "/x"]


@pytest.mark.parametrize("name", PLAIN)
def test_h08_it_passes_its_plain_twin(name: str, rig: Rig) -> None:
    client = rig.tls("a.test")
    client.sendall(PLAIN[name])
    assert read(client).status == 200
    assert len(rig.hosts.seen) == 1
    expected = {"a length": b"abcde", "chunks": b"abcdefgh"}.get(name)
    assert expected is None or rig.hosts.seen[0].body == expected


def test_h08_it_tries_enough_of_them() -> None:
    assert len(SMUGGLED) >= 25


def test_h08_it_forwards_no_second_request_that_hides_in_a_body(rig: Rig) -> None:
    hidden = "GET /hidden HTTP/1.1\r\nHost: b.test\r\n\r\n"
    client = rig.tls("a.test")
    client.sendall(post(f"Content-Length: {len(hidden)}", body=hidden))
    assert read(client).status == 200
    assert [(seen.path, seen.body.decode()) for seen in rig.hosts.seen] == [("/", hidden)]


@pytest.mark.parametrize("name", ["length and chunks", "a chunk extension", "bare line breaks"])
def test_h08_it_refuses_the_same_without_a_tunnel(name: str, rig: Rig) -> None:
    data = SMUGGLED[name].replace(b" / HTTP", b" http://plain.test/ HTTP").replace(b"a.test", b"plain.test")
    said = rig.raw(data.replace(b"Host:", b"Proxy-Authorization: Basic " + basic(TOKEN).encode() + b"\r\nHost:"))
    assert said.status == 400
    assert not [seen for seen in rig.hosts.seen if seen.path == "/x"]


# --- what TLS, tunnel and request say of the host ---
@pytest.mark.parametrize("sni", ["b.test", "api.openrouter.test", "", "a.test.b.test", "xn--a.test"])
def test_h07_it_refuses_tls_for_another_host(sni: str, rig: Rig) -> None:
    client = rig.tls("a.test", sni=sni)
    client.sendall(post(line="GET / HTTP/1.1"))
    said = read(client)
    assert (said.status, said.code) == (421, "misdirected_request")
    assert not rig.hosts.seen


def test_h07_it_refuses_a_second_request_with_another_host(rig: Rig) -> None:
    client = rig.tls("a.test")
    client.sendall(post(line="GET /1 HTTP/1.1"))
    assert read(client).status == 200
    client.sendall(post(line="GET /2 HTTP/1.1", host="Host: b.test"))
    assert read(client).status == 421
    assert [seen.path for seen in rig.hosts.seen] == ["/1"]


def test_h07_it_judges_each_request_of_a_connection(rig: Rig) -> None:
    client = rig.tls("a.test")
    for path, allowed in (("/1", True), ("/2", True)):
        client.sendall(post(line=f"GET {path} HTTP/1.1"))
        assert read(client).status == (200 if allowed else 403)
    assert [(each["kind"], each["path"]) for each in rig.judge.questions] == [
        ("connect", ""), ("request", "/1"), ("request", "/2")
    ]  # fmt: skip


def test_h07_it_speaks_no_http_2(rig: Rig) -> None:
    client = rig.tls("a.test", alpn=["h2", "http/1.1"])
    assert client.selected_alpn_protocol() == "http/1.1"


def test_h07_it_opens_no_tunnel_in_a_tunnel(rig: Rig) -> None:
    client = rig.tls("a.test")
    client.sendall(b"CONNECT b.test:443 HTTP/1.1\r\nHost: b.test\r\nProxy-Authorization: Basic cnVuOng=\r\n\r\n")
    assert read(client).status in (400, 403)
    assert not rig.hosts.seen


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", b"SSH-2.0-x\r\n\r\n", b"EHLO a\r\n\r\n"])
def test_h07_it_takes_nothing_but_tls_in_a_tunnel(data: bytes, rig: Rig) -> None:
    client, _ = rig.tunnel("a.test:443")
    client.sendall(data)
    assert read(client).status == 400
    assert not rig.hosts.seen


@pytest.mark.parametrize("method", ["TRACE"])
def test_h07_it_passes_no_method_that_mirrors_its_headers(method: str, rig: Rig) -> None:
    assert rig.ask("a.test", method=method).status == 405


@pytest.mark.parametrize("header", ["Upgrade: websocket", "Upgrade: h2c", "Connection: X-Key\r\nX-Key: 1"])
def test_h07_it_passes_no_header_that_is_meant_for_the_proxy(header: str, rig: Rig) -> None:
    assert rig.ask("a.test", "/", header).status == 200
    assert rig.hosts.seen[0].header("upgrade") is None
    assert rig.hosts.seen[0].header("x-key") is None


# --- redirects ---
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("there", ["https://b.test/in", "http://a.test/in", "https://a.test:8443/in", "//b.test/in"])
def test_h05_it_follows_no_redirect_and_judges_the_next_request_afresh(status: int, there: str, rig: Rig) -> None:
    rig.judge.ruling = lambda question: (
        allow(("header", "Authorization", f"Bearer {SECRET}"), redact=(SECRET,))
        if question["host"] == "a.test"
        else allow()
    )
    rig.hosts.say("a.test", "/out", answer(b"", f"Location: {there}", status=f"{status} Elsewhere"))
    said = rig.ask("a.test", "/out")
    assert (said.status, f"Location: {there}".encode() in said.head) == (status, True)
    assert [seen.host for seen in rig.hosts.seen] == ["a.test"]
    assert rig.ask("b.test", "/in").status == 200  # a client that follows
    assert rig.hosts.seen[-1].host == "b.test"
    assert rig.hosts.seen[-1].count("authorization") == 0
