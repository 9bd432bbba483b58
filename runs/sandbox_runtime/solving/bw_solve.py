"""The solve role: inputs in, outputs out; many tasks at once, on threads or on one event loop."""

import asyncio
import contextvars
import inspect
import json
import os
import queue
import select
import socket
import threading
import time

import bw_channel
import bw_clients
import bw_environ
import bw_http
import bw_user

FIRST_THREADS = 8
STACK = 1 << 20
SLOW = 5  # a solve longer than this many ticks is waiting rather than computing


def run(channel: bw_channel.Channel, start: dict) -> None:
    port = pass_listener_out(channel, start["port"])
    url = f"http://127.0.0.1:{port}"
    bw_environ.install(url)
    bw_http.configure(port, start["model"])
    bw_clients.install(url)
    task = bw_user.load_or_tell(channel, start["code"], lambda task: {"async": is_async(task)})
    if task is None:
        return
    if is_async(task):
        asyncio.run(Loop(channel, task, start["concurrency"]).serve())
    else:
        Threads(channel, task, start["concurrency"]).serve()


def is_async(task) -> bool:
    return inspect.iscoroutinefunction(task.solve)


def pass_listener_out(channel: bw_channel.Channel, port: int) -> int:
    """Listen for the model's clients, hand the listener to the host, keep nothing of it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(1024)
        frame = channel.frame([bw_channel.encode({"op": "listening"})])
        socket.send_fds(channel.socket, [frame], [listener.fileno()])
        return listener.getsockname()[1]


class Answers:
    """How a solve ends, for threads and loop alike."""

    def __init__(self, channel: bw_channel.Channel, task) -> None:
        self.channel = channel
        self.task = task
        self.cancelled: set = set()

    def begin(self, message: dict) -> list:
        """Make the running context the task's; returns where its output is kept."""
        log: list = []
        bw_environ.current_key.set(message.get("key"))
        bw_environ.current_log.set(log)
        return log

    def solved(self, message: dict, output, began: float, log: list) -> str:
        answer = {"op": "solved", "cell": message["cell"], "attempt": message["attempt"], "output": output}
        try:
            return self.finish(answer, began, log)
        except (TypeError, ValueError, RecursionError) as error:
            return self.raised(message, TypeError(f"solve must return JSON: {error}"), began, log)

    def raised(self, message: dict, error: BaseException, began: float, log: list) -> str:
        answer = {"op": "raised", "cell": message["cell"], "attempt": message["attempt"]}
        return self.finish({**answer, "error": bw_channel.fault(error)}, began, log)

    def finish(self, answer: dict, began: float, log: list) -> str:
        answer["ms"] = round((time.monotonic() - began) * 1000, 1)
        if log:
            answer["log"] = "".join(log)
        return bw_channel.encode(answer)


class Threads(Answers):
    """Plain solves. Threads come on demand: a few are quickest while answers are quick."""

    def __init__(self, channel: bw_channel.Channel, task, most: int) -> None:
        super().__init__(channel, task)
        self.most = max(1, most)
        self.queue: queue.SimpleQueue = queue.SimpleQueue()
        self.idle: list = []
        self.done: list = []
        self.count = 0

    def serve(self) -> None:
        threading.stack_size(STACK)
        ready = select.poll()
        ready.register(self.channel.socket, select.POLLIN)
        while True:
            if self.queue.qsize() and self.count < self.most:
                if not ready.poll(1):
                    self.grow()
                    continue
            for message in self.channel.receive():
                self.take(message)

    def take(self, message: dict) -> None:
        if message["op"] == "cancel":
            self.cancelled.add(message["cell"])
        elif message["op"] == "solve":
            self.cancelled.discard(message["cell"])
            self.queue.put(message)
            if self.count < min(FIRST_THREADS, self.most):
                self.add()

    def grow(self) -> None:
        """More threads only where they wait for answers; more of them would slow down what computes."""
        finished = len(self.done)
        del self.done[:finished]
        if not self.idle and finished * SLOW < self.count:
            for _ in range(min(1 + self.count // 3, self.most - self.count, self.queue.qsize())):
                self.add()

    def add(self) -> None:
        try:
            threading.Thread(target=self.work, daemon=True).start()
            self.count += 1
        except RuntimeError:  # the sandbox may have no more threads: go on with those there are
            if not self.count:
                raise
            self.most = self.count

    def work(self) -> None:
        while True:
            self.idle.append(None)
            message = self.queue.get()
            self.idle.pop()
            text = contextvars.Context().run(self.solve, message)
            self.done.append(None)
            try:
                self.channel.post_text(text)
            except OSError:
                os._exit(0)

    def solve(self, message: dict) -> str:
        log, began = self.begin(message), time.monotonic()
        if message["cell"] in self.cancelled:
            return self.raised(message, asyncio.CancelledError("cancelled before it began"), began, log)
        try:
            output = self.task.solve(message["index"], message["input"])
            if inspect.iscoroutine(output):  # an async solve under a plain decorator
                output = asyncio.run(output)
        except BaseException as error:
            return self.raised(message, error, began, log)
        return self.solved(message, output, began, log)


class Loop(Answers):
    """Async solves, all on one event loop; answers of one turn of the loop leave together."""

    def __init__(self, channel: bw_channel.Channel, task, most: int) -> None:
        super().__init__(channel, task)
        self.room = asyncio.Semaphore(max(1, most))
        self.running: dict = {}
        self.buffer = bytearray()
        self.over = False

    async def serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.end = self.loop.create_future()
        self.loop.add_reader(self.channel.socket, self.read)
        await self.end

    def read(self) -> None:
        data = self.channel.socket.recv(1 << 20, socket.MSG_DONTWAIT)
        if not data:
            os._exit(0)
        self.buffer += data
        at = 0
        while len(self.buffer) - at >= 4:
            size = bw_channel.LENGTH.unpack_from(self.buffer, at)[0]
            if len(self.buffer) - at - 4 < size:
                break
            for message in json.loads(self.buffer[at + 4 : at + 4 + size])["messages"]:
                self.take(message)
            at += 4 + size
        del self.buffer[:at]

    def take(self, message: dict) -> None:
        cell = message["cell"]
        if message["op"] == "cancel":
            if cell in self.running:
                self.running[cell].cancel()
        elif message["op"] == "solve":
            self.running[cell] = self.loop.create_task(self.solve(message))

    async def solve(self, message: dict) -> None:
        log, began = self.begin(message), time.monotonic()
        try:
            async with self.room:
                began = time.monotonic()
                output = await self.task.solve(message["index"], message["input"])
            text = self.solved(message, output, began, log)
        except BaseException as error:
            text = self.raised(message, error, began, log)
        finally:
            if self.running.get(message["cell"]) is asyncio.current_task():
                del self.running[message["cell"]]
        if not self.channel.outbox:
            self.loop.call_soon(self.channel.flush)
        self.channel.outbox.append(text)
