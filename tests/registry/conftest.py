"""Benchmarks, subsets and scorers for the tests of the catalogue."""

from typing import Any

import pytest

SCORER = """
from bench_task import BenchTask

class Task(BenchTask):
    def solve(self, index, input):
        return input["question"]

    def score(self, index, output, expected):
        return 1.0 if output == expected else 0.0
""".strip()


def rows(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [
        {"task_id": f"t{index}", "input": {"question": f"What is {index}?"}, "expected": str(index)}
        for index in range(start, start + count)
    ]


class Author:
    """An API client that makes things of the catalogue in one call."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def benchmark(self, name: str = "BFCL v4 (my mirror)", **fields: Any) -> dict[str, Any]:
        made = self.client.post("benchmarks", {"name": name, **fields})
        assert made.status == 201, made.content
        return made.json

    def subset(self, benchmark: str, slug: str = "parallel", **fields: Any) -> dict[str, Any]:
        fields.setdefault("tasks", rows(3))
        made = self.client.post(f"benchmarks/{benchmark}/subsets", {"slug": slug, **fields})
        assert made.status == 201, made.content
        return made.json

    def impl(self, subset: str, code: str = SCORER, **fields: Any) -> dict[str, Any]:
        made = self.client.post("impls", {"subset": subset, "code": code, **fields})
        assert made.status == 201, made.content
        return made.json


@pytest.fixture
def author(api, alice) -> Author:
    return Author(api(alice))


@pytest.fixture
def stranger(api, bob) -> Author:
    return Author(api(bob))


@pytest.fixture
def make_rows():
    return rows


@pytest.fixture
def scorer() -> str:
    return SCORER


@pytest.fixture
def same_404():
    """Asserts that two answers are the same 404 but for what names the request."""

    def check(one: Any, other: Any) -> None:
        assert one.status == other.status == 404
        assert {**one.json, "request_id": "", "instance": ""} == {**other.json, "request_id": "", "instance": ""}

    return check
