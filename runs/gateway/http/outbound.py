"""The client side: keep-alive connections to one upstream, for one run only. Plain and TLS alike."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

import httptools

from kernel import addresses, env

ANSWER_BYTES = 64 << 20
HEAD_BYTES = 64 << 10
HEADERS = 200
CONNECT_SECONDS = 10.0
FIRST_BYTE_SECONDS = env.number("BENCHWRIGHT_MODEL_FIRST_BYTE_SECONDS", 600, least=0.1)
IDLE_SECONDS = env.number("BENCHWRIGHT_MODEL_IDLE_SECONDS", 120, least=0.1)  # between two pieces of an answer
TOTAL_SECONDS = env.number("BENCHWRIGHT_MODEL_TOTAL_SECONDS", 900, least=0.1)
NO_CONNECTION = "no connection to the provider"  # begins what is said of a host that does not answer
KEEP_SECONDS = 45.0  # an idle connection is dropped before most servers drop it


class UpstreamError(Exception):
    """The provider could not be heard. ``begun``: some of the answer had arrived.

    ``kind``: connect, tls, forbidden, cut, timeout or limit. ``reused``: on a connection that had served before.
    """

    def __init__(self, kind: str, message: str, *, begun: bool = False, reused: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.begun = begun
        self.reused = reused


@dataclass(frozen=True)
class Target:
    """Where calls go. ``heads``: by endpoint, all before the content length, credentials included: never log it."""

    scheme: str
    host: str
    port: int
    heads: Mapping[str, bytes] = field(repr=False)
    open_world: bool = False  # a user's own address: only public ones may be dialled
    paths: Mapping[str, str] = field(default_factory=dict)  # by endpoint, without the query

    def request(self, api: str, body: bytes) -> bytes:
        return b"%scontent-length: %d\r\n\r\n%s" % (self.heads[api], len(body), body)


class Exchange:
    """One request and its answer."""

    __slots__ = ("_wake", "chunks", "done", "error", "headers", "loop", "on_end", "size", "status")

    def __init__(self, loop: asyncio.AbstractEventLoop, on_end: "Callable[[Exchange], None] | None" = None) -> None:
        self.loop = loop
        self.on_end = on_end  # called once with the whole answer or the error, in place of the coroutines below
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.chunks: list[bytes] = []
        self.size = 0
        self.done = False
        self.error: UpstreamError | None = None
        self._wake: asyncio.Future[None] | None = None

    def wake(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def _more(self) -> None:
        self._wake = self.loop.create_future()
        await self._wake
        self._wake = None

    async def head(self) -> int:
        """The status, once the answer's headers are there. UpstreamError."""
        while not self.status and self.error is None:
            await self._more()
        if self.error is not None:
            raise self.error
        return self.status

    async def body(self) -> bytes:
        """The whole answer. UpstreamError."""
        while not self.done and self.error is None:
            await self._more()
        if self.error is not None:
            raise self.error
        return b"".join(self.chunks)

    async def blocks(self) -> AsyncIterator[bytes]:
        """The answer's pieces as they come. UpstreamError where it breaks off."""
        while True:
            while self.chunks:
                block, self.chunks = b"".join(self.chunks), []
                yield block
            if self.error is not None:
                raise self.error
            if self.done:
                return
            await self._more()


