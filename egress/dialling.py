"""The one place where connections to the network are made: whatever asks for a host is given a checked address."""

import asyncio
import socket
from typing import Any

from egress.resolving import Place, Resolver

SECONDS = 10.0


class DiallingLoop(asyncio.SelectorEventLoop):
    """An event loop in which nothing can be dialled but what ``resolver`` has checked."""

    resolver = Resolver()

    async def create_connection(  # type: ignore[override]
        self, factory: Any, host: Any = None, port: Any = None, **more: Any
    ) -> Any:
        """As asyncio's, without its own look at DNS. OSError (Forbidden and Unresolved are some)."""
        more.pop("local_addr", None)
        if more.get("sock") is None:
            more["sock"] = await self._dial(str(host), int(port))
        return await super().create_connection(factory, **more)

    async def _dial(self, host: str, port: int) -> socket.socket:
        trouble: OSError = OSError(f"{host} does not answer")
        for place in await self.resolver.checked(host, port):
            try:
                return await self._connected(place)
            except TimeoutError:
                trouble = OSError(f"{host} does not answer in time")
            except OSError as bad:
                trouble = bad
        raise trouble

    async def _connected(self, place: Place) -> socket.socket:
        family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(SECONDS):
                await self.sock_connect(sock, place)
        except BaseException:
            sock.close()
            raise
        return sock
