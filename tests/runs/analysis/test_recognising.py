"""Rows in the shapes of well-known benchmarks are recognised, and each recognised task can be graded."""

from typing import Any

import pytest

from registry import graders
from registry.graders.compiling import kit
from runs.analysis.hints import asked_for, place_in
from runs.analysis.making import Place, make
from runs.analysis.recognising import Recognised, Unclear, recognise
from tests.runs.analysis import shapes
from tests.runs.analysis.shapes import SHAPES


def made_of(rows: list[dict[str, Any]], found: Recognised) -> Any:
    grader = graders.validate_grader(found.grader) if found.grader else None
    return make([Place(rows, found.fields, {}, "row", found.kind)], grader)


def chosen(task: dict[str, Any]) -> str:
    expected = task["expected"]
    return str(task["input"]["choices"][expected] if isinstance(expected, int) else expected)


@pytest.mark.parametrize("name", SHAPES)
def test_it_recognises(name: str) -> None:
    rows, labels, kind, grader, answer, expected, choices = SHAPES[name]
    found = recognise(rows, labels)
    assert found.kind == kind
    assert (found.grader or {}).get("kind") == grader
    assert (found.grader or {}).get("answer") == answer
    made = made_of(rows, found)
    assert len(made.tasks) == len(rows), made.left_out
    first = made.tasks[0]
    if expected is not None:
        assert first["expected"] == expected
    if choices is not None:
        assert first["input"]["choices"] == choices


@pytest.mark.parametrize(
    ("rows", "right"),
    [
        (shapes.SCIQ, lambda at: "lead"), (shapes.GPQA, lambda at: f"right {at}"),
        (shapes.TRUTHFUL_MC1, lambda at: f"true {at}"), (shapes.TRUTHFUL_LUCE, lambda at: f"true {at}"),
    ],
)  # fmt: skip
def test_a_right_choice_that_always_stands_in_one_place_is_mixed(rows: list[dict[str, Any]], right: Any) -> None:
    found = recognise(rows)
    made = made_of(rows, found)
    assert [chosen(task) for task in made.tasks] == [right(at) for at in range(len(rows))]
    if rows is not shapes.SCIQ:  # whose choices are the same ones each time
        assert len({task["input"]["choices"].index(chosen(task)) for task in made.tasks}) > 1
    assert made_of(rows, found).tasks == made.tasks


def test_the_expected_answers_are_right_for_the_grader() -> None:
    """Each choice task passes with its own right letter, and with no other."""
    for name, (rows, labels, _, grader, *_) in SHAPES.items():
        if grader != "choice":
            continue
        found = recognise(rows, labels)
        made = made_of(rows, found)
        parts = kit(graders.validate_grader(found.grader))  # type: ignore[arg-type]
        for task in made.tasks[:6]:
            goals = parts["goals"](task["expected"], parts["choice_texts"](task["input"]))
            assert len(goals) >= 1, name
            said = "Answer: " + ", ".join("ABCDEFGHIJ"[at] for at in sorted(goals))
            assert parts["grade"](said, parts["expected_of"](task))["score"] == 1, (name, said)


def test_programs_are_recognised_whether_or_not_a_grader_can_run_them() -> None:
    for rows, column in ((shapes.HUMAN_EVAL, "entry_point"), (shapes.MBPP, "tests")):
        found = recognise(rows)
        assert found.kind == "code"
        task = make([Place(rows, found.fields, {}, "row", "code")], None).tasks[0]
        assert column in task["input"]
        assert "assert" in task["expected"]["test_code"]
        assert "return x" in task["expected"]["canonical_solution"]  # the self-test of the scorer tries it
    assert task["task_id"] == "0"


def test_rows_without_an_answer_are_left_out_not_guessed() -> None:
    found = recognise(shapes.SQUAD_2)
    made = made_of(shapes.SQUAD_2, found)
    assert (found.kind, found.fields["expected"]) == ("free_text", "answers.text")
    assert len(made.tasks) == 30
    assert sum(made.left_out.values()) == 10


def test_what_a_question_is_about_goes_before_it() -> None:
    found = recognise(shapes.BOOLQ)
    assert list(found.fields["input"]) == ["passage", "question"]
    assert found.grader is not None
    assert found.grader["prompt"]["template"].startswith("{{passage}}\n\n{{question}}\n\n{{choices|letters}}")
    assert "prompt" not in (recognise(shapes.OPENAI_EVALS).grader or {"prompt": 1})  # messages go as they are


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"x1": f"a{at}", "x2": f"b{at}"} for at in range(30)], "No column looks like a question, and none"),
        ([{"question": f"q{at}", "note": "n"} for at in range(30)], "No column looks like the right answer"),
        ([{"zz": f"q{at}", "answer": "n"} for at in range(30)], "No column looks like a question"),
        ([{"text": f"t{at}", "label": at % 2} for at in range(30)], "It can't be told how the answers in 'label'"),
        ([{"prompt": f"p{at}", "key": at, "instruction_id_list": ["x"]} for at in range(30)], "right answer"),
        ([{"text": "A whole story."}] * 30, "right answer"),
    ],
)
def test_it_says_what_it_saw_where_it_can_not_tell(rows: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(Unclear, match=words) as caught:
        recognise(rows)
    assert [column["name"] for column in caught.value.columns] == list(rows[0])
    assert all(1 <= len(column["examples"]) <= 2 for column in caught.value.columns)


@pytest.mark.parametrize(
    ("hints", "asked"),
    [
        (["answer column is gold2"], {"expected": "gold2"}),
        (["The answer is in the column gold2."], {"expected": "gold2"}),
        (['question column: "the q"'], {"input": "the q"}),
        (["choices are x1, x2 and x3", "label = gold2"], {"choices": ["x1", "x2", "x3"], "expected": "gold2"}),
        (["the right answer is blue"], {}),
        (["use the test split"], {}),
    ],
)
def test_it_reads_hints(hints: list[str], asked: dict[str, Any]) -> None:
    assert asked_for(hints, ["the q", "gold2", "x1", "x2", "x3"]) == asked


@pytest.mark.parametrize(
    ("hints", "place"),
    [
        (["config anatomy"], {"config": "anatomy"}), (["split the choices by commas"], {}),
        (["config: high_school-2.0, split = dev"], {"config": "high_school-2.0", "split": "dev"}),
        (["use the validation split"], {"split": "validation"}), (['the "one" config'], {"config": "one"}),
        (["revision v1.2."], {"revision": "v1.2"}), (["answer column is split"], {}), ([], {}),
    ],
)  # fmt: skip
def test_it_reads_which_place_is_meant(hints: list[str], place: dict[str, str]) -> None:
    assert place_in(hints) == place


def test_hints_go_before_what_names_say() -> None:
    rows = [{"q": f"q{at}", "answer": "no use", "gold": f"g{at}", "id": at} for at in range(30)]
    found = recognise(rows, hints=["question column is q", "answer column is gold"])
    assert (found.fields["input"], found.fields["expected"]) == ({"question": "q"}, "gold")
    wide = [{"stem": f"q{at}", "x1": "a", "x2": "b", "x3": "c", "r": at % 3} for at in range(30)]
    found = recognise(wide, hints=["choices are x1, x2, x3", "answer column is r", "question column is stem"])
    assert (found.kind, found.fields["choices"]) == ("multiple_choice", ["x1", "x2", "x3"])
