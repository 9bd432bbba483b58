"""Is a part ready? Each probe answers within seconds and never raises."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable

from benchwright_site.serve.postgres import Cluster

Probe = Callable[[], Awaitable[bool]]


def cluster(one: Cluster) -> Probe:
    async def probe() -> bool:
        return await asyncio.to_thread(one.ready)

    return probe


def http(host: str, port: int, path: str) -> Probe:
    """Does a GET answer 200?"""

    async def ask() -> bool:
        reader, writer = await asyncio.open_connection(host, port)
        try:
            name = f"[{host}]" if ":" in host else host
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {name}:{port}\r\nConnection: close\r\n\r\n".encode())
            await writer.drain()
            status = await reader.readline()
            return status.split(b" ")[1:2] == [b"200"]
        finally:
            writer.close()

    return _guarded(ask)


def control(path: str) -> Probe:
    """Does the gateway's control socket answer a ping?"""

    async def ask() -> bool:
        reader, writer = await asyncio.open_unix_connection(path)
        try:
            writer.write(json.dumps({"op": "ping", "id": 1}).encode() + b"\n")
            await writer.drain()
            return b'"ok"' in await reader.readline()
        finally:
            writer.close()

    return _guarded(ask)


def _guarded(ask: Probe, seconds: float = 5.0) -> Probe:
    async def probe() -> bool:
        with contextlib.suppress(OSError, asyncio.TimeoutError, ValueError):
            return await asyncio.wait_for(ask(), seconds)
        return False

    return probe
