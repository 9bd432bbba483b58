"""What the kills fall upon: a model on loopback that knows what it was asked, and runs that are launched over time."""

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from benchwright import Benchwright
from benchwright.errors import APIConnectionError, APIError
from tests.operations.serving import Server, manage
from tests.twins.openai_twin import Fault, OpenAITwin, Seen

T = TypeVar("T")
SCOPES = "runs:read,runs:write,artifacts:read,registry:read,registry:publish"
PATIENCE = 180.0  # seconds for one call of ours to the server, whatever is killed meanwhile

PLAIN = """
import os, requests
from bench_task import BenchTask

class Task(BenchTask):
    def solve(self, index, input):
        reply = requests.post(
            f"{os.environ['BW_MODEL_PROXY_URL']}/v1/chat/completions",
            headers={"Authorization": f"Bearer {os.environ['BW_MODEL_PROXY_KEY']}"},
            json={"model": os.environ["BW_MODEL_MODEL"], "messages": [{"role": "user", "content": input}]},
            timeout=60,
        )
        reply.raise_for_status()
        return reply.json()["choices"][0]["message"]["content"]

    def score(self, index, output, expected):
        return 1.0 if output == expected else 0.0
"""
STREAMED = """
import json, os, requests
from bench_task import BenchTask

class Task(BenchTask):
    def solve(self, index, input):
        reply = requests.post(
            f"{os.environ['BW_MODEL_PROXY_URL']}/v1/chat/completions",
            headers={"Authorization": f"Bearer {os.environ['BW_MODEL_PROXY_KEY']}"},
            json={"model": os.environ["BW_MODEL_MODEL"], "messages": [{"role": "user", "content": input}],
                  "stream": True},
            timeout=60, stream=True,
        )
        reply.raise_for_status()
        said, ended = "", False
        for line in reply.iter_lines():
            if line == b"data: [DONE]":
                ended = True
            elif line.startswith(b"data: "):
                for choice in json.loads(line[6:])["choices"]:
                    said += choice["delta"].get("content") or ""
        if not ended:
            raise ConnectionError("the stream broke off")
        return said

    def score(self, index, output, expected):
        return 1.0 if output == expected else 0.0
"""
SCORERS = {"plain": PLAIN, "streamed": STREAMED}


def question(batch: int, number: int) -> str:
    return f"{batch}: {number} + 1"


def is_known(number: int) -> bool:
    """Each fifth answer is wrong, so that a fault that became an answer, or the other way round, is seen."""
    return number % 5 != 0


class Twin:
    """The provider's side, in a thread: counts who asked what."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._twin = OpenAITwin()
        self._twin.always = self._answer
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.asked: Counter[str] = Counter()
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._twin.start(), self._loop).result(10)
        self.url = self._twin.url

    def _answer(self, seen: Seen) -> Fault:
        self._twin.requests.clear()
        text = str(seen.body["messages"][-1]["content"])
        self.asked[text] += 1
        number = int(text.split(": ")[1].split(" ")[0])
        trickle = 0.02 if seen.body.get("stream") else 0.0
        said = number + 1 if is_known(number) else -1
        return Fault(text=str(said), delay=self._random.uniform(0.05, 1.0), trickle=trickle)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._twin.stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@dataclass
class Launched:
    """One run of ours, and the events that a reader saw of it."""

    batch: int
    id: str
    rows: int
    trials: int
    seen: list[int] = field(default_factory=list)
    trouble: str = ""
    reader: threading.Thread | None = None


@dataclass
class Customer:
    """Launches one run after the other and reads along, undisturbed by a server that is away."""

    bw: Benchwright
    seed: int
    at_once: int
    runs: list[Launched] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def top_up(self) -> None:
        """Launch until ``at_once`` runs are followed."""
        while sum(run.reader is not None and run.reader.is_alive() for run in self.runs) < self.at_once:
            self.launch()

    def launch(self, size: int = 0, kind: str = "") -> Launched:
        """One run of ``size`` tasks (0: some) with the scorer ``kind`` (empty: any), and a reader of its events."""
        batch, draw = len(self.runs), self._random
        size, trials = size or draw.randrange(20, 120), 1 if size else draw.choice((1, 1, 2))
        rows = [{"task_id": f"q{n:04d}", "input": question(batch, n), "expected": str(n + 1)} for n in range(size)]
        key, bw = f"chaos-{self.seed}-{batch}", self.bw
        made = insist(lambda: bw.benchmarks.create(name=f"Sums {key}", idempotency_key=f"{key}-bench"))
        slugs = (f"all-{attempt}" for attempt in count())  # an answer that was lost may have taken the one before
        subset = insist(lambda: bw.benchmarks.subsets.create(made.id, slug=next(slugs), tasks=rows))
        kind = kind or draw.choice(sorted(SCORERS))
        impl = insist(
            lambda: bw.impls.create(subset=subset.id, label=kind, code=SCORERS[kind], idempotency_key=f"{key}-impl")
        )
        run = insist(
            lambda: bw.runs.launch(
                benchmark=made.id, subset=subset.id, impl=impl.id, sut={"model": "twin", "provider": "vllm"},
                trials=trials, concurrency=draw.choice((4, 8, 16)), idempotency_key=f"{key}-run",
            )
        )  # fmt: skip
        one = Launched(batch, run.id, size, trials)
        one.reader = threading.Thread(target=self._follow, args=[one], daemon=True)
        self.runs.append(one)
        one.reader.start()
        return one

    def _follow(self, run: Launched) -> None:
        """Through `web`'s deaths the reader hears each event once and in order."""
        try:
            for event in self.bw.runs.stream(run.id, patience=PATIENCE):
                run.seen.append(event.seq)
        except Exception as bad:  # told in the report
            run.trouble = f"{type(bad).__name__}: {bad}"[:300]

    def wait(self, seconds: float) -> None:
        """Until every run was read to its end, or time is up."""
        until = time.monotonic() + seconds
        for run in self.runs:
            if run.reader is not None:
                run.reader.join(max(0.0, until - time.monotonic()))


def insist(call: Callable[[], T]) -> T:
    """Ask again while the server is away or says that it can't just now. Raises what lasts longer than PATIENCE."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return call()
        except APIConnectionError:
            if time.monotonic() > until:
                raise
        except APIError as refusal:
            if not (refusal.status >= 500 or refusal.code == "idempotency_in_progress") or time.monotonic() > until:
                raise
        time.sleep(0.5)


def customer_of(server: Server, seed: int, at_once: int = 1) -> Customer:
    """An account of its own on this server. Raises RuntimeError."""
    name = f"chaos{seed}@example.org"
    for arguments in (("create_user", name), ("create_token", name, "--scopes", SCOPES)):
        said = manage(server.data, *arguments)
        if said.returncode:
            raise RuntimeError(said.stderr)
    bw = Benchwright(api_key=said.stdout.split()[-1], base_url=server.url, timeout=20)
    return Customer(bw, seed, at_once)
