"""Async solves: how the solve role serves a task whose ``solve`` is a coroutine function."""

import asyncio
import selectors
import time

import bw_channel
import bw_solve


class Unhurried(selectors.DefaultSelector):
    """Waits a moment before it looks, when much is under way: fewer turns of the loop, the same work."""

    running: dict = {}

    def select(self, timeout=None):
        if len(self.running) >= bw_solve.BUSY and (timeout is None or timeout > bw_solve.PAUSE):
            time.sleep(bw_solve.PAUSE)
        return super().select(timeout)


def run(channel: bw_channel.Channel, task, most: int) -> None:
    """Until the host is gone."""
    selector = Unhurried()
    serving = Loop(channel, task, most)
    selector.running = serving.running
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        runner.run(serving.serve())


class Loop(bw_solve.Answers):
    """Async solves, all on one event loop; answers of one turn of the loop leave together."""

    def __init__(self, channel: bw_channel.Channel, task, most: int) -> None:
        super().__init__(channel, task)
        self.most = max(1, most)
        self.queue: dict = {}  # messages by cell, in order
        self.running: dict = {}  # tasks by cell

    async def serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.end = self.loop.create_future()
        self.loop.add_reader(self.channel.socket, self.read)
        await self.end

    def read(self) -> None:
        for message in self.channel.receive_some() or ():
            self.take(message)
        self.start()

    def take(self, message: dict) -> None:
        cell = message["cell"]
        if message["op"] == "cancel":
            if cell in self.running:
                self.running[cell].cancel()
            elif cell in self.queue:
                error = bw_solve.CancelledError("cancelled before it began")
                self.leave(self.raised(self.queue.pop(cell), error, time.monotonic(), None))
        elif message["op"] == "solve":
            self.queue[cell] = message

    def start(self) -> None:
        while self.queue and len(self.running) < self.most:
            cell = next(iter(self.queue))
            self.running[cell] = self.loop.create_task(self.solve(self.queue.pop(cell)))

    async def solve(self, message: dict) -> None:
        log, began = self.begin(message), time.monotonic()
        try:
            output = await self.task.solve(message["index"], message["input"])
            text = self.solved(message, output, began, log)
        except BaseException as error:
            text = self.raised(message, error, began, log)
        finally:
            if self.running.get(message["cell"]) is asyncio.current_task():
                del self.running[message["cell"]]
                self.start()
        self.leave(text)

    def leave(self, text: str) -> None:
        """Send it at the end of this turn of the loop."""
        if not self.channel.outbox:
            self.loop.call_soon(self.channel.flush)
        self.channel.outbox.append(text)
