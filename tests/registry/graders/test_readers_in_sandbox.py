"""The readers where scorers use them: in the score sandbox, without tripping what guards a batch."""

from runs.compute.base import RolesSpec
from runs.compute.local import LocalCompute
from tests.sandbox.conftest import Open

CODE = """
import os
from bench_task import (
    BenchTask, read_calls, read_choice, read_choices, read_code, read_json, read_number, same_calls,
    same_number, verdict,
)

class Task(BenchTask):
    def solve(self, index, input):
        return read_choice("(B)", 10)

    def score(self, index, output, expected):
        got = read_choice(output, 10)
        read_choices(output, 10), read_json(output), read_code(output), read_calls("f(x=1)")
        assert same_number(read_number("so 3/4"), 0.75) and read_number("1,5", ",") == 1.5
        assert same_calls(read_calls('{"name": "f"}'), [{"f": {}}])
        told = verdict(output, got, got == expected)
        return {**told, "metrics": {**told["metrics"], "judge": os.getpid()}}
"""


async def test_it_reads_in_a_batch_and_is_never_caught() -> None:
    """A caught row is judged in a child of its own: all rows of a batch share one."""
    roles = await LocalCompute().open(RolesSpec("run", CODE, model="m", concurrency=2))
    try:
        opened = Open(roles)
        (solved,) = await opened.solve("x")
        rows = [(f"A good question. Answer: {letter}", letter) for letter in "ABCDEFGHIJ"] * 20
        told = await opened.score(*rows, ("<think>A", "A"))
    finally:
        await roles.close()
    assert solved["output"] == "B"
    assert [one["score"] for one in told] == [1.0] * 200 + [0.0]
    assert len({one["metrics"]["judge"] for one in told}) == 1
    assert told[-1]["metrics"]["class"] == "no_answer"


CHECKS = """
from bench_task import BenchTask, check_code, read_number, verdict

class Task(BenchTask):
    def solve(self, index, input):
        return input

    def score(self, index, output, expected):
        if expected["kind"] == "code":
            return check_code(output, expected["test_code"], seconds=2)
        got = read_number(output)
        return verdict(output, got, got == expected["value"])
"""
ADD = "```python\ndef add(a, b):\n    return a + b\n```"
CODE_TASK = {"kind": "code", "test_code": "assert add(1, 2) == 3"}


async def test_a_scorer_of_many_kinds_runs_programs_apart() -> None:
    """What the guide's scorer does with a subprocess, without what a program could do there."""
    roles = await LocalCompute().open(RolesSpec("run", CHECKS, model="m", concurrency=2))
    try:
        told = await Open(roles).score(
            ("so 4", {"kind": "math", "value": 4}),
            (ADD, CODE_TASK),
            ("```python\nimport os\nos._exit(0)\n```", CODE_TASK),
            ("so 4", {"kind": "math", "value": 4}),
            ("", CODE_TASK),
            (ADD, CODE_TASK),
            (ADD, {**CODE_TASK, "test_code": ""}),
        )
    finally:
        await roles.close()
    assert [one.get("score") for one in told] == [1.0, 1.0, 0.0, 1.0, 0.0, 1.0, None]
    assert "ended before the tests were through" in told[2]["explanation"]
    assert told[6]["error"]["class"] == "scorer_exception"
