"""A twin of the egress proxy for whoever only needs its way: CONNECT with the run's token, then bytes to and fro.

``refused`` maps hosts to the status line that the proxy would answer.
"""

import asyncio
import base64
import contextlib

from tests.twins.hosts_twin import Hosts

TOKEN = "bwe1.of-the-run"


class TunnelTwin:
    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        self.refused: dict[str, str] = {}
        self.tunnels: list[str] = []  # hosts, in the order of their CONNECTs
        start = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.server = asyncio.run_coroutine_threadsafe(start, hosts.loop).result(10)
        hosts.servers.append(self.server)  # ends with them
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._tunnel(reader, writer)
        writer.close()

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        host = head.split()[1].removesuffix(":443")
        shown = f"Proxy-Authorization: Basic {base64.b64encode(f'run:{TOKEN}'.encode()).decode()}"
        refusal = self.refused.get(host) if shown in head else "407 proxy_authentication_required"
        if refusal is None and host not in self.hosts.ports:
            refusal = "403 host_blocked"
        if refusal:
            writer.write(f"HTTP/1.1 {refusal}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
            return
        self.tunnels.append(host)
        inner, outer = await asyncio.open_connection("127.0.0.1", self.hosts.ports[host])
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            await asyncio.gather(_piped(reader, outer), _piped(inner, writer))
        finally:
            outer.close()


async def _piped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(1 << 16):
            writer.write(piece)
            await writer.drain()
        writer.close()
