"""Graders: what compiles, and how it grades."""

import asyncio
import json
import sys
import types
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.errors import DomainError
from registry.graders import check_rows, compile_grader, validate_grader
from registry.graders.schema import KINDS

RUNTIME = Path(__file__).parents[2] / "runs" / "sandbox_runtime"


class Asked:
    """Stands in for the gateway: remembers the request, and answers with what it was given."""

    def __init__(self) -> None:
        self.request: dict = {}
        self.message: dict = {"content": ""}

    async def chat(self, **request):
        self.request = request
        return {"choices": [{"message": self.message, "finish_reason": "stop"}]}


@cache
def code_of(grader: str):
    return compile(compile_grader(json.loads(grader)), "task_impl.py", "exec")


def task_of(grader: dict, asked: Asked | None = None):
    """The compiled scorer's Task, loaded as the sandbox loads it."""
    folders = [str(RUNTIME), str(RUNTIME / "trying"), str(RUNTIME / "scoring")]
    sys.path[:0] = folders
    try:
        module = types.ModuleType("task_impl")
        exec(code_of(json.dumps(grader)), module.__dict__)
    finally:
        del sys.path[: len(folders)]
    if asked is not None:
        module.chat = asked.chat
    return module.Task()


def graded(grader: dict, output, expected, choices=None):
    if choices is not None:
        expected = {"answer": expected, "choices": choices}
    return task_of(grader).score(0, output, expected)


def solved(grader: dict, input, message: dict):
    """(the request, the output) of one solve."""
    asked = Asked()
    asked.message = message
    output = asyncio.run(task_of(grader, asked).solve(0, input))
    return asked.request, output


# --- compiling ---
NEEDED = {"judge": {"rubric": "It is right.", "judge": {"model": "m", "provider": "local"}}}


@pytest.mark.parametrize("kind", KINDS)
def test_it_compiles_to_the_same_bytes(kind):
    least = {"kind": kind, **NEEDED.get(kind, {})}
    bare = compile_grader(least)
    full = validate_grader(least)
    assert compile_grader(dict(reversed(list(full.items())))) == bare
    assert compile_grader(json.loads(json.dumps(full))) == bare
    assert compile_grader({**least, "strip_reasoning": False}) != bare
    compile(bare, "task_impl.py", "exec")
    assert "registry" not in bare  # nothing of ours is imported in the sandbox


def test_it_takes_whole_numbers_for_fractions():
    assert compile_grader({"kind": "numeric", "absolute": 0}) == compile_grader({"kind": "numeric", "absolute": 0.0})


@pytest.mark.parametrize(
    ("grader", "loc"),
    [
        ({}, ["body", "grader", "kind"]),
        ({"kind": "llm"}, ["body", "grader", "kind"]),
        ({"kind": "exact", "pattern": "x"}, ["body", "grader", "pattern"]),
        ({"kind": "exact", "prompt": {"template": "x", "messages": [{"role": "user", "content": "x"}]}},
         ["body", "grader", "prompt"]),
        ({"kind": "regex", "pattern": "("}, ["body", "grader"]),
        ({"kind": "regex", "pattern": "(a+)+$"}, ["body", "grader"]),
        ({"kind": "numeric", "absolute": -1}, ["body", "grader", "absolute"]),
        ({"kind": "choice", "multiple": "yes"}, ["body", "grader", "multiple"]),
        ({"kind": "exact", "extract": {"pattern": "(x)", "group": 2}}, ["body", "grader", "extract"]),
        ({"kind": "exact", "extract": {}}, ["body", "grader", "extract"]),
        ({"kind": "exact", "model": {"temperature": 3}}, ["body", "grader", "model", "temperature"]),
        ({"kind": "exact", "model": {"messages": []}}, ["body", "grader", "model", "messages"]),
    ],
)  # fmt: skip
def test_it_refuses_a_grader_with_the_place(grader, loc):
    with pytest.raises(DomainError) as caught:
        validate_grader(grader)
    assert caught.value.code == "validation_failed"
    assert caught.value.errors[0]["loc"][: len(loc)] == loc


