"""Sandboxes for the tests of this folder: opened for real, talked to one question at a time, closed for sure."""

import asyncio
import json
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from runs.compute.base import Death, RolesSpec
from runs.compute.local import LocalCompute, LocalRoles

GOOD = """
    import json
    from bench_task import BenchTask

    class Task(BenchTask):
        def extract(self, path, index):
            with open(path) as f:
                rows = [json.loads(line) for line in f]
            row = rows[index]
            return {"task_id": row["task_id"], "input": row["input"], "expected": row["expected"]}

        def solve(self, index, input):
            return input

        def score(self, index, output, expected):
            return 1.0 if output == expected else 0.0
"""


def task(*methods: str, head: str = "") -> str:
    """A task_impl.py with these methods (each given as its text)."""
    body = "".join(textwrap.indent(textwrap.dedent(method).strip("\n"), "    ") + "\n\n" for method in methods)
    top = "import json, os, sys, time\nfrom bench_task import BenchTask, chat, chat_sync\n" + textwrap.dedent(head)
    return f"{top}\n\nclass Task(BenchTask):\n{body}"


async def all_gone(pids: list[int]) -> None:
    """Every process has ended and was collected, soon."""
    async with asyncio.timeout(5):
        while any(Path(f"/proc/{pid}").exists() for pid in pids):
            await asyncio.sleep(0.02)


class Open:
    """Three open roles and what they said."""

    def __init__(self, roles: LocalRoles) -> None:
        self.roles = roles
        self.said: dict[str, asyncio.Queue[dict[str, Any]]] = {}
        self.deaths: asyncio.Queue[Death] = asyncio.Queue()
        for name, role in roles.roles.items():
            self.said[name] = asyncio.Queue()
            role.on_messages = lambda messages, name=name: [self.said[name].put_nowait(each) for each in messages]
            role.on_death = self.deaths.put_nowait

    async def extract(self, *rows: dict[str, Any] | str, shard: int = 0) -> list[dict[str, Any]]:
        texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        self.roles.extract.send([{"op": "rows", "shard": shard, "rows": texts}])
        items: list[dict[str, Any]] = []
        while len(items) < len(rows):
            items += (await self.next("extract"))["items"]
        return items

    async def solve(self, *inputs: Any, seconds: float = 20) -> list[dict[str, Any]]:
        self.roles.solve.send(
            [
                {"op": "solve", "cell": at, "attempt": 1, "index": at, "task_id": f"t{at}", "trial": 0, "input": given}
                | {"key": f"bwk1.lease.{at}.1.mac"}
                for at, given in enumerate(inputs)
            ]
        )
        answers = [await self.next("solve", seconds) for _ in inputs]
        return sorted(answers, key=lambda answer: answer["cell"])

    async def score(self, *pairs: tuple[Any, Any], seconds: float = 20) -> list[dict[str, Any]]:
        self.roles.score.send(
            [
                {"op": "score", "cell": at, "attempt": 1, "index": at, "output": output, "expected": expected}
                for at, (output, expected) in enumerate(pairs)
            ]
        )
        answers = [await self.next("score", seconds) for _ in pairs]
        return sorted(answers, key=lambda answer: answer["cell"])

    async def next(self, name: str, seconds: float = 20) -> dict[str, Any]:
        return await asyncio.wait_for(self.said[name].get(), seconds)

    async def death(self, seconds: float = 20) -> Death:
        return await asyncio.wait_for(self.deaths.get(), seconds)


Opener = Callable[..., Awaitable[Open]]


@pytest.fixture
async def opened() -> AsyncIterator[Opener]:
    """``await opened(code, **spec)`` -> Open."""
    kept: list[LocalRoles] = []

    async def make(code: str = GOOD, **spec: Any) -> Open:
        roles = await LocalCompute().open(RolesSpec("run", textwrap.dedent(code), **({"model": "m/x"} | spec)))
        kept.append(roles)
        return Open(roles)

    yield make
    for roles in kept:
        await roles.close()
