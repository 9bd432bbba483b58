"""Compiled graders where they really run: in the three roles."""

import json
from typing import Any

import pytest

from registry.graders import GRADER_SECONDS, compile_grader
from runs.compute.base import RolesSpec
from runs.compute.local import LocalCompute
from tests.sandbox.conftest import Open

CASES: list[tuple[dict[str, Any], Any, Any, Any]] = [
    ({"kind": "exact"}, "Capital of France?", "Paris", "paris."),
    ({"kind": "contains"}, "Capital of France?", "Paris", "It is Paris."),
    ({"kind": "regex"}, "Version?", r"v\d+", "v12"),
    ({"kind": "numeric"}, "6 * 7?", 42, "The answer is 42."),
    ({"kind": "choice"}, {"question": "Which?", "choices": ["x", "y"]}, "B", "(B)"),
    ({"kind": "tool_calls"}, {"question": "Go", "functions": [{"name": "f"}]}, [{"f": {"x": [1]}}],
     '[{"name": "f", "args": {"x": 1}}]'),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0]["kind"])
async def test_it_extracts_and_scores_in_the_sandbox(case: tuple[dict[str, Any], Any, Any, Any]) -> None:
    grader, question, expected, right = case
    spec = RolesSpec("run", compile_grader(grader), trusted=True, isolation="batch", model="m", concurrency=2)
    roles = await LocalCompute().open(spec)
    try:
        opened = Open(roles)
        rows = [{"task_id": f"t{at}", "input": question, "expected": expected} for at in range(3)]
        items = await opened.extract(*rows)
        assert [item["task_id"] for item in items] == ["t0", "t1", "t2"]
        told = await opened.score((right, items[0]["expected"]), ("", items[1]["expected"]))
        assert [one["score"] for one in told] == [1.0, 0.0]
        assert told[1]["metrics"]["class"] == "no_answer"
        json.dumps(told)
    finally:
        await roles.close()


@pytest.mark.parametrize("pattern", ["(a|a)*b", "(a|aa)+$"])
async def test_a_pattern_that_runs_wild_costs_its_own_cell(pattern: str) -> None:
    code = compile_grader({"kind": "regex"})
    spec = RolesSpec("run", code, trusted=True, model="m", concurrency=2, score_seconds=GRADER_SECONDS)
    roles = await LocalCompute().open(spec)
    try:
        rows = [("aab", "a+b"), ("a" * 60 + "!", pattern), ("aab", "a+b"), ("x", "a+b")]
        told = await Open(roles).score(*rows)
    finally:
        await roles.close()
    assert [one["score"] for one in (told[0], *told[2:])] == [1.0, 1.0, 0.0]
    assert (told[1]["op"], told[1]["error"]["class"]) == ("unscored", "scorer_timeout")


async def test_an_output_of_millions_of_characters_is_read_whole() -> None:
    code = compile_grader({"kind": "contains"})
    spec = RolesSpec("run", code, trusted=True, model="m", concurrency=2, score_seconds=GRADER_SECONDS)
    roles = await LocalCompute().open(spec)
    try:
        told = await Open(roles).score(("yes " + "x" * 5_000_000, "yes"), ("x" * 5_000_000, "yes"))
    finally:
        await roles.close()
    assert [one["score"] for one in told] == [1.0, 0.0]


async def test_calls_that_are_too_long_to_be_read_are_not_called_wrong() -> None:
    code = compile_grader({"kind": "tool_calls"})
    spec = RolesSpec("run", code, trusted=True, model="m", concurrency=2, score_seconds=GRADER_SECONDS)
    roles = await LocalCompute().open(spec)
    try:
        (told,) = await Open(roles).score((f"[f(x='{'y' * 300_000}')]", [{"f": {"x": ["y"]}}]))
    finally:
        await roles.close()
    assert (told["op"], told["error"]["class"]) == ("unscored", "scorer_exception")
    assert "read up to 200,000 characters" in told["error"]["message"]
