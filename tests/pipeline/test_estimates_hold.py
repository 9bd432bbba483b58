"""How often what a run takes and costs lies in the range that its first cells gave: real runs against a provider."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from accounts.models import User
from runs.models import Phase, Run
from tests.factories import planned
from tests.factories.processes import GatewayProcess, Model
from tests.twins.openai_twin import Fault

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
PRICES = {"*": {"input": 100_000_000, "output": 400_000_000, "cached_input": 100_000_000}}
FOUND = {"find": {}, "analyze": {"kind": "math", "chance": 0.0, "grader": {"kind": "numeric"}}}
Latency = Callable[[random.Random], float]


def steady(seconds: float) -> Latency:
    return lambda chance: seconds


def skewed(median: float, deviation: float) -> Latency:
    """Lognormal."""
    return lambda chance: median * chance.lognormvariate(0, deviation)


def heavy(least: float, tail: float) -> Latency:
    """Pareto, up to 20 seconds; of infinite variance where ``tail`` is 2 or less."""
    return lambda chance: min(least * chance.paretovariate(tail), 20.0)


def queue(places: int, seconds: float) -> Latency:
    """A provider that answers so many calls at once and lets the others wait."""
    free = [0.0] * places

    def delay(chance: random.Random) -> float:
        now = time.monotonic()
        at = min(range(places), key=free.__getitem__)
        free[at] = max(now, free[at]) + seconds * chance.lognormvariate(0, 0.3)
        return free[at] - now

    return delay


@dataclass(frozen=True)
class Shape:
    """A run of ``rows`` tasks, ``at_once``; ``tokens``: deviation of the logarithm of an answer's tokens."""

    rows: int
    at_once: int
    latency: Callable[[], Latency]
    tokens: float = 0.5
    broken: float = 0.0  # share of calls that are answered with 500
    most: int = 1000  # calls at once, beyond which there is 429
    trials: int = 1


SHAPES = (
    Shape(60, 16, lambda: steady(0.3)),
    Shape(8, 16, lambda: steady(0.3)),
    Shape(5, 16, lambda: steady(0.3)),
    Shape(40, 4, lambda: steady(0.3)),
    Shape(15, 1, lambda: steady(0.3)),
    Shape(100, 16, lambda: skewed(0.4, 0.5)),
    Shape(100, 16, lambda: skewed(0.3, 1.0), tokens=1.0),
    Shape(60, 4, lambda: skewed(0.3, 1.0), tokens=1.0),
    Shape(12, 8, lambda: skewed(0.3, 1.0), tokens=1.0),
    Shape(100, 16, lambda: heavy(0.15, 1.5), tokens=1.0),
    Shape(60, 16, lambda: heavy(0.15, 1.2), tokens=1.2),
    Shape(25, 2, lambda: heavy(0.2, 2.0)),
    Shape(30, 16, lambda: queue(1, 0.25)),
    Shape(50, 16, lambda: queue(2, 0.25)),
    Shape(120, 32, lambda: queue(8, 0.3)),
    Shape(80, 16, lambda: skewed(0.25, 0.7), tokens=0.8),
    Shape(60, 16, lambda: skewed(0.3, 0.5), broken=0.1),
    Shape(60, 16, lambda: steady(0.3), most=4),
    Shape(20, 16, lambda: skewed(0.3, 0.5), trials=3),
    Shape(300, 16, lambda: steady(0.0)),
)


def test_nine_in_ten_runs_end_within_what_was_told(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    held = {"seconds": 0, "cost_micro_cents": 0}
    missed: list[Any] = []
    for seed in (11, 12):
        for shape in SHAPES:
            said, came = _ran(shape, random.Random(f"{seed} {SHAPES.index(shape)}"), alice, model, work)
            for name, value in came.items():
                low, high = said["range"][name]
                inside = low - 0.05 <= value <= high + 0.05
                held[name] += inside
                missed += [] if inside else [(name, shape, value, low, high)]
    share = {name: count / (2 * len(SHAPES)) for name, count in held.items()}
    print(share, *missed, sep="\n")
    assert share["seconds"] >= 0.8, missed
    assert share["cost_micro_cents"] >= 0.8, missed


def _ran(
    shape: Shape, chance: random.Random, owner: User, model: Model, work: Callable[..., Run]
) -> tuple[dict[str, Any], dict[str, float]]:
    """(the estimate, what it came to)."""
    latency, turn = shape.latency(), threading.Lock()

    def rule(question: str) -> Fault:
        with turn:
            tokens = max(1, int(40 * chance.lognormvariate(0, shape.tokens)))
            if chance.random() < shape.broken:
                return Fault(500)
            if model.twin.in_flight > shape.most:
                return Fault(429)
            usage = {"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": 100 + tokens}
            return Fault(text=str(int(question.split("+")[0]) + 1), delay=latency(chance), usage=usage)

    model.rule = rule
    sut = {"model": "twin-1", "provider": "vllm", "base_url": model.url, "params": {}, "connection": None}
    run = work(
        planned.run(
            owner, planned.sums(shape.rows), sut={**sut, "prices": PRICES}, plan=["atomize", "materialize", "report"],
            findings=FOUND, mode="request", request="Run my sums", impl=None, concurrency=shape.at_once,
            trials=shape.trials,
        )
    )  # fmt: skip
    assert run.status == "ok", run.error
    phase = Phase.objects.get(run=run, name="materialize")
    assert phase.started_at is not None
    assert phase.finished_at is not None
    took = (phase.finished_at - phase.started_at).total_seconds()
    return run.findings["materialize"]["estimate"], {"seconds": took, "cost_micro_cents": run.cost_model}
