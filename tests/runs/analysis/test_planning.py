"""Checks, chance and estimates of tasks; edits over what was recognised."""

from typing import Any

import pytest

from registry import graders
from runs.analysis import checks, edits, estimating, grading
from runs.analysis.making import Made, Place, make
from runs.analysis.planning import Analysed, Held, Known, analyse
from tests.runs.analysis import shapes

OPENAI = {"provider": "openai", "model": "gpt-4o-mini-2024-07-18"}


def analysed(rows: list[dict[str, Any]], **said: Any) -> Analysed:
    return analyse([Held(rows, "row")], Known(), edits.read(said), hints=[], licence="mit", facts={})


def codes(found: list[dict[str, Any]]) -> dict[str, int | None]:
    return {risk["code"]: risk.get("count") for risk in found}


# -- checks ------------------------------------------------------------------------------------------------------------
def choice(at: int, expected: Any, question: str = "", choices: Any = None) -> dict[str, Any]:
    told = {"question": question or f"q{at}", "choices": choices or ["p", "q"]}
    return {"task_id": f"t{at}", "input": told, "expected": expected}


def test_clean_rows_have_no_risks() -> None:
    tasks = [choice(at, at % 2) for at in range(30)]
    assert checks.risks(Made(tasks), "multiple_choice", "Apache-2.0", {"split": "test"}) == []


@pytest.mark.parametrize(
    ("tasks", "kind", "code", "count"),
    [
        ([choice(0, 0), choice(0, 0), choice(1, 1)], "multiple_choice", "duplicate_rows", 1),
        ([choice(0, 0), choice(0, 1)], "multiple_choice", "conflicting_labels", 2),
        ([choice(0, 0, choices=["p", " p"])], "multiple_choice", "duplicate_choices", 1),
        ([choice(at, int(at < 5)) for at in range(30)], "multiple_choice", "uneven_labels", 25),
        ([choice(0, "B", question="The answer is (B).")], "multiple_choice", "answer_in_question", 1),
        ([choice(0, "x" * 70_000, question="y" * 70_000)], "free_text", "long_inputs", 1),
        ([{"task_id": "t", "input": "Is Paris nice?", "expected": "Paris"}], "free_text", "answer_in_question", 1),
    ],
)
def test_it_sees(tasks: list[dict[str, Any]], kind: str, code: str, count: int) -> None:
    assert codes(checks.risks(Made(tasks), kind, "MIT", {})) == {code: count}


def test_a_text_to_look_the_answer_up_in_is_no_leak() -> None:
    task = {"task_id": "t", "input": {"context": "It was Paris.", "question": "Where?"}, "expected": "Paris"}
    assert checks.risks(Made([task]), "free_text", "MIT", {}) == []


@pytest.mark.parametrize(
    ("licence", "code"),
    [
        ("", "licence_unknown"), ("other", "licence_unknown"), ("not stated", "licence_unknown"), ("MIT", None),
        ("cc-by-4.0", None), ("cc-by-sa-4.0", None), ("apache-2.0", None), ("CC0-1.0", None),
        ("cc-by-nc-4.0", "licence_restricted"), ("llama3", "licence_restricted"),
    ],
)  # fmt: skip
def test_it_reads_licences(licence: str, code: str | None) -> None:
    assert list(codes(checks.risks(Made([]), "math", licence, {}))) == ([code] if code else [])


def test_it_tells_what_the_place_is() -> None:
    facts = {"split": "train", "left_out": ["image"], "was": {"sha256": "x"}}
    found = codes(checks.risks(Made([]), "math", "MIT", facts))
    assert list(found) == ["train_split", "columns_left_out", "rows_changed"]


# -- making ------------------------------------------------------------------------------------------------------------
def test_ids_that_come_twice_get_a_number_and_control_signs_go() -> None:
    rows = [
        {"id": name, "q": f"q{at}", "a": "x"} for at, name in enumerate(["A", "a", "b\nb", "A", "", "é", "e\u0301"])
    ]
    fields = {"task_id": "id", "input": "q", "expected": "a"}
    made = make([Place(rows, fields, {}, "row", "free_text")], None)
    assert [task["task_id"] for task in made.tasks] == ["A", "a-2", "b b", "A-3", "row-00004", "é", "e\u0301-2"]
    assert made.renamed == 3
    assert made.tasks[0] == {"task_id": "A", "kind": "free_text", "input": "q0", "expected": "x"}


def test_rows_of_several_places_are_told_apart() -> None:
    fields = {"input": "q", "expected": "a"}
    rows = [{"q": "1", "a": "x", "lang": "de"}, {"q": "2", "a": "y", "lang": "fr"}]
    made = make([Place(rows, fields, {"lang": name}, name, name) for name in ("de", "fr")], None)
    assert [(task["task_id"], task["kind"]) for task in made.tasks] == [("de-00000", "de"), ("fr-00001", "fr")]
    assert made.left_out == {}  # rows that are not asked for are not left out


def test_rows_that_could_never_pass_are_left_out_by_their_grader() -> None:
    grader = graders.validate_grader({"kind": "numeric"})
    rows = [{"q": "1?", "a": "4"}, {"q": "2?", "a": "many"}]
    made = make([Place(rows, {"input": "q", "expected": "a"}, {}, "row", "math")], grader)
    assert len(made.tasks) == 1
    assert made.left_out == {"expected must be a number, or a text that holds one": 1}
    assert made.examples == {"expected must be a number, or a text that holds one": ["row-00001"]}