# --- totality ---
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
NASTY = st.sampled_from(
    ["[" * 5000, '{"a":' * 5000, "((((((" * 300, "<think>", "</think>", "\\boxed{", "\\boxed{}", "####", "1e999999999",
     "9" * 6000,
     "Answer:", "answer is", "1/0", "\\frac{1}{0}", "```json\n```", "<tool_call></tool_call>", '[{"name": 1}]',
     '{"name": "f", "arguments": "{"}', "f(*a)", "f(x=1)", "f(x=float('nan'))", "[f(a=1), 5]", "A" * 50_000,
     "(A)" * 20_000,
     "-" * 10_000, "1," * 20_000, "'" * 3000, "\ud800"]
)  # fmt: skip
EXPECTED = JSON | st.sampled_from(
    ["A", ["A", "B"], 3, "#### 12", [{"name": "f", "args": {"x": 1}}], [{"f": {"x": [1, ""]}}],
     {"kind": "math", "value": "7"}]
)  # fmt: skip
GRADERS = [
    {"kind": "exact"},
    {"kind": "exact", "extract": {"after": "####"}, "normalise": {"ignore_punctuation": True}},
    {"kind": "contains", "need": "all", "partial": True},
    {"kind": "regex", "match": "whole"},
    {"kind": "regex", "pattern": "^{{expected}}$"},
    {"kind": "numeric", "decimal": ","},
    {"kind": "numeric", "relative": 0.01, "extract": {"pattern": r"(\d+)", "otherwise": "whole"}},
    {"kind": "choice"},
    {"kind": "choice", "multiple": True, "partial": True},
    {"kind": "tool_calls", "partial": True},
    {"kind": "tool_calls", "order": "same", "strings": "loose"},
]
TASKS = [task_of(grader) for grader in GRADERS]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(TASKS), JSON | NASTY, EXPECTED, st.lists(st.text(max_size=5), max_size=4))
def test_a_score_is_total(task, output, expected, choices):
    for given_expected in (expected, {"answer": expected, "choices": choices}):
        told = task.score(0, output, given_expected)
        assert 0.0 <= told["score"] <= 1.0
        assert isinstance(told["explanation"], str)
        kind = told["metrics"].get("class")
        assert kind in {None, "wrong", "no_answer", "format_miss", "refused"}
        assert (told["score"] == 1.0) == (kind is None)
        json.dumps(told, allow_nan=False)


@settings(deadline=None)
@given(
    st.sampled_from(TASKS), st.sampled_from(["", "   ", "\n", None, "<think>so long", "<think>x</think>  "]), EXPECTED
)
def test_an_empty_answer_scores_nothing(task, output, expected):
    told = task.score(0, output, {"answer": expected, "choices": ["A", "B"]})
    assert (told["score"], told["metrics"]["class"]) == (0.0, "no_answer")
    assert task.score(0, output, expected)["score"] == 0.0


PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip)


@settings(deadline=None)
@given(PLAIN)
def test_the_right_text_scores_one(text):
    for task in (task_of({"kind": "exact"}), task_of({"kind": "contains"})):
        told = task.score(0, text, text)
        if text.strip().startswith(("<think", "[THINK")):
            continue
        assert told["score"] == 1.0, (text, told)
        assert task.score(0, f"<think>no</think>\n{text}", [text, "other"])["score"] == 1.0


@settings(deadline=None)
@given(st.decimals(-(10**9), 10**9, places=3) | st.integers(-(10**12), 10**12), st.booleans())
def test_the_right_number_scores_one(number, grouped):
    shown = f"{number:,}" if grouped else str(number)
    task = task_of({"kind": "numeric"})
    for output in (
        shown,
        f"The answer is {shown}.",
        f"5 + 7 = 12\n#### {shown}",
        f"so \\boxed{{{shown}}}",
        f"**Answer:** ${shown}",
    ):
        assert task.score(0, output, str(number))["score"] == 1.0, (output, task.score(0, output, str(number)))
    assert task.score(0, f"The answer is {number + 1}", str(number))["score"] == 0.0


@settings(deadline=None)
@given(st.integers(2, 26), st.data())
def test_the_right_letter_scores_one_over_the_full_range(count, data):
    at = data.draw(st.integers(0, count - 1))
    letter, texts = chr(65 + at), [f"text number {index}" for index in range(count)]
    task = task_of({"kind": "choice"})
    for form in ("{}", "({})", "{}.", "{})", "**{}**", "Answer: {}", "The answer is {}.",
                 "The answer is ({}) because of x.",
                 "\\boxed{{{}}}", "Let me see.\n\nAnswer: **{}**", '{{"answer": "{}"}}', "<think>A? B?</think>{}",
                 "The correct option is \\text{{{}}}", "Final Answer: $\\boxed{{{}}}$"):  # fmt: skip
        output = form.format(letter)
        for expected in (letter, at, texts[at], letter.lower(), f"({letter})"):
            told = task.score(0, output, {"answer": expected, "choices": texts})
            assert told["score"] == 1.0, (output, expected, told)
    wrong = chr(65 + (at + 1) % count)
    assert task.score(0, f"Answer: {wrong}", {"answer": letter, "choices": texts})["score"] == 0.0


# --- extraction, as people report it going wrong ---
FIVE = ["Mars", "a cat", "It depends", "None of these", "Venus"]


