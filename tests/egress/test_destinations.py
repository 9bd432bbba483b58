"""H-02, H-03, H-04: where nobody's code may be connected to, however it is written, and the twins that may pass."""

import asyncio
import socket

import pytest

from egress import dialling
from egress.hosts import OddHost, plain
from egress.resolving import Forbidden, Resolver, own
from kernel import addresses
from secrets_vault.rules import normal_host
from tests.egress.conftest import Rig
from tests.twins.judge_twin import allow

FORBIDDEN = """
127.0.0.1 127.0.0.53 127.255.255.254 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.254 192.168.0.1 192.168.255.255
169.254.169.254 169.254.0.1 169.254.170.2 100.64.0.1 100.100.100.200 100.127.255.255 0.0.0.0 0.1.2.3 168.63.129.16
192.0.0.1 192.0.0.192 192.0.2.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 192.88.99.1 224.0.0.1 239.255.255.250
240.0.0.1 255.255.255.255
::1 :: fc00::1 fd00:ec2::254 fdff:ffff::1 fe80::1 febf::1 fec0::1 ff02::1 ff0e::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1
::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::a00:1 2002:7f00:1:: 2002:a00:1::1 2001::7f00:1
2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1 3fff::1 ::127.0.0.1 100::1 5f00::1
""".split()
PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 93.184.216.34 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 140.82.112.3
151.101.0.223 169.253.255.255 169.255.0.1 172.15.255.255 172.32.0.1 191.255.255.255 192.0.1.1 192.167.255.255 192.169.0.1
198.17.255.255 198.20.0.1 198.51.99.255 203.0.112.255 223.255.255.255 168.63.129.15
2001:200::1 2001:4860:4860::8888 2606:4700:4700::1111 2a00:1450:4001::200e 2600:1f18::1 2003::1 2620:fe::fe 2400:cb00::1
2001:dc0::1 2800:3f0::1
""".split()
ODD_HOSTS = [
    "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0x7f.0.0.1", "017700000001", "0177.0.0.1", "127.0.0.01",
    "0", "0.0", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.1.1.1.", "127.0.0.0x1", "[::ffff:127.0.0.1]", "[::1]", "[fe80::1%25eth0]",
    "[::1", "::1", "localhost", "localhost.", "LOCALHOST", "localhost..", "%31%32%37.0.0.1", "127%2e0.0.1", "a@b.test",
    "a.test@127.0.0.1", "a.test#@b.test", "a.test/b", "a.test\\b", "a.test b", "a.test\tb", "a..test", ".a.test",
    "-a.test", "a-.test", "*.a.test", "a.test:80", "１２７.0.0.1", "ⓛocalhost", "loc\u00adalhost", "a.te\u0131st", "a" * 64 + ".test",
    "a.test\x00.b.test", "ip6-localhost", "",
]  # fmt: skip
GOOD_HOSTS = [
    *((each, each) for each in (
        "example.com", "api.example.com", "a.b.c.d.e.example.com", "x.co", "3com.com", "1.example.com", "127.example.com",
        "a-b.example.com", "a--b.example.com", "x_y.example.com", "_dmarc.example.com", "xn--bcher-kva.example",
        "example.xn--p1ai", "0x.example.com", "localhost.example.com", "api2.example.com", "n1.n2.n3.io", "a" * 63 + ".com",
        "1.1.1.1", "8.8.8.8", "255.255.255.254", "2606:4700:4700::1111",
    )),
    ("EXAMPLE.com", "example.com"), ("Api.Example.Com.", "api.example.com"), ("example.com.", "example.com"),
    ("XN--BCHER-KVA.example", "xn--bcher-kva.example"), ("[2606:4700:4700::1111]", "2606:4700:4700::1111"),
    ("2606:4700:4700:0:0:0:0:1111", "2606:4700:4700::1111"), ("[2606:4700:4700:0000::1111]", "2606:4700:4700::1111"),
    ("1.1.1.1.", "1.1.1.1"),
]  # fmt: skip
PLAIN_HOSTS = [
    ("A.TEST", "a.test"), ("a.test.", "a.test"), ("a.test", "a.test"), ("A.Test.", "a.test"), ("b.test", "b.test"),
    ("B.TEST.", "b.test"), ("api.openrouter.test", "api.openrouter.test"), ("API.OpenRouter.Test", "api.openrouter.test"),
]  # fmt: skip


@pytest.mark.parametrize("address", FORBIDDEN)
def test_h02_it_refuses_an_address_that_is_not_public(address: str, rig: Rig) -> None:
    assert addresses.refusal(address)
    written = f"[{address}]" if ":" in address else address
    _, answer = rig.tunnel(f"{written}:443")
    assert (answer.status, b"destination_forbidden" in answer.head) == (403, True)
    assert [each["op"] for each in rig.judge.heard()] == ["forbidden"]


@pytest.mark.parametrize("address", PUBLIC)
def test_h02_it_lets_a_public_address_pass(address: str) -> None:
    assert addresses.refusal(address) is None
    assert asyncio.run(resolver([address]).checked("public.test", 443)) == [(address, 443)]


def test_h02_it_tries_enough_of_both() -> None:
    assert len(set(FORBIDDEN)) >= 41
    assert len(set(PUBLIC)) >= 30
    assert len(set(ODD_HOSTS)) >= 36


def test_h02_it_refuses_a_machines_own_public_address() -> None:
    found = resolver(["1.1.1.1"])
    found.own = lambda address: True
    with pytest.raises(Forbidden, match="this machine itself"):
        asyncio.run(found.checked("1.1.1.1", 443))
    assert own("127.0.0.1")


@pytest.mark.parametrize("host", ODD_HOSTS)
def test_h04_it_refuses_an_odd_host_or_reads_it_as_one_that_is_refused(host: str, rig: Rig) -> None:
    client = rig.connect()
    line = f"CONNECT {host}:443 HTTP/1.1\r\n".encode()
    client.sendall(line + b"Host: x\r\nProxy-Authorization: Basic cnVuOnQ=\r\n\r\n")
    data = client.recv(65536)
    assert data.startswith((b"HTTP/1.1 400", b"HTTP/1.1 403", b"HTTP/1.1 502")) or host == "1.1.1.1."
    assert not rig.hosts.seen
    for question in rig.judge.questions:  # what was asked about is what would be dialled, in its one spelling
        assert question["host"] == plain(question["host"]) == normal_host(question["host"])


@pytest.mark.parametrize(("written", "host"), PLAIN_HOSTS)
def test_h04_it_reads_other_spellings_of_a_host_as_the_host(written: str, host: str, rig: Rig) -> None:
    client, answer = rig.tunnel(f"{written}:443")
    assert answer.status == 200
    assert rig.judge.questions[0]["host"] == host == plain(written) == normal_host(written)
    client.close()


def test_h04_it_reads_hosts_as_the_rules_of_secrets_do() -> None:
    for host in [*ODD_HOSTS, *FORBIDDEN, *PUBLIC, *(written for written, _ in PLAIN_HOSTS)]:
        try:
            read = plain(host)
        except OddHost:
            continue
        assert read == normal_host(host) == plain(read), host


@pytest.mark.parametrize(("written", "host"), GOOD_HOSTS)
def test_h04_it_takes_hosts_that_are_written_plainly(written: str, host: str) -> None:
    assert plain(written) == host == normal_host(written)


# --- DNS ---
def resolver(*answers: list[str]) -> Resolver:
    """One that gets these answers, one after the other, and the last one for ever."""
    left = list(answers)

    async def lookup(host: str) -> list[str]:
        return left.pop(0) if len(left) > 1 else left[0]

    return Resolver(lookup=lookup, own=lambda address: False)


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["1.1.1.1", "10.0.0.1"],
        ["10.0.0.1", "1.1.1.1"],
        ["2606:4700::1", "::1"],
        ["1.1.1.1", "fe80::1%eth0"],
    ],
)
def test_h03_it_uses_none_of_several_addresses_where_one_is_not_public(answers: list[str]) -> None:
    with pytest.raises(Forbidden):
        asyncio.run(resolver(answers).checked("mixed.test", 443))


def test_h03_it_dials_what_it_has_checked_though_dns_says_otherwise_now() -> None:
    rebinding = resolver(["1.1.1.1"], ["127.0.0.1"])
    assert asyncio.run(rebinding.checked("rebind.test", 443)) == [("1.1.1.1", 443)]
    assert asyncio.run(rebinding.checked("rebind.test", 443)) == [("1.1.1.1", 443)]


def test_h03_it_checks_again_what_it_asks_again() -> None:
    rebinding = resolver(["1.1.1.1"], ["127.0.0.1"])
    asyncio.run(rebinding.checked("rebind.test", 443))
    rebinding.kept.clear()
    with pytest.raises(Forbidden):
        asyncio.run(rebinding.checked("rebind.test", 443))


def test_h03_it_can_dial_nothing_that_was_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever in the proxy opens a connection, by name or by address, goes through the check."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        monkeypatch.setattr(dialling.DiallingLoop, "resolver", resolver(["127.0.0.1"]))
        with asyncio.Runner(loop_factory=dialling.DiallingLoop) as runner:
            for host in ("inner.test", "127.0.0.1", "localhost", "::1"):
                with pytest.raises(Forbidden):
                    runner.run(asyncio.wait_for(asyncio.open_connection(host, port), 5))


def test_h03_it_refuses_names_that_lead_inside_end_to_end(rig: Rig) -> None:
    _, answer = rig.tunnel("localhost:443")
    assert (answer.status, answer.head.split(b"\r\n")[0]) == (403, b"HTTP/1.1 403 destination_forbidden")
    assert rig.judge.heard() == [{"op": "forbidden", "lease": rig.lease, "host": "localhost"}]


# --- ports ---
@pytest.mark.parametrize("port", [22, 25, 53, 80, 110, 444, 3306, 5432, 6379, 8000, 8080, 8443, 65535])
def test_h06_it_opens_tunnels_to_443_only(port: int, rig: Rig) -> None:
    _, answer = rig.tunnel(f"a.test:{port}")
    assert answer.status == 403
    assert not rig.judge.questions


@pytest.mark.parametrize("port", ["0", "65536", "99999", "-1", "+443", "443x", "", "0x1bb", "４４３"])
def test_h06_it_refuses_ports_that_are_none(port: str, rig: Rig) -> None:
    answer = rig.raw(f"CONNECT a.test:{port} HTTP/1.1\r\nHost: a.test\r\n\r\n".encode())
    assert answer.status in (400, 407)
    assert not rig.judge.questions


def test_h06_it_intercepts_what_is_in_a_tunnel(rig: Rig) -> None:
    rig.judge.ruling = lambda question: allow(("header", "X-Key", "sealed-value-1"))
    assert rig.ask("a.test").status == 200
    assert rig.hosts.seen[0].header("x-key") == "sealed-value-1"
