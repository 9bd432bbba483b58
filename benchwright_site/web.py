"""The web server: daphne, which spools a whole body before anybody may refuse it, with a bound on what it spools.

``python -m benchwright_site.web`` takes daphne's own arguments.
"""

import json
import os
from typing import Any, cast

import daphne.server
from daphne.cli import CommandLineInterface
from daphne.http_protocol import HTTPFactory, WebRequest
from django.conf import settings
from twisted.internet import reactor

from kernel import ids
from kernel.errors import DomainError

os.environ.setdefault("BENCHWRIGHT_DATABASE_POOL", "1")  # before the settings are read

# Routes have limits of their own (benchwright_site.api); a megabyte more leaves those the first word.
HARD_LIMIT_BYTES = settings.ROWS_BODY_LIMIT_BYTES + (1 << 20)
HEAD_SECONDS = 8.0  # in which a new connection has to say what it wants; what idles later goes after a minute


class BoundedRequest(WebRequest):  # type: ignore[misc]
    """Answers 413 and hangs up as soon as a body is known to be too long, chunked or not."""

    received = 0
    refused = False

    def gotLength(self, length: int | None) -> None:
        self.channel.has_asked = True
        if length is not None and length > HARD_LIMIT_BYTES:
            super().gotLength(0)
            self._refuse()
        else:
            super().gotLength(length)

    def handleContentChunk(self, data: bytes) -> None:
        self.received += len(data)
        if self.refused:
            return
        if self.received > HARD_LIMIT_BYTES:
            self._refuse()
        else:
            super().handleContentChunk(data)

    def process(self) -> None:
        if not self.refused:
            super().process()

    def _refuse(self) -> None:
        self.refused = True
        detail = f"No body may have more than {settings.ROWS_BODY_LIMIT_BYTES:,} bytes. Send it in smaller pieces."
        request_id = f"req_{ids.ulid()}"
        body = json.dumps(DomainError("payload_too_large", detail).document(request_id)).encode()
        head = (
            "HTTP/1.1 413 Content Too Large\r\nContent-Type: application/problem+json\r\n"
            f"Content-Length: {len(body)}\r\nX-Request-Id: {request_id}\r\nConnection: close\r\n\r\n"
        )
        self.channel.transport.write(head.encode() + body)
        self.channel.loseConnection()


class BoundedFactory(HTTPFactory):  # type: ignore[misc]
    def buildProtocol(self, addr: object) -> object:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = BoundedRequest
        cast(Any, reactor).callLater(HEAD_SECONDS, _hang_up_unless_asked, protocol)
        return protocol


def _hang_up_unless_asked(protocol: Any) -> None:
    """Who sends the head of a request byte by byte would hold the connection for ever: each byte counts as life."""
    channel = getattr(protocol, "_channel", protocol)
    if not getattr(channel, "has_asked", False) and channel.transport is not None:
        channel.transport.abortConnection()


# The server offers no other way to choose its factory.
daphne.server.HTTPFactory = BoundedFactory

if __name__ == "__main__":
    CommandLineInterface.entrypoint()
