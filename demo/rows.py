"""Real rows: BFCL v4 "simple_python", from the data files of the bfcl-eval package (Apache-2.0)."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CATEGORY = "simple_python"
GRADER: dict[str, Any] = {"kind": "tool_calls", "mode": "json_schema"}

# Where the package is not installed: sums written here, so that the wiring still has something to carry.
MADE_UP = [(a, b) for a in (7, 12, 19, 23) for b in (5, 8, 31, 44)]
MADE_UP_GRADER: dict[str, Any] = {"kind": "numeric"}


def folder() -> Path | None:
    found = find_spec("bfcl_eval")
    if found is None or not found.submodule_search_locations:
        return None
    data = Path(found.submodule_search_locations[0]) / "data"
    return data if (data / f"BFCL_v4_{CATEGORY}.json").is_file() else None


def _lines(path: Path, count: int) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as handle:
        return [json.loads(line) for _, line in zip(range(count), handle, strict=False)]


def real(data: Path, count: int) -> list[dict[str, Any]]:
    """The first ``count`` rows as tasks: the question, the one function, and the acceptable calls."""
    name = f"BFCL_v4_{CATEGORY}.json"
    answers = {row["id"]: row["ground_truth"] for row in _lines(data / "possible_answer" / name, count)}
    return [
        {
            "task_id": row["id"],
            "input": {"messages": row["question"][0], "functions": row["function"], "kind": CATEGORY},
            "expected": answers[row["id"]],
        }
        for row in _lines(data / name, count)
    ]


def made_up(count: int) -> list[dict[str, Any]]:
    sums = MADE_UP[:count]
    return [
        {
            "task_id": f"sum_{a}_{b}",
            "input": {"question": f"What is {a} + {b}? Give the number."},
            "expected": a + b,
        }
        for a, b in sums
    ]
