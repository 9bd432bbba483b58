"""Ordinary clients get through with nothing but the sandbox's environment."""

from tests.egress.conftest import Rig


def test_it_passes_a_request_on(rig: Rig) -> None:
    said = rig.ask("a.test", "/x?y=1")
    assert (said.status, said.body) == (200, b"hello")
    assert rig.hosts.seen[0].first == "GET /x?y=1 HTTP/1.1"
    assert rig.hosts.seen[0].header("accept-encoding") == "identity"
    assert rig.hosts.seen[0].header("proxy-authorization") is None
