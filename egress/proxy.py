"""mitmproxy as a library: its parts put together, and connections of sandboxes given to them."""

import asyncio
import contextlib
import logging
import socket
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from mitmproxy import certs, options
from mitmproxy.addons import proxyserver, tlsconfig
from mitmproxy.master import Master
from mitmproxy.proxy import mode_specs
from mitmproxy.proxy.layers import modes
from mitmproxy.proxy.mode_servers import ProxyConnectionHandler

from egress import strict
from egress.judged import Judged, Seat
from egress.link import Link

log = logging.getLogger("egress")
MOST_CONNECTIONS = 512  # of one lease
PARTS_SETTINGS = {
    "connection_strategy": "lazy",  # nothing is dialled before a request was judged
    "http2": False,
    "http3": False,
    "websocket": False,
    "rawtcp": False,
    "validate_inbound_headers": True,
    "upstream_cert": False,
    "ssl_insecure": False,
    "tls_version_client_min": "TLS1_2",
    "tls_version_server_min": "TLS1_2",
}


class Certificates(tlsconfig.TlsConfig):  # type: ignore[misc]
    """Leaf certificates of the installation's own authority."""

    certstore: Any = None

    def __init__(self, authority: Path) -> None:
        super().__init__()
        self.authority = authority
        self.folder = tempfile.TemporaryDirectory(prefix="benchwright-egress-")

    def configure(self, updated: set[str]) -> None:
        if self.certstore is None:
            parameters = Path(self.folder.name) / "dhparam.pem"
            self.certstore = certs.CertStore.from_files(self.authority, parameters)

    def running(self) -> None:
        return


class Proxy:
    """Serves the listeners of sandboxes."""

    def __init__(self, judged: Judged, authority: Path, trust: str | None) -> None:
        strict.install()
        self.judged = judged
        self.settings = options.Options()
        self.master = Master(self.settings)
        self.certificates = Certificates(authority)
        self.master.addons.add(judged, proxyserver.Proxyserver(), self.certificates)
        known = {name: value for name, value in PARTS_SETTINGS.items() if name in self.settings}
        self.settings.update(**known, ssl_verify_upstream_trusted_ca=trust)
        self.mode = mode_specs.ProxyMode.parse("regular")
        self.doors: dict[str, asyncio.Task[None]] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    # -- what the gateway asks for ---------------------------------------------------------------------------------
    def serve(self, lease: str, listener: socket.socket, link: Link) -> None:
        self.drop(lease)
        listener.setblocking(False)
        self.doors[lease] = asyncio.get_running_loop().create_task(self._serve(lease, listener, link))

    def drop(self, lease: str) -> None:
        door = self.doors.pop(lease, None)
        if door is not None:
            door.cancel()
        self.cut(lease)

    def cut(self, lease: str) -> None:
        for seat in list(self.judged.seats.values()):
            if seat.lease == lease:
                transport = seat.handler.transports.get(seat.handler.client)
                if transport is not None and transport.writer is not None:
                    transport.writer.transport.abort()

    # -- connections -----------------------------------------------------------------------------------------------
    async def _serve(self, lease: str, listener: socket.socket, link: Link) -> None:
        visit = partial(self._visit, lease, link)
        with listener:
            server = await asyncio.start_server(visit, sock=listener, backlog=1024)
            async with server:
                await server.serve_forever()

    async def _visit(self, lease: str, link: Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seats = self.judged.seats
        if sum(seat.lease == lease for seat in seats.values()) >= MOST_CONNECTIONS:
            writer.transport.abort()
            return
        handler = ProxyConnectionHandler(self.master, reader, writer, self.settings, self.mode)
        handler.layer = modes.HttpProxy(handler.layer.context)
        seats[handler.client.id] = Seat(lease, link, handler)
        try:
            await handler.handle_client()
        finally:
            seats.pop(handler.client.id, None)
            with contextlib.suppress(OSError, RuntimeError):
                writer.close()
