"""The solve role: inputs in, outputs out; many tasks at once, on threads or on one event loop."""

import _socket
import array
import contextvars
import gc
import os
import sys
import threading
import time
from _queue import SimpleQueue
from types import CoroutineType

import bw_channel
import bw_clients
import bw_environ
import bw_http
import bw_log
import bw_user

FIRST_THREADS = 8
STACK = 1 << 20
# Seconds that a thread may compute before another gets its turn. Hundreds of threads that wait for their turn all
# wake up that often, so Python's own 5 ms costs more than the work itself.
TURN = 0.02
BUSY = 32  # solves that run at once: with that many, the next messages and answers are a moment away
PAUSE = 0.002  # seconds
COLLECT = (10_000, 10, 10)  # new objects between collections: a task makes hundreds that die by themselves
COROUTINE = 0x80  # a code object's flag of ``async def``
OUTPUT_CAP = 32 << 20  # bytes of JSON: an answer with its log
SLOW = 5  # a solve longer than this many ticks is waiting rather than computing


def run(channel: bw_channel.Channel, start: dict) -> None:
    way = start.get("way_out")
    port, *others = pass_listeners_out(channel, start["port"], *([way["port"]] if way else []))
    if way:
        bw_environ.lead_out(others[0], way["token"], way["trust"])
    url = f"http://127.0.0.1:{port}"
    bw_environ.install(url)
    bw_http.configure(port, start["model"])
    bw_clients.install(url)
    task = bw_user.load_or_tell(channel, start["code"], lambda task: {"async": is_async(task)})
    if task is None:
        return
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT)
    if is_async(task):
        import bw_loop

        bw_loop.run(channel, task, start["concurrency"])
    else:
        Threads(channel, task, start["concurrency"]).serve()


def is_async(task) -> bool:
    inspect = sys.modules.get("inspect")  # it takes long to load, and whoever marks a function has loaded it
    if inspect is not None:
        return inspect.iscoroutinefunction(task.solve)
    code = getattr(getattr(task.solve, "__func__", task.solve), "__code__", None)
    return bool(code is not None and code.co_flags & COROUTINE)


def pass_listeners_out(channel: bw_channel.Channel, *ports: int) -> list:
    """Listen for clients of the model, and of hosts on the network; hand that to the host, keep nothing of it."""
    listeners = [_socket.socket(_socket.AF_INET, _socket.SOCK_STREAM) for _ in ports]
    for listener, port in zip(listeners, ports, strict=True):
        listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(1024)
    bound = [listener.getsockname()[1] for listener in listeners]
    frame = channel.frame([bw_channel.encode({"op": "listening"})])
    passed = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [each.fileno() for each in listeners]))
    channel.socket.sendmsg([frame], [passed])
    for listener in listeners:
        listener.close()
    return bound


class Answers:
    """How a solve ends, for threads and loop alike."""

    def __init__(self, channel: bw_channel.Channel, task) -> None:
        self.channel = channel
        self.task = task
        self.cancelled: set = set()

    def begin(self, message: dict) -> bw_log.Log:
        """Make the running context the task's; returns where what it prints is kept."""
        log = bw_log.Log()
        bw_environ.current_key.set(message.get("key"))
        bw_environ.current_log.set(log)
        return log

    def solved(self, message: dict, output, began: float, log) -> str:
        answer = {"op": "solved", "cell": message["cell"], "attempt": message["attempt"], "output": output}
        try:
            text = self.finish(answer, began, log)
        except (TypeError, ValueError, RecursionError) as error:
            return self.raised(message, TypeError(f"solve must return JSON: {error}"), began, log)
        if len(text) > OUTPUT_CAP:
            told = f"solve returned {len(text):,} bytes of JSON, and at most {OUTPUT_CAP:,} are possible"
            return self.raised(message, OutputTooLarge(told), began, log)
        return text

    def raised(self, message: dict, error: BaseException, began: float, log) -> str:
        answer = {"op": "raised", "cell": message["cell"], "attempt": message["attempt"]}
        found = bw_channel.fault(error)
        words = gateways_words(error)
        if words and words not in found["message"]:
            found["message"] = f"{found['message']} (the gateway said: {words})"
        return self.finish({**answer, "error": found}, began, log)

    def finish(self, answer: dict, began: float, log) -> str:
        answer["ms"] = round((time.monotonic() - began) * 1000, 1)
        if log:
            answer["log"] = str(log)
        return bw_channel.encode(answer, raw_of="output")


def gateways_words(error: BaseException) -> str:
    """Why a call was refused, where an HTTP library told its status only; "" where nobody said why."""
    try:
        said = error.response.json()["error"]
        return f"{said['code']}: {said['message']}"[:500]
    except BaseException:  # any library's error may come here, or one that only looks like it
        return ""


class OutputTooLarge(ValueError):
    """What solve returned is more than can be stored and scored."""


class CancelledError(BaseException):
    """Told of a solve that was cancelled before it began."""


class Threads(Answers):
    """Plain solves. Threads come on demand: a few are quickest while answers are quick.

    One more thread sends what the others have left: between two of its turns many answers gather.
    """

    def __init__(self, channel: bw_channel.Channel, task, most: int) -> None:
        super().__init__(channel, task)
        self.most = max(1, most)
        self.queue: SimpleQueue = SimpleQueue()
        self.answers: SimpleQueue = SimpleQueue()
        self.idle: list = []
        self.done: list = []
        self.count = 0

    def serve(self) -> None:
        threading.stack_size(STACK)
        sys.setswitchinterval(TURN)
        bw_http.Kernel.prepare()
        threading.Thread(target=self.tell, daemon=True).start()
        while True:
            if self.queue.qsize() and self.count < self.most:
                if not self.channel.ready(1):
                    self.grow()
                    continue
            if self.queue.qsize() and self.count >= BUSY:
                time.sleep(PAUSE)  # nobody waits for what comes: take several frames in one turn
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
            self.answers.put(text)

    def tell(self) -> None:
        answers, outbox = self.answers, self.channel.outbox
        while True:
            outbox.append(answers.get())
            if self.count >= BUSY:
                time.sleep(PAUSE)
            for _ in range(answers.qsize()):
                outbox.append(answers.get())
            try:
                self.channel.flush()
            except OSError:
                os._exit(0)

    def solve(self, message: dict) -> str:
        log, began = self.begin(message), time.monotonic()
        if message["cell"] in self.cancelled:
            return self.raised(message, CancelledError("cancelled before it began"), began, log)
        try:
            output = self.task.solve(message["index"], message["input"])
            if isinstance(output, CoroutineType):  # an async solve under a plain decorator
                import asyncio

                output = asyncio.run(output)
        except BaseException as error:
            return self.raised(message, error, began, log)
        return self.solved(message, output, began, log)