@pytest.mark.parametrize(
    ("output", "letter"),
    [
        ("A cat would say (B).", "B"),
        ("A. Mars is red, B. a cat is not. The answer is E.", "E"),
        ("The answer is not A but E", "E"),
        ("I think it is D", "D"),
        ("The answer is a matter of taste: C", "C"),
        ("Answer: b", "B"),
        ("answer is E) Venus", "E"),
        ("Venus", "E"),
        ("venus.", "E"),
        ("It must be Venus, the planet.", "E"),
        ("**E**: Venus", "E"),
        ("E. Venus", "E"),
        ("The correct choice is:\n\nE", "E"),
        ("Option C is correct", "C"),
        ("Antwort: (E)", "E"),
        ("```json\n{\"answer\": \"E\"}\n```", "E"),
        ("<think>The answer is A. No.</think>The answer is E", "E"),
        ("thought without a beginning</think>\nE", "E"),
        ("Answer: E\n<think>was that right? A?</think>", "E"),
        ("<|channel|>analysis<|message|>Maybe A<|end|><|start|>assistant<|channel|>final<|message|>E<|return|>", "E"),
        ("A or B? I'd go with B.", "B"),
    ],
)  # fmt: skip
def test_it_reads_the_letter_that_was_meant(output, letter):
    told = graded({"kind": "choice"}, output, letter, FIVE)
    assert told["score"] == 1.0, told
    assert told["metrics"]["extracted"] == letter


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ("", "no_answer"),
        ("<think>Let me think about A", "no_answer"),
        ("I cannot help with that.", "refused"),
        ("I'm sorry, but I can't answer this.", "refused"),
        ("Hmm, hard to say.", "format_miss"),
        ("A cat is an animal", "wrong"),
        ("Answer: A, B", "format_miss"),
        ("Answer: F", "format_miss"),
        ("Answer: A", "wrong"),
    ],
)
def test_it_says_why_a_choice_did_not_pass(output, kind):
    told = graded({"kind": "choice"}, output, "E", FIVE)
    assert (told["score"], told["metrics"]["class"]) == (0.0, kind), told


def test_it_grades_several_right_choices():
    texts = ["w", "x", "y", "z"]
    whole, part = {"kind": "choice", "multiple": True}, {"kind": "choice", "multiple": True, "partial": True}
    for output in (
        "A, C",
        "AC",
        "Answer: A and C",
        "The answers are (A), (C).",
        '["A", "C"]',
        '{"answer": ["a", "C"]}',
        "C A",
    ):
        assert graded(whole, output, ["A", "C"], texts)["score"] == 1.0, output
    assert graded(whole, "A", ["A", "C"], texts)["score"] == 0.0
    assert graded(part, "A", ["A", "C"], texts)["score"] == 0.5
    assert graded(part, "A, B, C", ["A", "C"], texts)["score"] == pytest.approx(2 / 3)
    assert graded(part, "A, B, C, D", ["B"], texts)["score"] == 0.25
    assert graded(whole, "B", "B", texts)["score"] == 1.0


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("The answer is 18. Because 2 + 3 = 5.", 18),
        ("3 + 15 = 18 dollars", "18"),
        ("The answer is 3 + 15 = 18", 18),
        ("Answer: $1,234.50", 1234.5),
        ("1,234,567 people", 1234567),
        ("-5", -5),
        ("\u22125", -5),
        ("10-5", 5),
        ("pages 5\u201310", 10),
        ("- 5 apples", 5),
        ("$-5$", -5),
        ("-$5", -5),
        ("3/4", 0.75),
        ("\\boxed{\\frac{3}{4}}", "3/4"),
        ("\\boxed{-\\dfrac{1}{2}}", -0.5),
        ("50%", 50),
        ("6.02e23", 6.02e23),
        ("6.02 \\times 10^{23}", 6.02e23),
        ("3 x 10^2", 300),
        (".5", 0.5),
        ("1{,}000", 1000),
        ("It was 2020. The final answer: **42**", 42),
        ("#### 42\n\nChecked in 3 steps.", 42),
        ("answer, based on 3 facts, is 7", 7),
        (18, "#### 18"),
        (18.0, 18),
        ("18.0000001", 18),
        ("GSM says 5 * 3 = <<5*3=15>>15\n#### 15", "Natalia sold 5*3=15.\n#### 15"),
        ("7", ["6", "7"]),
        ("12", {"kind": "math", "value": "12"}),
    ],
)  # fmt: skip
def test_it_reads_the_number_that_was_meant(output, expected):
    told = graded({"kind": "numeric"}, output, expected)
    assert told["score"] == 1.0, told


def test_it_reads_numbers_of_other_countries():
    grader = {"kind": "numeric", "decimal": ","}
    assert graded(grader, "1.234,5 Euro", 1234.5)["score"] == 1.0
    assert graded(grader, "3,14", "3,14")["score"] == 1.0