# -- chance and metric -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rows", "labels", "chance"),
    [
        (shapes.MMLU, {}, 0.25), (shapes.WINOGRANDE, {}, 0.5), (shapes.MMLU_PRO, {}, 0.1), (shapes.ARC, {}, 0.25),
        (shapes.MEDQA, {}, 0.25), (shapes.BBH_LETTERS, {}, 0.3333), (shapes.SEVERAL, {}, 0.0625),
        (shapes.GSM8K, {}, 0.0),
        (shapes.BFCL, {}, None), (shapes.BOOLQ, {}, 0.5), (shapes.AG_NEWS, {"label": ["a", "b", "c", "d"]}, 0.25),
    ],
)  # fmt: skip
def test_it_knows_the_score_of_guessing(rows: list[dict[str, Any]], labels: Any, chance: float | None) -> None:
    held = [Held(rows, "row", labels=labels)]
    assert analyse(held, Known(), edits.read({}), hints=[], licence="mit", facts={}).chance == chance


def test_choices_of_different_numbers_are_averaged() -> None:
    tasks = [choice(0, 0), choice(1, 0, choices=["a", "b", "c", "d"])]
    assert grading.chance("multiple_choice", {"kind": "choice"}, tasks) == 0.375


def test_metrics_and_words() -> None:
    assert grading.metric("code", {"kind": "code"}) == "pass@1"
    assert grading.metric("function_call", {"kind": "tool_calls", "partial": True}) == "mean score"
    assert grading.in_words(None).startswith("No grader fits")
    assert all(grading.in_words({"kind": kind}) != "" for kind in ("choice", "numeric", "exact", "judge"))


# -- estimates ---------------------------------------------------------------------------------------------------------
def estimate(
    tasks: list[dict[str, Any]], sut: dict[str, Any], kind: str = "math", grader: Any = None
) -> dict[str, Any]:
    size = len(tasks)
    return estimating.estimate(tasks, kind, grader, sut, planned=size, cells=size * 2, concurrency=10)


def test_it_guesses_tokens_cost_and_time() -> None:
    tasks = [{"input": "x" * 3958, "expected": "1"} for _ in range(100)]  # 3960 bytes as JSON, and 40 around it
    found = estimate(tasks, OPENAI)
    assert found["tokens"] == 200 * (1000 + 300)
    dollars = (200_000 * 0.15 + 60_000 * 0.60) / 1_000_000
    assert found["cost_micro_cents"] == round(dollars * 100_000_000)
    assert found["seconds"] == round(200 * (0.6 + 5) / 10, 1)
    assert "A guess: 200 calls of 1000 tokens in" in found["basis"]


def test_it_says_where_a_price_is_not_known() -> None:
    tasks = [{"input": "x", "expected": "1"}]
    assert estimate(tasks, {"provider": "vllm", "model": "own"})["cost_micro_cents"] in (0, None)
    unknown = estimate(tasks, {"provider": "openai", "model": "no-such-model"})
    assert unknown["cost_micro_cents"] is None
    assert "price is not known" in unknown["basis"]
    assert estimate(tasks, {})["cost_micro_cents"] is None
    agreed = {**OPENAI, "model": "x", "prices": {"x": {"input": 100, "output": 0, "cached_input": 0}}}
    assert estimate(tasks, agreed)["cost_micro_cents"] is not None


def test_limits_and_thinking_change_the_guess() -> None:
    tasks = [{"input": "x", "expected": "1"}]
    short = estimate(tasks, OPENAI, "free_text", {"kind": "contains", "model": {"max_tokens": 8}})
    long = estimate(tasks, OPENAI, "free_text", {"kind": "contains", "prompt": {"template": "Think step by step."}})
    assert short["tokens"] < estimate(tasks, OPENAI, "free_text")["tokens"] < long["tokens"]


# -- edits -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "said",
    [
        {"limit": True}, {"limit": 1.5}, {"limit": "5"}, {"part": " "}, {"kind": "x"}, {"fields": []}, {"grader": {}},
        {"fields": {"colour": "x"}}, {"fields": {"prepare": "magic"}}, {"fields": {"input": 3}},
        {"fields": {"choices": [1]}},
        {"fields": {"expected": ["x"]}}, {"fields": {"json": "x"}}, {"fields": {"input": {"a": 1}}}, {"other": 1},
    ],
)  # fmt: skip
def test_edits_that_can_not_be_used_are_named(said: dict[str, Any]) -> None:
    (fault,) = edits.read(said).faults
    assert fault["loc"] == ["edits", next(iter(said))]


def test_a_grader_is_edited_by_member_and_another_kind_begins_anew() -> None:
    found = analysed(shapes.GSM8K, grader={"relative": 0.01})
    assert found.grader is not None
    assert (found.grader["kind"], found.grader["relative"]) == ("numeric", 0.01)
    assert "####" in found.grader["prompt"]["template"]
    other = analysed(shapes.GSM8K, grader={"kind": "contains"})
    assert other.grader is not None
    assert other.grader["prompt"] == {}
    broken = analysed(shapes.GSM8K, grader={"kind": "numeric", "absolute": -1})
    assert [fault["loc"] for fault in broken.faults] == [["edits", "grader", "absolute"]]
    assert broken.grader is not None
    assert broken.grader["absolute"] == 1e-6


def test_edited_columns_bring_the_grader_that_fits_them() -> None:
    rows = [{**row, "letter": "ABCD"[at % 4]} for at, row in enumerate(shapes.RACE)]
    found = analysed(rows, fields={"expected": "letter"})
    assert found.fields["expected"] == "letter"
    assert len(found.made.tasks) == 40
    assert analysed(rows, kind="free_text").kind == "free_text"
