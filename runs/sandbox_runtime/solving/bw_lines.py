"""The client of bw_http inside an event loop: kept connections, and one timer for all that wait."""

import asyncio

import bench_task
import bw_http

READ = 64 << 10  # bytes


class Line(asyncio.Protocol):
    """A kept connection; one request at a time."""

    def __init__(self, pool: "Pool") -> None:
        self.pool = pool
        self.transport = None
        self.answer = None
        self.waiting = None
        self.deadline = 0.0
        self.seconds = 0.0
        self.open = True

    def connection_made(self, transport) -> None:
        self.transport = transport
        transport.max_size = READ  # what asyncio makes room for at each read

    def begin(self, data: bytes):
        self.answer = bw_http.Answer()
        self.waiting = self.pool.loop.create_future()
        self.transport.write(data)
        return self.waiting

    def data_received(self, data: bytes) -> None:
        if self.waiting is None or self.waiting.done():
            self.transport.abort()
            return
        try:
            if self.answer.feed(data):
                self.waiting.set_result(self.answer)
        except bw_http.Broken as error:
            self.waiting.set_exception(error)

    def connection_lost(self, error) -> None:
        self.open = False
        if self.waiting is not None and not self.waiting.done():
            if self.answer.end():
                self.waiting.set_result(self.answer)
            else:
                self.waiting.set_exception(bw_http.Broken("Remote end closed connection without response"))

    def expire(self) -> None:
        if not self.waiting.done():
            self.waiting.set_exception(bw_http.ReadTimedOut(f"no answer in {self.seconds} s"))


class Pool:
    """The connections of one event loop."""

    def __init__(self, loop) -> None:
        self.loop = loop
        self.idle: list = []
        self.timed: set = set()  # lines with a deadline
        self.timer = None
        self.rings = 0.0  # loop time at which the timer looks again

    async def take(self) -> Line:
        while self.idle:
            line = self.idle.pop()
            if line.open:
                return line
        try:
            _, line = await self.loop.create_connection(lambda: Line(self), "127.0.0.1", bw_http.Address.port)
        except OSError as error:
            raise bw_http.ConnectFailed(str(error)) from error
        return line

    def limit(self, line: Line, seconds: float) -> None:
        line.seconds, line.deadline = seconds, self.loop.time() + seconds
        self.timed.add(line)
        if self.timer is None or line.deadline < self.rings:
            self.ring_at(line.deadline)

    def ring_at(self, when: float) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.rings, self.timer = when, self.loop.call_at(when, self.look)

    def look(self) -> None:
        now = self.loop.time()
        self.timer = None
        for line in [line for line in self.timed if line.deadline <= now]:
            self.timed.discard(line)
            line.expire()
        if self.timed:
            self.ring_at(min(line.deadline for line in self.timed))


pools: dict = {}


async def post(path: str, headers: list, body: bytes, seconds) -> bw_http.Answer:
    loop = asyncio.get_running_loop()
    pool = pools.get(loop)
    if pool is None:
        pool = pools[loop] = Pool(loop)
    line = await pool.take()
    if seconds:
        pool.limit(line, seconds)
    try:
        answer = await line.begin(bw_http.head(path, headers, body))
    except BaseException:
        line.transport.abort()
        raise
    finally:
        pool.timed.discard(line)
    if answer.keep and line.open:
        pool.idle.append(line)
    else:
        line.transport.abort()
    return answer


async def chat(messages: list, params: dict) -> dict:
    headers, body, timeout = bw_http.prepared(messages, params)
    try:
        answer = await post(bw_http.CHAT, headers, body, timeout)
    except OSError as error:
        raise bench_task.ChatError(0, bw_http.no_answer(error)) from error
    return bw_http.read_chat(answer)
