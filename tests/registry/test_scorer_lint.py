"""What the lint finds in scorers, and what it leaves alone."""

import json
import re
from pathlib import Path

import pytest

from registry.graders import compile_grader
from registry.linting.lint import Facts, facts_of, lint
from registry.linting.rules import look
from tests.registry.scorer_corpus import BAD, GOOD, scorer
from tests.registry.scorers_right import RIGHT
from tests.registry.scorers_wrong import WRONG
from tests.sandbox import guide

GRADERS = [
    {"kind": "exact"}, {"kind": "exact", "extract": {"after": "Answer:"}}, {"kind": "contains", "need": "all"},
    {"kind": "regex"}, {"kind": "regex", "pattern": r"\d+"}, {"kind": "numeric"}, {"kind": "choice"},
    {"kind": "choice", "multiple": True, "partial": True}, {"kind": "tool_calls"},
    {"kind": "tool_calls", "mode": "json_schema", "order": "same"},
]  # fmt: skip

ROOT = Path(__file__).parents[2]


def found(code: str, facts: Facts | None = None) -> set[tuple[str, str]]:
    return {(one["code"], one["level"]) for one in lint(code, facts)}


@pytest.mark.parametrize("name", GOOD)
def test_it_leaves_good_scorers_alone(name: str) -> None:
    assert look(GOOD[name], vars(Facts(options=10))) == []


@pytest.mark.parametrize("name", BAD)
def test_it_finds_what_is_bad(name: str) -> None:
    code, facts, wanted = BAD[name]
    assert found(code, Facts(**facts)) == wanted  # type: ignore[arg-type]


@pytest.mark.parametrize("name", RIGHT)
def test_it_leaves_right_scorers_of_many_hands_alone(name: str) -> None:
    code, facts = RIGHT[name]
    assert look(code, vars(Facts(**facts))) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("name", WRONG)
def test_it_names_what_is_wrong(name: str) -> None:
    code, facts, wanted = WRONG[name]
    told = look(code, vars(Facts(**facts)))  # type: ignore[arg-type]
    assert {(one.code, one.level) for one in told} == wanted
    for one in told:
        assert "bench_task" in one.hint or one.code == "error_passes"


@pytest.mark.parametrize("grader", GRADERS, ids=json.dumps)
def test_it_finds_nothing_in_what_we_compile(grader: dict[str, object]) -> None:
    assert lint(compile_grader(grader), Facts(options=10)) == []


def test_j07_it_only_warns_of_the_guides_own_scorers() -> None:
    assert found(guide.TOOL_CALLS, Facts(options=5)) == set()
    warned = lint(guide.GAUNTLET, Facts(options=5))
    assert {one["level"] for one in warned} == {"warning"}
    assert {one["code"] for one in warned} == {"first_match", "error_is_zero", "exit_code_score"}
    for one in warned:
        assert one["words"].endswith(".")
        assert one["hint"]
    lines = guide.GAUNTLET.splitlines()
    (status,) = [one for one in warned if one["code"] == "exit_code_score"]
    assert "subprocess.run" in lines[status["line"] - 1]


def test_it_has_a_bad_scorer_for_every_rule() -> None:
    known = {code for _, _, wanted in [*BAD.values(), *WRONG.values()] for code, _ in wanted}
    assert known == {
        "constant_score", "expected_ignored", "output_ignored", "error_is_zero", "error_passes", "first_match",
        "letter_range", "check_never_called", "exit_code_score", "network_in_score", "chance_in_score",
        "clock_in_score", "expected_in_solve", "answer_in_input", "index_as_task", "answer_anywhere", "part_of_answer",
        "runs_output", "case_lost", "letter_case", "float_equal",
        "word_sets",
    }  # fmt: skip


@pytest.mark.parametrize(
    "path", sorted(["README.md", *(str(one.relative_to(ROOT)) for one in (ROOT / "docs").rglob("*.md"))])
)
def test_it_leaves_the_scorers_of_the_documentation_alone(path: str) -> None:
    for code in re.findall(r"```python\n(.*?)```", (ROOT / path).read_text(), re.DOTALL):
        if "def score(" in code:
            for facts in (Facts(answers="letter", options=10), Facts(answers="number"), Facts(answers="text")):
                assert lint(code, facts) == []


def test_the_letters_depend_on_the_choices() -> None:
    code = BAD["four letters of ten"][0]
    assert found(code, Facts(options=4)) == found(code, Facts(options=0)) == set()
    assert found(code, Facts(options=5)) == {("letter_range", "error")}


def test_it_does_not_ask_for_an_answer_where_rows_have_none() -> None:
    code = scorer("return float(len(output) > 10)")
    assert found(code, Facts(expected=False)) == set()


def test_it_reads_facts_from_rows() -> None:
    rows = [{"input": {"choices": ["a", "b"]}, "expected": "A"}, {"input": {"options": {"A": 1, "B": 2, "C": 3}}}]
    assert facts_of(rows) == Facts(3, True, False)
    assert facts_of([{"input": {"choices": {"text": ["x"] * 4, "label": ["A"]}}}]) == Facts(4, False, False)
    assert facts_of([]) == Facts(0, True, False)
    tests = {"input": "", "expected": {"test": "def check(candidate):\n    assert candidate(1) == 2\n"}}
    assert facts_of([tests]).defines_check
    assert not facts_of([{"input": "", "expected": {"test": tests["expected"]["test"] + "check(f)"}}]).defines_check


@pytest.mark.parametrize(
    "code", ["(" * 5000, "x = 1 +", "\0", "class Task(Task): pass", "x" * 100_000, "a." * 20_000 + "b"]
)
def test_it_survives_odd_texts(code: str) -> None:
    assert isinstance(lint(code), list)


def test_it_tells_them_where_a_scorer_is_registered(author) -> None:
    sub = author.subset(author.benchmark()["id"])
    made = author.impl(sub["id"], code=BAD["the answer is not looked at"][0])
    assert [one["code"] for one in made["warnings"]] == ["expected_ignored"]
    assert made["warnings"][0]["line"] == 14
    assert author.client.get(f"impls/{made['id']}").json["warnings"] == made["warnings"]
    assert all("warnings" not in one for one in author.client.get(f"impls?subset={sub['id']}").json["data"])
    assert "warnings" not in author.impl(sub["id"], code=GOOD["equal"])
    graded = author.client.post("impls", {"subset": sub["id"], "grader": {"kind": "exact"}})
    assert "warnings" not in graded.json


def test_it_counts_the_choices_of_the_subset(author) -> None:
    rows = [
        {"task_id": f"t{at}", "input": {"q": "?", "choices": list("abcdefghij")}, "expected": "A"} for at in range(3)
    ]
    sub = author.subset(author.benchmark()["id"], tasks=rows)
    made = author.impl(sub["id"], code=BAD["four letters of ten"][0])
    assert [(one["code"], one["level"]) for one in made["warnings"]] == [("letter_range", "error")]
