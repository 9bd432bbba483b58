"""Programs that try to pass by force (``hacks/*.txt``): each scores 0.0, says why, and touches no other row."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from registry.graders import compile_grader, judging, validate_grader
from runs.compute.base import RolesSpec
from runs.compute.local import LocalCompute
from tests.sandbox.conftest import Open

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parent / "hacks"
HACKS = sorted(FOLDER.glob("*.txt"))
TESTS = "canary = 'canary-of-the-tests'\nassert foo(1) == 2\nassert foo(5) == 6\nassert foo(-1) == 0\n"
EXPECTED = {"tests": {"test_code": TESTS}, "entry_point": "foo", "prompt": ""}
RIGHT, WRONG = "def foo(x):\n    return x + 1", "def foo(x):\n    return x + 2"
GRADER = {"kind": "code", "seconds": 2}
SHARES = 6


def spec() -> RolesSpec:
    how = judging(validate_grader(GRADER))
    return RolesSpec(
        "run", compile_grader(GRADER), isolation="task", model="m", concurrency=2, memory_mb=1024 + how.memory_mb,
        score_seconds=how.seconds,
    )  # fmt: skip


def fenced(program: str) -> str:
    return f"```python\n{program}\n```"


def test_there_are_many() -> None:
    assert len(HACKS) >= 25


@pytest.mark.parametrize("share", range(SHARES))
async def test_j02_no_program_passes_by_force_or_touches_its_neighbours(share: int) -> None:
    hacks = HACKS[share::SHARES]
    pairs: list[tuple[Any, Any]] = [(fenced(RIGHT), EXPECTED)]
    for hack in hacks:
        pairs += [(fenced(hack.read_text(encoding="utf-8")), EXPECTED), (fenced(RIGHT), EXPECTED)]
    roles = await LocalCompute().open(spec())
    try:
        opened = Open(roles)
        told = await opened.score(*pairs, (fenced(WRONG), EXPECTED), seconds=120)
        assert opened.deaths.empty()
    finally:
        await roles.close()
    verdicts = dict(zip([hack.stem for hack in hacks], told[1:-1:2], strict=True))
    amiss = {name: one for name, one in verdicts.items() if one["op"] != "scored" or one["score"] != 0.0}
    assert not amiss
    assert all(one["explanation"] for one in verdicts.values())
    assert [one.get("score") for one in told[::2]] == [1.0] * (len(hacks) + 1)
    assert told[-1]["score"] == 0.0
    await asyncio.sleep(0)
