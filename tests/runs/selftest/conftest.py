"""Scorers to be proved, in the real sandbox."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from registry.graders import check_rows, compile_grader, validate_grader
from runs.compute.local import LocalCompute
from runs.selftest.prove import Subject, Verdict, prove

Rows = Sequence[dict[str, Any]]
Prover = Callable[..., Awaitable[Verdict]]


def numbers(count: int = 30) -> list[dict[str, Any]]:
    return [{"task_id": f"t{at}", "input": {"question": f"What is {at} + 100?"}, "expected": str(at + 100)}
            for at in range(count)]  # fmt: skip


def choices(count: int = 40, options: int = 4) -> list[dict[str, Any]]:
    return [
        {
            "task_id": f"t{at}",
            "input": {"question": f"Which is number {at}?", "choices": [f"thing {at}-{n}" for n in range(options)]},
            "expected": "ABCDEFGHIJ"[(at * 7 + at // 5) % options],
        }
        for at in range(count)
    ]


def texts(count: int = 24) -> list[dict[str, Any]]:
    return [{"task_id": f"t{at}", "input": {"question": f"Who lives at {at}?"}, "expected": f"Anna the {at}th of Rome"}
            for at in range(count)]  # fmt: skip


def by_grader(grader: dict[str, Any], rows: Rows, **fields: Any) -> Subject:
    full = validate_grader(grader)
    check_rows(full, rows)
    return Subject(compile_grader(grader), full, _texts(rows), fields.pop("of", len(rows)), **fields)


def by_code(code: str, rows: Rows, **fields: Any) -> Subject:
    return Subject(code, None, _texts(rows), fields.pop("of", len(rows)), **fields)


def _texts(rows: Rows) -> list[tuple[str, str]]:
    return [(row["task_id"], json.dumps(row)) for row in rows]


def named(verdict: Verdict) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in verdict["checks"]}


@pytest.fixture
def proved() -> Prover:
    """``await proved(subject)`` -> its verdict."""

    async def run(subject: Subject, seconds: float = 60.0) -> Verdict:
        return await prove(subject, LocalCompute(), seconds)

    return run
