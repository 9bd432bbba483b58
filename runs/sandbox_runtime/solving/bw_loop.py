"""Async solves: how the solve role serves a task whose ``solve`` is a coroutine function."""

import _socket
import asyncio
import json
import os
import time

import bw_channel
import bw_solve

READ = 128 << 10  # bytes


def run(channel: bw_channel.Channel, task, most: int) -> None:
    """Until the host is gone."""
    asyncio.run(Loop(channel, task, most).serve())


class Loop(bw_solve.Answers):
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
        data = self.channel.socket.recv(READ, _socket.MSG_DONTWAIT)
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