def test_it_minds_tolerances():
    assert graded({"kind": "numeric"}, "3.14", 3.14159)["score"] == 0.0
    assert graded({"kind": "numeric", "absolute": 0.01}, "3.14", 3.14159)["score"] == 1.0
    assert graded({"kind": "numeric", "relative": 0.01}, "1005", 1000)["score"] == 1.0
    assert graded({"kind": "numeric", "absolute": 0}, "0.30000000000000004", "0.3")["score"] == 0.0


@pytest.mark.parametrize(
    ("output", "kind"),
    [("", "no_answer"), ("none", "format_miss"), ("I can't compute this.", "refused"), ("7", "wrong")],
)
def test_it_says_why_a_number_did_not_pass(output, kind):
    assert graded({"kind": "numeric"}, output, 8)["metrics"]["class"] == kind


@pytest.mark.parametrize(
    ("grader", "output", "expected", "score"),
    [
        ({}, "Paris.", "paris", 1),
        ({}, "  the   Eiffel\nTower ", "The Eiffel Tower", 1),
        ({}, '"Paris"', "Paris", 1),
        ({}, "Paris", ["London", "Paris"], 1),
        ({}, "cafe\u0301", "caf\u00e9", 1),
        ({}, "The capital is Paris", "Paris", 0),
        ({}, 5, 5, 1),
        ({}, "true", True, 1),
        ({}, "!", "!", 1),
        ({}, "?", "!", 0),
        ({"normalise": {"ignore_case": False}}, "paris", "Paris", 0),
        ({"normalise": {"trim_punctuation": False}}, "Paris.", "Paris", 0),
        ({"normalise": {"ignore_punctuation": True}}, "U.S.A", "u s a", 1),
        ({"extract": {"after": "Answer:"}}, "I think. ANSWER: Paris\nSure.", "Paris", 1),
        ({"extract": {"pattern": r"<a>(.*?)</a>"}}, "<a>no</a> <a>Paris</a>", "Paris", 1),
        ({"extract": {"pattern": r"<a>(.*?)</a>", "which": "first"}}, "<a>no</a> <a>Paris</a>", "Paris", 0),
        ({"extract": {"pattern": r"(?P<city>P\w+)", "group": "city"}}, "in Paris now", "Paris", 1),
        ({"extract": {"after": "Answer:"}}, "Paris", "Paris", 0),
        ({"extract": {"after": "Answer:", "otherwise": "whole"}}, "Paris", "Paris", 1),
        ({"expected_field": "text.en"}, "Paris", {"text": {"en": "Paris", "de": "x"}}, 1),
        ({"strip_reasoning": False}, "<think>x</think>Paris", "Paris", 0),
    ],
)
def test_it_compares_texts(grader, output, expected, score):
    assert graded({"kind": "exact", **grader}, output, expected)["score"] == score


def test_it_tells_a_right_answer_in_the_wrong_form():
    assert graded({"kind": "exact"}, "The capital is Paris", "Paris")["metrics"]["class"] == "format_miss"
    missed = graded({"kind": "exact", "extract": {"after": "Answer:"}}, "Paris", "Paris")
    assert missed["metrics"]["class"] == "format_miss"


@pytest.mark.parametrize(
    ("grader", "output", "expected", "score"),
    [
        ({}, "It is Paris, of course.", "paris", 1),
        ({}, "concatenate", "cat", 0),
        ({"whole_words": False}, "concatenate", "cat", 1),
        ({}, "red and blue", ["green", "blue"], 1),
        ({"need": "all"}, "red and blue", ["red", "green"], 0),
        ({"need": "all", "partial": True}, "red and blue", ["red", "green"], 0.5),
        ({"need": "all"}, "red and blue", ["red", "blue"], 1),
        ({}, "C++ is fast", "C++", 1),
        ({}, "x", [], 0),
    ],
)
def test_it_finds_texts(grader, output, expected, score):
    assert graded({"kind": "contains", **grader}, output, expected)["score"] == score


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("答えは東京です", "東京"),
        ("答えはParisです", "paris"),
        ("答えは5です", "5"),
        ("ตอบว่ากรุงเทพครับ", "กรุงเทพ"),
        ("정답은 서울입니다", "서울"),
        ("It is 5.", "5"),
        ("4, 5, 6", "5"),
        ("5%", 5),
        ("$5", "5"),
        ("US$5", "$5"),
        ("+5", "5"),
        ("pages 3–5", "5"),
        ("10-5", "5"),
        ("- 5 apples", "5"),
        ("No.5", "5"),
        ("it's -5", "-5"),
        ("It is .5", ".5"),
        ("It is 3.5.", "3.5"),
        ("a well-known one", "known"),
    ],
)
def test_it_finds_whole_words_and_numbers(output, expected):
    assert graded({"kind": "contains"}, output, expected)["score"] == 1.0


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("3.5", "5"),
        ("5.5", "5"),
        ("1,5", "5"),
        ("1,5", "1"),
        ("1,000", "1"),
        ("15", "5"),
        ("5e3", "5"),
        ("-5", "5"),
        ("\u22125", "5"),
        ("x=-5", "5"),
        ("-$5", "5"),
        ("-$5", "$5"),
        ("答えは-5です", "5"),
        ("It is .5", "5"),
        ("0.5", ".5"),
        ("10-5", "-5"),
        ("๕๕", "๕"),
        ("Parisian", "Paris"),
    ],
)
def test_it_finds_no_part_of_another_word_or_number(output, expected):
    assert graded({"kind": "contains"}, output, expected)["score"] == 0.0
    assert graded({"kind": "contains", "whole_words": False}, output, expected)["score"] == 1.0


