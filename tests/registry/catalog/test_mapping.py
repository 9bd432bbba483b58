"""A row becomes a task as the catalogue says, and a grader accepts it."""

from typing import Any

import pytest

from registry.catalog import get
from registry.catalog.mapping import RowFault, column, fits, to_task
from registry.catalog.preparing import LAYOUTS, PREPARATIONS
from registry.graders import validate_grader
from registry.graders.checks import check_rows
from registry.graders.schema import KINDS as GRADER_KINDS

PLAY = {
    "name": "pl.ay",
    "parameters": {"type": "dict", "properties": {"x": {"type": "tuple", "items": {"type": "any"}}}},
}
TOOL = {"type": "function", "function": {"name": "pl_ay", "parameters": {"type": "object", "properties": {
    "x": {"type": "array", "items": {"type": "string"}}}}}}  # fmt: skip
ASKED = [[{"role": "user", "content": "Play a"}]]
LISTED = {"x": [["a"], ["b"]], "loud": [True, ""], "how": [{"speed": [2, 3], "turn": ["", "left"]}]}

# (entry, part, which place, a row in the shape of that data set, the task)
ROWS: list[tuple[str, str | None, int, dict[str, Any], dict[str, Any]]] = [
    (
        "mmlu", "anatomy", 0,
        {"question": "Which bone?", "subject": "anatomy", "choices": ["a", "b", "c", "d"], "answer": 2},
        {"task_id": "7", "input": {"question": "Which bone?", "choices": ["a", "b", "c", "d"]}, "expected": 2},
    ),
    (
        "mmlu-pro", None, 0,
        {"question_id": 70, "question": "Q", "options": ["x", "y", "z"], "answer": "C", "category": "math"},
        {"task_id": "70", "input": {"question": "Q", "category": "math", "choices": ["x", "y", "z"]}, "expected": "C"},
    ),
    (
        "arc-challenge", None, 0,
        {"id": "M1", "question": "Q", "choices": {"text": ["p", "q", "r"], "label": ["1", "2", "3"]}, "answerKey": "3"},
        {"task_id": "M1", "input": {"question": "Q", "choices": ["p", "q", "r"]}, "expected": 2},
    ),
    (
        "hellaswag", None, 0,
        {"ctx": "They jump", "endings": ["a", "b", "c", "d"], "label": "3", "source_id": "v~1"},
        {"task_id": "7", "input": {"question": "They jump", "choices": ["a", "b", "c", "d"]}, "expected": 3},
    ),
    (
        "winogrande", None, 0,
        {"sentence": "The _ won.", "option1": "cat", "option2": "dog", "answer": "2"},
        {"task_id": "7", "input": {"question": "The _ won.", "choices": ["cat", "dog"]}, "expected": 1},
    ),
    (
        "boolq", None, 0,
        {"question": "is it", "passage": "It is.", "answer": True},
        {"task_id": "7", "input": {"passage": "It is.", "question": "is it"}, "expected": "yes"},
    ),
    (
        "gsm8k", None, 0,
        {"question": "3 + 1,014?", "answer": "So <<3+1014=1017>>1,017\n#### 1,017"},
        {"task_id": "7", "input": {"question": "3 + 1,014?"}, "expected": "1017"},
    ),
    (
        "gsm8k", None, 1,
        {"id": "g-1", "prompt": "3 + 4?", "expected": "7"},
        {"task_id": "g-1", "input": {"question": "3 + 4?"}, "expected": "7"},
    ),
    (
        "math", "algebra", 0,
        {"problem": "P", "solution": "x = \\boxed{1}. Thus \\boxed{\\frac{1}{2}}.", "level": "1"},
        {"task_id": "7", "input": {"problem": "P"}, "expected": "\\frac{1}{2}"},
    ),
    (
        "bfcl-v4", "parallel", 0,
        {"id": "p_0", "question": ASKED, "function": [PLAY], "ground_truth": [{"pl.ay": LISTED}]},
        {"task_id": "p_0", "input": {"question": "Play a", "functions": [TOOL]},
         "expected": [{"name": "pl_ay", "args": {"x": ["a"], "how": {"speed": 2}}, "accept": LISTED}]},
    ),
    (
        "bfcl-v4", "irrelevance", 0,
        {"id": "i_0", "question": ASKED, "function": [PLAY]},
        {"task_id": "i_0", "input": {"question": "Play a", "functions": [TOOL]}, "expected": []},
    ),
    (
        "anli", "r1", 0,
        {"uid": "u", "premise": "A", "hypothesis": "B", "label": 1},
        {"task_id": "u",
         "input": {"premise": "A", "hypothesis": "B", "choices": ["It follows", "Neither", "It contradicts"]},
         "expected": 1},
    ),
    (
        "musr", "team_allocation", 0,
        {"narrative": "N", "question": "Q", "choices": "['a', \"b's\"]", "answer_index": 1},
        {"task_id": "7", "input": {"narrative": "N", "question": "Q", "choices": ["a", "b's"]}, "expected": 1},
    ),
    (
        "lambada", None, 0,
        {"text": "he gave her the ring"},
        {"task_id": "7", "input": {"text": "he gave her the"}, "expected": "ring"},
    ),
    (
        "squad-v2", None, 0,
        {"id": "s", "context": "C", "question": "Q", "answers": {"text": [], "answer_start": []}},
        {"task_id": "s", "input": {"context": "C", "question": "Q"}, "expected": ["unanswerable"]},
    ),
    (
        "drop", None, 0,
        {"query_id": "d", "passage": "P", "question": "Q",
         "answer": {"number": "", "date": {"day": "3", "month": "May", "year": ""}, "spans": []}},
        {"task_id": "d", "input": {"passage": "P", "question": "Q"}, "expected": ["3 May"]},
    ),
    (
        "humaneval", None, 0,
        {"task_id": "HumanEval/0", "prompt": "def f():", "entry_point": "f", "test": "def check(c): pass",
         "canonical_solution": "  pass"},
        {"task_id": "HumanEval/0",
         "input": {"prompt": "def f():", "entry_point": "f", "test": "def check(c): pass\n\ncheck(f)\n"},
         "expected": {"test_code": "def check(c): pass\n\ncheck(f)\n", "canonical_solution": "  pass"}},
    ),
    (
        "mbpp", None, 0,
        {"task_id": 11, "text": "Write f", "test_list": ["assert f() == 1", "assert f() != 2"]},
        {"task_id": "11", "input": {"prompt": "Write f", "tests": ["assert f() == 1", "assert f() != 2"]},
         "expected": {"test_code": "assert f() == 1\nassert f() != 2"}},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("slug", "part", "place", "row", "task"), ROWS, ids=[f"{one[0]}-{one[2]}" for one in ROWS])
def test_it_makes_a_task_of_a_row(slug: str, part: str | None, place: int, row: Any, task: Any) -> None:
    entry = get(slug)
    locator = entry.locators_of(part)[place]
    locator = locator.get("of", [locator])[0]
    made = to_task(locator["fields"], row, "7")
    assert made == task
    grader = entry.grader_of(part)
    if grader is not None and grader["kind"] in GRADER_KINDS:
        check_rows(validate_grader(grader), [made])


def test_it_mixes_choices_the_same_way_each_time_and_keeps_the_right_one() -> None:
    entry = get("gpqa")
    columns = ["Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3"]
    firsts = set()
    for number in range(40):
        row = {"Record ID": f"r{number}", "Question": "Q", "High-level domain": "Physics"}
        row |= {name: f"{name} of {number}" for name in columns}
        task = to_task(entry.locators_of("diamond")[0]["fields"], row, "")
        assert task == to_task(entry.locators_of("diamond")[0]["fields"], row, "")
        assert task["expected"] == f"Correct Answer of {number}"
        firsts.add(task["input"]["choices"].index(task["expected"]))
        check_rows(validate_grader(dict(entry.grader or {})), [task])
    assert firsts == {0, 1, 2, 3}, "the right choice would always stand in the same place"


def test_it_does_not_let_the_first_choice_always_be_right() -> None:
    fields = get("truthfulqa").locators_of()[0]["fields"]
    places = set()
    for number in range(40):
        targets = {"choices": [f"true {number}", f"lie {number}", f"other {number}"], "labels": [1, 0, 0]}
        task = to_task(fields, {"question": "Q", "mc1_targets": targets}, "t")
        assert task["input"]["choices"][task["expected"]] == f"true {number}"
        places.add(task["expected"])
    assert places == {0, 1, 2}


def test_it_reads_the_questions_out_of_prompts() -> None:
    text = (
        "The following are questions about algebra.\n\nQ: Statement 1 | One.\n(A) True, True (B) False, False "
        "(C) True, False (D) False, True\nA: Let's think step by step. So it is. The answer is (C).\n\n"
        "Q: Half\nof it?\n(A) 0 (B) 3 (C) 12 (D) 30\nA: Let's think step by step. The answer is (A).\n\n"
        "Q: Which?\nI. One\nII. Two\n(A) I only\n(B) II only\n(C) Both\n(D) Neither\nA: The answer is (B).\n\n"
        "Q: Of five?\n(A) 1 (B) 2 (C) 3 (D) 4 (E) 5\nA: The answer is (E).\n\nQ: No options?\nA: None."
    )
    rows = list(LAYOUTS["mmlu_cot_prompts"]({"abstract_algebra": text}))
    assert [(row["question"], row["choices"], row["answer"]) for row in rows] == [
        ("Statement 1 | One.", ["True, True", "False, False", "True, False", "False, True"], 2),
        ("Half\nof it?", ["0", "3", "12", "30"], 0),
        ("Which?\nI. One\nII. Two", ["I only", "II only", "Both", "Neither"], 1),
    ]
    assert {row["subject"] for row in rows} == {"abstract_algebra"}


def test_it_takes_columns_with_dots_and_paths_into_columns() -> None:
    assert column({"a.b": 1, "a": {"b": 2}}, "a.b") == 1
    assert column({"a": {"b": 2}}, "a.b") == 2
    with pytest.raises(RowFault, match="it has a"):
        column({"a": {"b": 2}}, "a.c")
    assert fits({"subject": "law"}, {"subject": "law"})
    assert not fits({"subject": "law"}, {"subject": "art"})


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("index_by_label", {"input": {"choices": {"text": ["a"], "label": ["A"]}}, "expected": "B"}),
        ("boxed", {"input": {}, "expected": "no box"}),
        ("choices_from_literal", {"input": {"choices": "__import__('os')"}, "expected": 0}),
        ("first_of_list", {"input": {}, "expected": [1, 2]}),
        ("index_from_one", {"input": {}, "expected": "x"}),
        ("spans_number_date", {"input": {}, "expected": {"number": "", "date": {}, "spans": []}}),
    ],
)
def test_it_refuses_rows_that_a_preparation_was_not_made_for(name: str, task: Any) -> None:
    fields = {"task_id": None, "input": "input", "expected": "expected", "prepare": name}
    with pytest.raises(RowFault, match=f"prepared by {name}"):
        to_task(fields, task, "t")
    assert name in PREPARATIONS


def test_calls_of_several_messages_keep_them_and_calls_that_are_named_stay() -> None:
    asked = [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Play a"}]]
    task = {
        "task_id": "t",
        "input": {"question": asked, "functions": TOOL},
        "expected": [{"name": "pl.ay", "args": {}}],
    }
    made = PREPARATIONS["openai_calls"](task)
    assert made["input"] == {"question": asked, "functions": [TOOL]}
    assert made["expected"] == [{"name": "pl_ay", "args": {}}]
    with pytest.raises(ValueError, match="no list of calls"):
        PREPARATIONS["openai_calls"]({**task, "expected": None})
