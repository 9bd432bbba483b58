"""Tasks as their owners upload them, without a grader: which one is chosen, and when none is."""

from typing import Any

import pytest

from kernel import strict_json
from registry import graders
from registry.graders.compiling import kit
from runs.driver.rules.uploaded import Guessed, guess

LETTERS = "ABCDEFGHIJ"
TEN = [f"thing {at}" for at in range(10)]


def tasks(inputs: Any, expected: Any, count: int = 12) -> list[dict[str, Any]]:
    return [{"task_id": f"t{at}", "input": inputs(at), "expected": expected(at)} for at in range(count)]


def asked(guessed: Guessed, task: dict[str, Any]) -> str:
    """What the model reads of a task."""
    assert guessed.grader is not None
    return str(kit(guessed.grader)["messages_for"](task["input"])[-1]["content"])


def risks(guessed: Guessed) -> str:
    return " ".join(one["words"] for one in guessed.risks)


CAPITALS = tasks(lambda at: {"question": f"Capital of land {at}?"}, lambda at: f"City {chr(65 + at)}")
CHOSEN = tasks(lambda at: {"question": f"Which is {at}?", "choices": TEN}, lambda at: LETTERS[at % 10])


@pytest.mark.parametrize(
    ("rows", "kind", "grader", "told"),
    [
        (CAPITALS, "free_text", {"kind": "contains"}, ["Capital of land 0?"]),
        (tasks(lambda at: f"Capital of {at}?", lambda at: f"City {chr(65 + at)}"), "free_text", {"kind": "contains"},
         ["Capital of 0?\n\nAnswer in a few words."]),
        (tasks(lambda at: {"question": f"Capital {at}?"}, lambda at: {"answer": f"City {chr(65 + at)}", "by": "me"}),
         "free_text", {"kind": "contains", "expected_field": "answer"}, ["Capital 0?"]),
        (CHOSEN, "multiple_choice", {"kind": "choice", "answer": "letter"}, ["Which is 0?", "J. thing 9"]),
        (tasks(lambda at: {"stem": f"Which is {at}?", "options": TEN}, lambda at: at % 10), "multiple_choice",
         {"kind": "choice", "answer": "index", "choices_field": "options"}, ["Which is 0?", "A. thing 0"]),
        (tasks(lambda at: {"question": f"Which is {at}?", "options": TEN}, lambda at: str(at % 10)), "multiple_choice",
         {"kind": "choice", "answer": "index"}, ["J. thing 9"]),
        (tasks(lambda at: {"question": "Which?", "choices": TEN}, lambda at: TEN[at % 10]), "multiple_choice",
         {"kind": "choice", "answer": "text"}, ["A. thing 0"]),
        (tasks(lambda at: {"question": "Which two?", "choices": TEN}, lambda at: ["A", LETTERS[1 + at % 9]]),
         "multiple_choice", {"kind": "choice", "answer": "letter", "multiple": True}, ["J. thing 9"]),
        (tasks(lambda at: {"input": f"{at} + 1", "context": "sums"}, lambda at: at + 1), "math", {"kind": "numeric"},
         ["sums\n\n0 + 1\n\n"]),
        (tasks(lambda at: f"Is it good? {at}", lambda at: "good" if at % 2 else "bad", 24), "multiple_choice",
         {"kind": "exact"}, ["Answer with one of these only: bad, good"]),
        (tasks(lambda at: {"prompt": f"def f{at}():"}, lambda at: f"assert f{at}() == 1"), "code", {"kind": "code"},
         ["def f0():"]),
    ],
)  # fmt: skip
def test_it_chooses_a_grader_that_can_grade_each_task(
    rows: list[dict[str, Any]], kind: str, grader: dict[str, Any], told: list[str]
) -> None:
    found = guess(rows)
    assert found.grader is not None, found.risks
    assert (found.kind, {name: found.grader.get(name) for name in grader}) == (kind, grader)
    for words in told:
        assert words in asked(found, rows[0])
    assert "came without a grader" in risks(found)
    graders.check_rows(found.grader, rows)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (tasks(lambda at: {"question": "Which?", "choices": TEN}, lambda at: 1 + at % 10), "counted from 1"),
        (tasks(lambda at: {"question": "Which?", "a": "x", "b": "y"}, lambda at: "ab"[at % 2].upper()), "as one list"),
        (tasks(lambda at: f"Is it {at}?", lambda at: at % 2 == 0), "truth values"),
        (tasks(lambda at: f"Is it {at}?", lambda at: None), "no task says in expected"),
        (tasks(lambda at: [at], lambda at: "a"), "neither a text"),
        (tasks(lambda at: {"zone": at}, lambda at: "a"), "No column looks like a question"),
        ([*CHOSEN, {**CHOSEN[0], "task_id": "odd", "expected": "Z"}], "task_id 'odd'"),
        (tasks(lambda at: f"Why {at}?", lambda at: f"because {at} " * 40), "need a scorer with a judge"),
    ],
)  # fmt: skip
def test_it_chooses_none_where_that_would_be_a_guess_and_says_what_to_change(
    rows: list[dict[str, Any]], words: str
) -> None:
    found = guess(rows)
    assert found.grader is None
    assert words in risks(found)


def test_numbers_that_may_count_from_one_are_flagged() -> None:
    found = guess(tasks(lambda at: {"question": f"Which {at}?", "choices": TEN}, lambda at: 1 + at % 8))
    assert (found.grader or {})["answer"] == "index"
    assert "each is one off" in risks(found)
    assert "each is one off" not in risks(
        guess(tasks(lambda at: {"question": "?", "choices": TEN}, lambda at: at % 10))
    )


def test_what_lies_beside_the_question_is_no_part_of_it() -> None:
    """An answer that the owner put into the input too does not reach the model."""
    rows = tasks(lambda at: {"question": f"Capital {at}?", "answer": "LEAK", "note": "LEAK"}, lambda at: f"City {at}x")
    found = guess(rows)
    assert "LEAK" not in asked(found, rows[0])
    assert strict_json.loads(strict_json.dumps(found.fields))["input"] == {"question": "question"}
