"""The graders of the catalogue on real rows: every right answer scores 1, and nothing empty is rewarded."""

import json
from typing import Any

import pytest

from registry import catalog
from registry.catalog.mapping import to_task
from registry.catalog.preparing import LAYOUTS
from runs.selftest.panel import DUMMIES
from tests.factories import wheels
from tests.runs.selftest.conftest import by_grader, named

pytestmark = pytest.mark.long

# (entry, part, rows, rows on which a text that calls nothing is right)
CASES = [
    ("bfcl-v4", "simple_python", 400, 0),
    ("bfcl-v4", "parallel", 200, 0),
    ("bfcl-v4", "multiple", 200, 0),
    ("bfcl-v4", "parallel_multiple", 200, 0),
    ("bfcl-v4", "simple_java", 100, 0),
    ("bfcl-v4", "simple_javascript", 50, 0),
    ("bfcl-v4", "live_simple", 258, 0),
    ("bfcl-v4", "live_multiple", 1053, 0),
    ("bfcl-v4", "live_parallel", 16, 0),
    ("bfcl-v4", "live_parallel_multiple", 24, 0),
    ("bfcl-v4", "irrelevance", 240, 100),
    ("gsm8k", None, 100, 0),
    ("truthfulqa", None, 100, 0),
    ("hellaswag", None, 100, 0),
    ("mmlu", None, 281, 0),
    ("humaneval", None, 30, 0),  # the first ones: each is a program to run
]


def rows_of(slug: str, part: str | None) -> list[dict[str, Any]]:
    entry = catalog.get(slug)
    (locator,) = [one for one in entry.locators_of(part) if one["source"] == "package"]
    at = (locator["package"], locator["version"])
    if "layout" in locator:
        rows = list(LAYOUTS[locator["layout"]](json.loads(wheels.member(*at, locator["path"]))))
    else:
        rows = wheels.lines(*at, locator["path"])
    if "answers_path" in locator:
        answers = {row["id"]: row for row in wheels.lines(*at, locator["answers_path"])}
        rows = [{**row, **answers[row["id"]]} for row in rows]
    return [to_task(locator["fields"], row, f"row_{at}") for at, row in enumerate(rows)]


@pytest.mark.parametrize(("slug", "part", "count", "exempt"), CASES, ids=lambda value: str(value))
async def test_j08_every_right_answer_of_real_rows_scores_one_and_no_empty_one(proved, slug, part, count, exempt):
    entry = catalog.get(slug)
    rows = rows_of(slug, part)
    rows = rows[:count] if entry.kind == "code" else rows
    assert len(rows) == count
    verdict = await proved(by_grader(entry.grader_of(part), rows, chance=entry.chance), seconds=600)
    checks = named(verdict)
    assert checks["gold"]["figures"] == {"derived": count, "passed": count, "rows": count}, checks["gold"]
    assert verdict["badge"] == "proven", verdict["checks"]
    for dummy in DUMMIES:
        told = checks["null_panel"]["figures"][dummy.name]
        assert told["passed"] <= told["at_most"]
        if not dummy.may_guess:
            assert told["passed"] <= exempt
    assert checks["shuffled"]["ok"]
    assert "answer_key" not in checks
