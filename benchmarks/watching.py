"""Readers of a live stream as bare sockets, many in one process, which loads nothing of the product."""

import asyncio
import json
import os
import re
import sys
import time

SEQ = re.compile(rb"^id: (\d+)$", re.MULTILINE)
CONNECTING_AT_ONCE = 20


class Watcher(asyncio.Protocol):
    """One reader: notes when it had each event."""

    def __init__(self, request: bytes, arrivals: dict[int, list[float]]) -> None:
        self.request, self.arrivals = request, arrivals
        self.open = asyncio.get_running_loop().create_future()
        self.rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        if not self.open.done():
            assert data.startswith(b"HTTP/1.1 200"), data[:200]
            self.open.set_result(None)
        whole, line, self.rest = (self.rest + data).rpartition(b"\n")
        for seq in SEQ.findall(whole + line):
            self.arrivals.setdefault(int(seq), []).append(now)


async def connect(port: int, run: object, token: str, count: int, arrivals: dict[int, list[float]]) -> list[Watcher]:
    request = (
        f"GET /v1/runs/{run}/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
    ).encode()
    gate, loop = asyncio.Semaphore(CONNECTING_AT_ONCE), asyncio.get_running_loop()

    async def one() -> Watcher:
        async with gate:
            _, watcher = await loop.create_connection(lambda: Watcher(request, arrivals), "127.0.0.1", port)
            await asyncio.wait_for(watcher.open, 60)
            return watcher

    return list(await asyncio.gather(*(one() for _ in range(count))))


async def main(port: int, run: str, count: int) -> None:
    """Say "ready" once all are in; when standard input ends, print {seq: [when each had it]} as JSON."""
    arrivals: dict[int, list[float]] = {}
    watchers = await connect(port, run, os.environ["BENCHWRIGHT_BENCHMARK_TOKEN"], count, arrivals)
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for watcher in watchers:
        watcher.transport.abort()
    print(json.dumps(arrivals), flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
