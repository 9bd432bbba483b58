"""H-13: a host that can't prove who it is gets nothing."""

import pytest

from tests.egress.conftest import Rig
from tests.twins.judge_twin import allow, refuse


@pytest.mark.parametrize("host", ["expired.test", "nobody.test", "other-name.test", "old-tls.test"])
def test_h13_it_sends_nothing_to_a_host_with_bad_tls(host: str, rig: Rig) -> None:
    rig.judge.ruling = lambda question: allow(("header", "Authorization", "Bearer sk-live-123456"))
    said = rig.ask(host)
    assert said.status == 502
    assert said.code == "upstream_tls" or host == "old-tls.test"  # its server hangs up without a word
    assert not rig.hosts.seen


def test_h13_it_sends_to_its_twin_with_good_tls(rig: Rig) -> None:
    rig.judge.ruling = lambda question: allow(("header", "Authorization", "Bearer sk-live-123456"))
    assert rig.ask("a.test").status == 200
    assert rig.hosts.seen[0].header("authorization") == "Bearer sk-live-123456"


def test_h13_it_answers_when_a_host_is_away(rig: Rig) -> None:
    said = rig.ask("gone.test")
    assert (said.status, said.code) == (502, "upstream_error")
    assert b"127.0.0.1" not in said.body


def test_h13_it_says_in_the_tunnels_answer_that_dns_knows_no_host(rig: Rig) -> None:
    _, said = rig.tunnel("nowhere.invalid:443")
    assert (said.status, said.code) == (502, "upstream_error")
    assert b"nowhere.invalid has no address" in said.body


def test_h13_it_refuses_plain_http_where_the_judge_does(rig: Rig) -> None:
    rig.judge.ruling = lambda question: refuse("destination_forbidden") if question["scheme"] == "http" else allow()
    assert rig.plain("a.test").status == 403
    assert not rig.hosts.seen
    assert rig.judge.questions[0]["scheme"] == "http"


def test_h13_it_passes_plain_http_on_where_the_judge_lets_it(rig: Rig) -> None:
    assert rig.plain("plain.test", "/a?b=c").status == 200
    assert rig.hosts.seen[0].first == "GET /a?b=c HTTP/1.1"
    assert rig.hosts.seen[0].header("proxy-authorization") is None


@pytest.mark.parametrize("port", [8080, 443, 5432, 25])
def test_h06_it_passes_plain_http_to_port_80_only(port: int, rig: Rig) -> None:
    assert rig.plain(f"plain.test:{port}").status == 403
    assert not rig.judge.questions


@pytest.mark.parametrize(
    "credentials",
    ["", "Proxy-Authorization: Basic !!!!", "Proxy-Authorization: Digest x", "Authorization: Basic cnVuOng="],
)
def test_h14_it_asks_for_the_runs_token(credentials: str, rig: Rig) -> None:
    lines = ["CONNECT a.test:443 HTTP/1.1", "Host: a.test:443", *filter(None, [credentials]), "", ""]
    said = rig.raw("\r\n".join(lines).encode())
    assert (said.status, b"proxy-authenticate: Basic" in said.head) == (407, True)
    assert not rig.judge.questions
