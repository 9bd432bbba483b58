"""What a request's first line asks for, as the gateway reads it where nothing is open."""

import pytest

from runs.gateway.egress.shut import LINE_BYTES, UNREAD, asked_for


@pytest.mark.parametrize(
    ("line", "host"),
    [
        (b"CONNECT b.test:443 HTTP/1.1\r\n", "b.test"),
        (b"connect B.Test:443 HTTP/1.1\r\n", "b.test"),
        (b"CONNECT [2001:db8::1]:443 HTTP/1.1\r\n", "2001:db8::1"),
        (b"GET http://plain.test/a?b=c HTTP/1.1\r\n", "plain.test"),
        (b"GET http://me:pw@plain.test:80/ HTTP/1.1\r\n", "plain.test"),
        (b"GET /a HTTP/1.1\r\n", UNREAD),
        (b"\x16\x03\x01\x02\x00\x01", UNREAD),
        (b"", UNREAD),
        (b"CONNECT :443 HTTP/1.1\r\n", UNREAD),
        (b"CONNECT [b.test:443 HTTP/1.1\r\n", UNREAD),
        (b"a" * LINE_BYTES, UNREAD),
    ],
)
def test_it_tells_which_host_was_asked_for(line: bytes, host: str) -> None:
    assert asked_for(line) == host
