"""The tasks of an engine at work: what one of them raises ends the engine, and none outlives it."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class Works:
    """``wake`` is set whenever there may be something to do. ``failure``: the first thing that a task raised."""

    def __init__(self) -> None:
        self.wake = asyncio.Event()
        self.failure: BaseException | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        if self._closed:  # a timer that outlived the work: what it began now, nobody would end
            work.close()
            return
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def fail(self, failure: BaseException) -> None:
        self.failure = self.failure or failure
        self.wake.set()

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            self.fail(failure)
        self.wake.set()

    async def close(self) -> None:
        """Ends what runs; nothing begins from now on."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