def test_it_leaves_numbers_whole_when_punctuation_is_ignored():
    grader = {"normalise": {"ignore_punctuation": True}}
    assert graded({"kind": "contains", **grader}, "so: 3.5!", "3.5")["score"] == 1.0
    assert graded({"kind": "contains", **grader}, "so: 3.5!", "5")["score"] == 0.0
    assert graded({"kind": "exact", **grader}, "-5", "5")["score"] == 0.0
    assert graded({"kind": "exact"}, ".5", "5")["score"] == 0.0
    assert graded({"kind": "exact"}, "**.5**", ".5")["score"] == 1.0


# --- long outputs ---
CALL = '{"name": "f", "arguments": {"x": 1}}'
LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    ("grader", "output", "expected", "choices"),
    [
        ({"kind": "contains"}, f"yes {LONG}", "yes", None),
        ({"kind": "contains"}, f"{LONG} yes {LONG}", "yes", None),
        ({"kind": "exact"}, LONG + "y", LONG + "y", None),
        ({"kind": "regex"}, f"yes {LONG}", r"\byes\b", None),
        ({"kind": "numeric"}, f"42 {LONG}", 42, None),
        ({"kind": "numeric"}, f"The answer is 42. {'x 7 ' * 50_000}", 42, None),
        ({"kind": "numeric"}, "The answer is 42. " + "Is the answer: yes? " * 5000, 42, None),
        ({"kind": "numeric"}, f"\\boxed{{42}} {LONG} 1 2 3", 42, None),
        ({"kind": "choice"}, f"Answer: B {LONG}", "B", ["p", "q"]),
        ({"kind": "choice"}, "Answer: B\n" + "an answer without a letter. " * 5000, "B", ["p", "q"]),
        (
            {"kind": "choice", "multiple": True},
            "Answers: A, B\n" + "no answer here. " * 5000,
            ["A", "B"],
            ["p", "q", "r"],
        ),
        ({"kind": "tool_calls"}, f"{CALL} {LONG}", [{"f": {"x": [1]}}], None),
        ({"kind": "tool_calls"}, "[1] {y} " * 5000 + CALL, [{"f": {"x": [1]}}], None),
        ({"kind": "tool_calls"}, f"[f(x='{'y' * 100_000}')]", [{"f": {"x": ["y" * 100_000]}}], None),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_it_reads_all_of_a_long_output(grader, output, expected, choices):
    assert graded(grader, output, expected, choices)["score"] == 1.0


def test_it_does_not_judge_code_that_is_too_long_to_be_read():
    long = f"[f(x='{LONG}')]"
    with pytest.raises(ValueError, match="read up to 200,000 characters"):
        graded({"kind": "tool_calls"}, long, [{"f": {"x": [LONG]}}])
    _, output = solved({"kind": "tool_calls"}, BFCL, {"content": long})
    assert output == long


@pytest.mark.parametrize(
    ("grader", "output", "expected", "score"),
    [
        ({}, "v1.25", r"v\d+\.\d+", 1),
        ({"match": "whole"}, "v1.25 beta", r"v\d+\.\d+", 0),
        ({"pattern": r"^{{expected}}\b"}, "a.b rest", "a.b", 1),
        ({"pattern": r"^{{expected}}\b"}, "axb rest", "a.b", 0),
        ({"pattern": r"\byes\b", "ignore_case": True}, "Yes!", None, 1),
        ({}, "x", ["(", "x"], 1),
    ],
)
def test_it_matches_patterns(grader, output, expected, score):
    assert graded({"kind": "regex", **grader}, output, expected)["score"] == score


# --- tool calls ---
WEATHER = {"name": "weather.get", "description": "d",
           "parameters": {"type": "dict", "required": ["city"], "properties": {
               "city": {"type": "string", "description": "where", "default": "x"},
               "days": {"type": "tuple", "items": {"type": "float"}},
               "any": {"type": "any", "optional": True}}}}  # fmt: skip
BFCL = {"question": [[{"role": "user", "content": "Weather in Rome?"}]], "function": [WEATHER]}


@pytest.mark.parametrize(
    ("output", "expected", "score"),
    [
        ([{"name": "f", "args": {"x": 1}}], [{"name": "f", "args": {"x": 1}}], 1),
        ('[{"name": "f", "args": {"x": 1}}]', [{"name": "f", "arguments": {"x": 1.0}}], 1),
        ('[{"name": "f", "args": {"x": true}}]', [{"name": "f", "args": {"x": 1}}], 0),
        ('[{"name": "f", "args": {"x": "1"}}]', [{"name": "f", "args": {"x": 1}}], 0),
        ('{"name": "f", "arguments": "{\\"x\\": 1}"}', [{"name": "f", "args": {"x": 1}}], 1),
        ('```json\n[{"name": "f", "arguments": {"x": 1}}]\n```', [{"name": "f", "args": {"x": 1}}], 1),
        ('I call <tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>', [{"name": "f", "args": {"x": 1}}], 1),
        ('Sure: {"name": "f", "arguments": {"x": 1}} done', [{"name": "f", "args": {"x": 1}}], 1),
        ("[f(x=1), g(y='a')]", [{"name": "g", "args": {"y": "a"}}, {"name": "f", "args": {"x": 1}}], 1),
        ('[{"name": "f", "args": {"x": 1}}]', [{"f": {"x": [1, 2]}}], 1),
        ('[{"name": "f", "args": {"x": 3}}]', [{"f": {"x": [1, 2]}}], 0),
        ('[{"name": "f", "args": {}}]', [{"f": {"x": [1, ""]}}], 1),
        ('[{"name": "f", "args": {}}]', [{"f": {"x": [1]}}], 0),
        ('[{"name": "f", "args": {"x": 2}}]',
         [{"name": "f", "args": {"x": 1}, "accept": {"x": [1, 2], "y": [3, ""]}}], 1),
        ('[{"name": "f", "args": {"x": 3}}]', [{"name": "f", "args": {"x": 1}, "accept": {"x": [1, 2]}}], 0),
        ('[{"name": "f", "args": {"x": 1, "z": 1}}]', [{"f": {"x": [1]}}], 0),
        ('[{"name": "f", "args": {"s": "New York, NY"}}]', [{"f": {"s": ["new york ny"]}}], 1),
        ('[{"name": "f", "args": {"s": "New York"}}]', [{"name": "f", "args": {"s": "new york"}}], 0),
        ('[{"name": "a_b", "args": {"x": [1, 2]}}]', [{"a.b": {"x": [[1, 2]]}}], 1),
        ('[{"name": "f", "args": {"d": {"k": 1}}}]', [{"f": {"d": [{"k": [1, 2], "o": ["", 5]}]}}], 1),
        ('[{"name": "f", "args": {"d": {"k": 3}}}]', [{"f": {"d": [{"k": [1, 2]}]}}], 0),
        ('[{"name": "f", "args": {"x": 1}}, {"name": "f", "args": {"x": 1}}]', [{"f": {"x": [1]}}], 0),
        ('[{"name": "f", "args": {"x": 1}}, {"name": "f", "args": {"x": 2}}]',
         [{"f": {"x": [1, 2]}}, {"f": {"x": [1]}}], 1),
        ('[{"name": "f", "args": {"x": []}}]', [{"f": {"x": []}}], 1),
        ('[{"name": "f", "args": {"x": [1]}}]', [{"f": {"x": []}}], 0),
        ('[{"name": "f", "args": {}}]', [{"f": {"x": []}}], 0),
        ('[{"name": "f", "args": {"d": {"k": []}}}]', [{"f": {"d": [{"k": []}]}}], 1),
        ("[]", [], 1),
        ("No function fits this question.", [], 1),
        ('[{"name": "f", "args": {}}]', [], 0),
        ("[]", [{"name": "f", "args": {}}], 0),
        ('[{"name": "f", "args": {"x": 1}}]', {"kind": "function_call", "value": [{"name": "f", "args": {"x": 1}}]}, 1),
    ],
)  # fmt: skip
def test_it_grades_calls(output, expected, score):
    told = graded({"kind": "tool_calls"}, output, expected)
    assert told["score"] == score, told


def test_it_minds_order_and_gives_partial_credit():
    calls = '[{"name": "f", "args": {}}, {"name": "g", "args": {}}]'
    turned = [{"name": "g", "args": {}}, {"name": "f", "args": {}}]
    assert graded({"kind": "tool_calls", "order": "same"}, calls, turned)["score"] == 0.0
    assert graded({"kind": "tool_calls", "partial": True}, calls, turned[:1])["score"] == 0.5


@pytest.mark.parametrize(
    ("output", "kind"),
    [("", "no_answer"), ("I can't do that.", "refused"), ("It is sunny.", "format_miss"),
     ('[{"name": "f", "args": "{x"}]', "format_miss"), ('[{"name": "g", "args": {}}]', "wrong")],
)  # fmt: skip
def test_it_says_why_calls_did_not_pass(output, kind):
    assert graded({"kind": "tool_calls"}, output, [{"name": "f", "args": {"x": 1}}])["metrics"]["class"] == kind


def test_it_sends_tools_as_providers_take_them():
    call = {"function": {"name": "weather_get", "arguments": '{"city": "Rome"}'}}
    request, output = solved({"kind": "tool_calls"}, BFCL, {"content": None, "tool_calls": [call]})
    assert request["messages"] == [{"role": "user", "content": "Weather in Rome?"}]
    told = request["tools"][0]["function"]
    assert told["name"] == "weather_get"
    assert told["parameters"]["type"] == "object"
    assert told["parameters"]["properties"]["days"] == {"type": "array", "items": {"type": "number"}}
    assert told["parameters"]["properties"]["any"] == {"type": "string"}
    assert "default" not in json.dumps(told)
    assert request["tool_choice"] == "auto"
    assert json.loads(output) == [{"name": "weather.get", "args": {"city": "Rome"}}]
    assert graded({"kind": "tool_calls"}, output, [{"weather.get": {"city": ["Rome"]}}])["score"] == 1.0


def test_it_asks_small_models_by_schema():
    grader = {"kind": "tool_calls", "mode": "json_schema"}
    reply = {"content": '{"name": "weather_get", "arguments": {"city": "Rome"}}'}
    request, output = solved(grader, BFCL, reply)
    assert (request["temperature"], request["max_tokens"]) == (0, 128)
    system, user = request["messages"]
    assert system["role"] == "system"
    assert system["content"].startswith('You call functions. Function: {"name": "weather_get"')
    assert user["content"] == "Weather in Rome?"
    schema = request["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["name"] == {"const": "weather_get"}
    assert schema["properties"]["arguments"]["properties"]["city"] == {"type": "string"}
    assert "tools" not in request
    assert json.loads(output) == [{"name": "weather.get", "args": {"city": "Rome"}}]
    two, _ = solved({**grader, "calls": "many"}, {**BFCL, "function": [WEATHER, {"name": "other"}]}, reply)
    schema = two["response_format"]["json_schema"]["schema"]
    assert schema["type"] == "array"
    assert [one["properties"]["name"]["const"] for one in schema["items"]["anyOf"]] == ["weather_get", "other"]
    roomy, _ = solved({**grader, "model": {"max_tokens": 512, "temperature": 0.5}}, BFCL, reply)
    assert (roomy["temperature"], roomy["max_tokens"]) == (0.5, 512)


def test_it_keeps_names_apart_that_become_the_same():
    twins = {"question": "q", "functions": [{"name": "a.b"}, {"name": "a_b"}]}
    call = {"function": {"name": "a_b_2", "arguments": "{}"}}
    request, output = solved({"kind": "tool_calls"}, twins, {"tool_calls": [call]})
    assert [one["function"]["name"] for one in request["tools"]] == ["a_b", "a_b_2"]
    assert json.loads(output) == [{"name": "a_b", "args": {}}]


# --- asking ---
@pytest.mark.parametrize(
    ("grader", "input", "content"),
    [
        ({"kind": "exact"}, "plain", "plain"),
        ({"kind": "exact"}, {"question": "q"}, "q"),
        ({"kind": "exact"}, {"x": 1}, '{"x": 1}'),
        ({"kind": "numeric"}, {"problem": "1+1?"}, "1+1?\n\nGive only the final numeric answer."),
        ({"kind": "choice"}, {"question": "q", "choices": ["x", "y"]},
         "q\n\nA. x\nB. y\n\nAnswer with the letter of the right choice only."),
        ({"kind": "choice"}, {"question": "q", "choices": {"text": ["x"], "label": ["A"]}},
         "q\n\nA. x\n\nAnswer with the letter of the right choice only."),
        ({"kind": "exact", "prompt": {"template": "{{ meta.topic }}: {{question}} {{n}} {{input.q2}}"}},
         {"question": "{{no}}", "meta": {"topic": "t"}, "n": [1], "q2": "z"}, "t: {{no}} [1] z"),
        ({"kind": "choice", "prompt": {"template": "{{q}}\n{{choices|letters}}"}}, {"q": "q", "choices": ["x", "y"]},
         "q\nA. x\nB. y"),
    ],
)  # fmt: skip
def test_it_asks_the_question(grader, input, content):
    request, output = solved(grader, input, {"content": "said"})
    assert request == {"messages": [{"role": "user", "content": content}]}
    assert output == "said"


def test_it_sends_system_messages_and_parameters():
    grader = {"kind": "exact", "prompt": {"system": "Topic: {{topic}}", "messages": [
        {"role": "user", "content": "example"}, {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "{{q}}"}]},
        "model": {"temperature": 0, "max_tokens": 5, "stop": ["\n"], "response_format": {"type": "text"}}}  # fmt: skip
    request, _ = solved(grader, {"topic": "t", "q": "q"}, {"content": [{"type": "text", "text": "a"}, {"text": "b"}]})
    assert [one["content"] for one in request["messages"]] == ["Topic: t", "example", "ok", "q"]
    assert request["stop"] == ["\n"]
    assert request["response_format"] == {"type": "text"}


def test_it_takes_a_refusal_for_what_was_said():
    _, output = solved({"kind": "exact"}, "q", {"content": None, "refusal": "I'm sorry, I can't assist with that."})
    assert graded({"kind": "exact"}, output, "x")["metrics"]["class"] == "refused"
    _, empty = solved({"kind": "exact"}, "q", {"content": None})
    assert empty == ""


def test_it_extracts_rows_from_the_shards_file(tmp_path):
    rows = [{"task_id": "a", "input": {"question": "q\u2028", "choices": ["x", "y"]}, "expected": "A", "extra": 1},
            {"task_id": "b", "input": {"question": "r", "choices": ["z", "w"]}}]  # fmt: skip
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    task = task_of({"kind": "choice"})
    first = task.extract(str(file), 0)
    assert (first["task_id"], first["input"]) == ("a", rows[0]["input"])
    assert task.score(0, "A", first["expected"])["score"] == 1.0
    assert task.extract(str(file), 1)["task_id"] == "b"
    assert task.score(1, "A", task.extract(str(file), 1)["expected"])["score"] == 0.0
    file.write_text(json.dumps({"task_id": "new", "input": 1}) + "\n")
    assert task.extract(str(file), 0)["task_id"] == "new"  # the same path may hold another shard


# --- rows that a grader could never pass ---
@pytest.mark.parametrize(
    ("grader", "task", "place"),
    [
        ({"kind": "exact"}, {"input": "q"}, "expected"),
        ({"kind": "exact"}, {"input": "q", "expected": " "}, "expected"),
        ({"kind": "numeric"}, {"input": "q", "expected": "many"}, "expected"),
        ({"kind": "choice"}, {"input": {"question": "q"}, "expected": "A"}, "expected"),
        ({"kind": "choice"}, {"input": {"choices": ["x", "y"]}, "expected": "C"}, "expected"),
        ({"kind": "choice"}, {"input": {"choices": ["x", "y"]}, "expected": ["A", "B"]}, "expected"),
        ({"kind": "tool_calls"}, {"input": {"question": "q"}, "expected": []}, "expected"),
        ({"kind": "tool_calls"}, {"input": BFCL, "expected": "f"}, "expected"),
        ({"kind": "regex"}, {"input": "q", "expected": "("}, "expected"),
        ({"kind": "exact", "prompt": {"template": "{{question}}"}}, {"input": {"q": 1}, "expected": "x"}, "input"),
    ],
)
def test_it_names_rows_that_could_never_pass(grader, task, place):
    fine = {"task_id": "fine", "input": {**BFCL, "question": "q", "choices": ["x", "y"]}, "expected": {
        "choice": "A", "numeric": 1, "tool_calls": [{"f": {}}]}.get(grader["kind"], "x")}  # fmt: skip
    check_rows(validate_grader(grader), [fine])
    with pytest.raises(DomainError) as caught:
        check_rows(validate_grader(grader), [fine, {"task_id": "bad", **task}])
    assert [one["loc"] for one in caught.value.errors] == [["body", "tasks", 1, place]]
    assert "'bad'" in caught.value.errors[0]["msg"]


def test_it_stores_nothing_of_rows_that_could_never_pass(author):
    mark = author.benchmark()["id"]
    tasks = [{"task_id": "a", "input": "q", "expected": "1"}, {"task_id": "b", "input": "q", "expected": "x"}]
    refused = author.client.post(
        f"benchmarks/{mark}/subsets", {"slug": "s", "tasks": tasks, "grader": {"kind": "numeric"}}
    )
    assert (refused.status, refused.json["errors"][0]["loc"]) == (422, ["body", "tasks", 1, "expected"])
    sub = author.subset(mark, tasks=tasks[:1], rolling=True, grader={"kind": "numeric"})
    assert author.client.post(f"subsets/{sub['id']}/tasks", {"tasks": tasks[1:]}).status == 422