class Outbound(asyncio.Protocol):
    """One upstream connection; at most one exchange at a time."""

    __slots__ = (
        "ended",
        "exchange",
        "feeding",
        "head_bytes",
        "lengthless",
        "parser",
        "pool",
        "since",
        "touched",
        "transport",
        "used",
    )
    transport: asyncio.Transport

    def __init__(self, pool: "Pool") -> None:
        self.pool = pool
        self.exchange: Exchange | None = None
        self.ended: Exchange | None = None  # to be told, once the parser has returned
        self.feeding = False
        self.parser = httptools.HttpResponseParser(self)
        self.used = 0
        self.since = self.touched = 0.0
        self.head_bytes = 0
        self.lengthless = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def send(self, exchange: Exchange, data: bytes) -> None:
        self.exchange = exchange
        self.used += 1
        self.since = self.touched = self.pool.loop.time()
        self.head_bytes = 0
        self.lengthless = True
        self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        exchange = self.exchange
        if exchange is None:
            self.transport.abort()  # an answer that nobody asked for
            return
        self.touched = self.pool.loop.time()
        self.feeding = True
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.fail("cut", "the provider's answer is no HTTP")
        finally:
            self.feeding = False
        ended = self.ended
        if ended is not None:
            self.ended = None
            ended.on_end(ended)  # type: ignore[misc]
        elif exchange.chunks and not exchange.done:
            exchange.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.pool.forget(self)
        exchange = self.exchange
        if exchange is None:
            return
        if exchange.status and self.lengthless and not self.parser.should_keep_alive() and exc is None:
            self.finish(exchange)  # the answer ends with the connection
        else:
            self.fail("cut", "the provider closed the connection before its answer was complete")

    def fail(self, kind: str, message: str) -> None:
        exchange, self.exchange = self.exchange, None
        if exchange is not None and not exchange.done and exchange.error is None:
            begun = bool(exchange.status or self.head_bytes)
            exchange.error = UpstreamError(kind, message, begun=begun, reused=self.used > 1)
            self._tell(exchange)
        self.transport.abort()

    def give_up(self) -> None:
        """Nobody wants the answer any more: the connection ends, and nobody is told."""
        self.exchange = None
        self.transport.abort()

    def finish(self, exchange: Exchange) -> None:
        self.exchange = None
        exchange.done = True
        self._tell(exchange)

    def _tell(self, exchange: Exchange) -> None:
        if exchange.on_end is None:
            exchange.wake()
        elif self.feeding:
            self.ended = exchange  # whoever hears of it may use this connection again
        else:
            exchange.on_end(exchange)

    # -- what httptools says ---------------------------------------------------------------------------------------
    def on_message_begin(self) -> None:
        if self.exchange is None:
            self.transport.abort()  # a second answer behind the first: it must never become somebody's

    def on_header(self, name: bytes, value: bytes) -> None:
        exchange = self.exchange
        self.head_bytes += len(name) + len(value)
        if exchange is None:
            return
        if self.head_bytes > HEAD_BYTES or len(exchange.headers) >= HEADERS:
            self.fail("limit", "the provider's headers are too large")
            return
        name = name.lower()
        exchange.headers[name] = value
        if name in {b"content-length", b"transfer-encoding"}:
            self.lengthless = False

    def on_headers_complete(self) -> None:
        status = self.parser.get_status_code()
        if self.exchange is not None and status >= 200:
            self.exchange.status = status
            self.exchange.wake()

    def on_body(self, body: bytes) -> None:
        exchange = self.exchange
        if exchange is None:
            return
        exchange.size += len(body)
        if exchange.size > ANSWER_BYTES:
            self.fail("limit", "the provider's answer is too large")
            return
        exchange.chunks.append(body)

    def on_message_complete(self) -> None:
        exchange = self.exchange
        if exchange is None or not exchange.status:
            return  # 100 Continue and the like
        keep = self.parser.should_keep_alive()
        self.finish(exchange)
        if keep:
            self.pool.give_back(self)
        else:
            self.transport.close()

    def overdue(self, now: float) -> str | None:
        exchange = self.exchange
        if exchange is None:
            return None
        if now - self.since > TOTAL_SECONDS:
            return "the provider took too long in all"
        if now - self.touched > (IDLE_SECONDS if exchange.status else FIRST_BYTE_SECONDS):
            return "the provider stopped answering"
        return None


class Pool:
    """Connections of one run to one target. Nothing is shared between runs."""

    def __init__(self, target: Target, tls: ssl.SSLContext | None) -> None:
        self.target = target
        self.tls = tls
        self.loop = asyncio.get_running_loop()
        self.idle: list[Outbound] = []
        self.open: set[Outbound] = set()

    async def start(self, api: str, body: bytes) -> tuple[Exchange, Outbound]:
        """Sends a request. UpstreamError of kind connect where nobody answers."""
        conn = self.ready() or await self._dial()
        exchange = Exchange(self.loop)
        conn.send(exchange, self.target.request(api, body))
        return exchange, conn

    def ready(self) -> Outbound | None:
        """A connection that waits for a request, taken out of the pool; None where one must be dialled."""
        while self.idle:
            conn = self.idle.pop()
            if not conn.transport.is_closing():
                return conn
        return None

    async def _dial(self) -> Outbound:
        target = self.target
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                host = await self._public_address() if target.open_world else target.host
                _, conn = await self.loop.create_connection(
                    lambda: Outbound(self),
                    host,
                    target.port,
                    ssl=self.tls if target.scheme == "https" else None,
                    server_hostname=target.host if target.scheme == "https" else None,
                )
        except TimeoutError:
            raise UpstreamError("timeout", "no connection to the provider in time") from None
        except ssl.SSLCertVerificationError as bad:
            raise UpstreamError("tls", f"the provider's certificate is not trusted: {bad.verify_message}") from None
        except OSError as bad:
            raise UpstreamError("connect", f"{NO_CONNECTION}: {bad.strerror or bad}") from None
        self.open.add(conn)
        return conn

    async def _public_address(self) -> str:
        target = self.target
        infos = await self.loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        for *_, address in infos:
            if addresses.refusal(str(address[0])):
                raise UpstreamError("forbidden", "the provider's address is not a public one")
        return str(infos[0][4][0])

    def give_back(self, conn: Outbound) -> None:
        conn.touched = self.loop.time()
        self.idle.append(conn)

    def forget(self, conn: Outbound) -> None:
        self.open.discard(conn)

    def tick(self, now: float) -> None:
        """Called a few times per second: ends what dawdles, drops what idles."""
        for conn in list(self.open):
            why = conn.overdue(now)
            if why:
                conn.fail("timeout", why)
        while self.idle and now - self.idle[0].touched > KEEP_SECONDS:
            self.idle.pop(0).transport.close()

    def close(self) -> None:
        for conn in list(self.open):
            conn.transport.abort() if conn.exchange is None else conn.fail("cut", "the run's calls were ended")
