"""What a few data sets need before their rows are tasks: known preparations by name. Pure, and the same each time.

A preparation gets the task as ``fields`` map it, {"task_id", "input", "expected"} (choices lie in ``input``), and
returns it as graders take it. It raises ValueError where the row is not what it was made for.
"""

import ast
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from registry.catalog.calls import openai_calls, openai_no_calls

Task = dict[str, Any]
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_QUESTION = re.compile(r"(?:^|\n)Q: (.*?)\nA: (.*?)(?=\n\nQ: |\Z)", re.DOTALL)
_OPTION = re.compile(r"\(([A-D])\) (.*?)(?=\s*\([A-D]\) |\Z)", re.DOTALL)
_ANSWER = re.compile(r"answer is \(([A-D])\)")
_COMMA = re.compile(r"(?<=\d),(?=\d{3}\b)")


def index_from_one(task: Task) -> Task:
    """Answers counted from 1 (also as text) are counted from 0."""
    return {**task, "expected": int(task["expected"]) - 1}


def index_from_text(task: Task) -> Task:
    """An index that is written as text becomes a number."""
    return {**task, "expected": int(task["expected"])}


def first_of_list(task: Task) -> Task:
    """The answer is a list with one member."""
    return {**task, "expected": _one(task["expected"])}


def index_by_label(task: Task) -> Task:
    """Choices come as {"text": […], "label": […]}, and the answer is a label: A, B… or 1, 2…"""
    choices = task["input"]["choices"]
    labels = [str(label).strip() for label in choices["label"]]
    at = labels.index(str(task["expected"]).strip())
    return _with_choices(task, list(choices["text"]), at)


def labels_of_choices(task: Task) -> Task:
    """Choices come as {"choices": […], "labels": [1, 0, …]}; the right one is always first, so they are mixed."""
    choices = task["input"]["choices"]
    right = choices["labels"].index(1)
    return mix_choices(_with_choices(task, list(choices["choices"]), right))


def mix_choices(task: Task) -> Task:
    """The right choice stands in the same place in each row: put the choices into an order that their texts decide."""
    choices = list(task["input"]["choices"])
    given = task["expected"]
    right = choices[given] if isinstance(given, int) else given
    mixed = sorted(choices, key=lambda text: hashlib.sha256(str(text).encode()).hexdigest())
    return _with_choices(task, mixed, mixed.index(right) if isinstance(given, int) else right)


def choices_from_literal(task: Task) -> Task:
    """Choices are written as a Python list in a text."""
    choices = ast.literal_eval(task["input"]["choices"])
    if not isinstance(choices, list):
        raise ValueError("the choices are no list")
    return _with_choices(task, choices, task["expected"])


def yes_or_no(task: Task) -> Task:
    """A truth value becomes "yes" or "no"."""
    return {**task, "expected": "yes" if task["expected"] else "no"}


def boxed(task: Task) -> Task:
    """A worked solution: the answer stands in its last box."""
    text = str(task["expected"])
    starts = [match.end() for match in _BOXED.finditer(text)]
    if not starts:
        raise ValueError("the solution has no boxed answer")
    depth, at = 1, starts[-1]
    while depth and at < len(text):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return {**task, "expected": text[starts[-1] : at - 1].strip()}


def last_word(task: Task) -> Task:
    """The last word of the text is what is asked for."""
    head, _, word = str(task["expected"]).rstrip().rpartition(" ")
    return {**task, "input": {"text": head}, "expected": word}


def answers_or_none(task: Task) -> Task:
    """A list of right answers; an empty one means that the text does not tell: "unanswerable"."""
    return {**task, "expected": list(dict.fromkeys(task["expected"])) or ["unanswerable"]}


def spans_number_date(task: Task) -> Task:
    """An answer as {"number", "date": {"day", "month", "year"}, "spans"}: the one of them that is filled in."""
    answer = task["expected"]
    date = " ".join(str(answer["date"].get(name, "")) for name in ("day", "month", "year")).split()
    spans = list(answer.get("spans") or ())
    found = [str(answer["number"])] if answer.get("number") else [", ".join(spans)] if spans else [" ".join(date)]
    if not found[0]:
        raise ValueError("the answer is empty")
    return {**task, "expected": found}


def no_calls(task: Task) -> Task:
    """Right is to call nothing."""
    return {**task, "expected": []}


def behind_hashes(task: Task) -> Task:
    """A worked solution: the answer stands behind its last ####, a number without commas."""
    answer = str(task["expected"]).rpartition("####")[2].strip()
    return {**task, "expected": _COMMA.sub("", answer)}


def entry_point_check(task: Task) -> Task:
    """A function ``check(candidate)``: the tests call it with the function that the task names."""
    return {**task, "expected": {"test_code": f"{task['expected']}\n\ncheck({task['input']['entry_point']})\n"}}


def shown_entry_point_check(task: Task) -> Task:
    """The same, and ``input.test`` has the tests too, where people look for them. No prompt of ours sends it."""
    made = entry_point_check(task)
    return {**made, "input": {**made["input"], "test": made["expected"]["test_code"]}}


def asserts(task: Task) -> Task:
    """A list of assert statements, or one text of tests."""
    tests = task["expected"]
    return {**task, "expected": {"test_code": "\n".join(tests) if isinstance(tests, list) else str(tests)}}


def mmlu_cot_prompts(content: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Layout: subject -> solved questions as one text. Rows {"id", "subject", "question", "choices", "answer"}.

    What can't be read whole (four options and a letter) is left out.
    """
    for subject, text in content.items():
        for number, (question, answer) in enumerate(_QUESTION.findall(text)):
            asked, first, listed = question.rpartition("\n(A) ")
            options, letter = _OPTION.findall(first + listed), _ANSWER.search(answer)
            if letter and [one for one, _ in options] == ["A", "B", "C", "D"]:
                yield {
                    "id": f"{subject}-{number}",
                    "subject": subject,
                    "question": asked.strip(),
                    "choices": [option.strip() for _, option in options],
                    "answer": "ABCD".index(letter.group(1)),
                }


def _one(values: Any) -> Any:
    if not isinstance(values, list) or len(values) != 1:
        raise ValueError("the answer is not a list with one member")
    return values[0]


def _with_choices(task: Task, choices: list[Any], right: Any) -> Task:
    return {**task, "input": {**task["input"], "choices": choices}, "expected": right}


PREPARATIONS: Mapping[str, Callable[[Task], Task]] = {
    one.__name__: one
    for one in (
        index_from_one,
        index_from_text,
        first_of_list,
        index_by_label,
        labels_of_choices,
        mix_choices,
        choices_from_literal,
        yes_or_no,
        boxed,
        last_word,
        answers_or_none,
        spans_number_date,
        no_calls,
        openai_calls,
        openai_no_calls,
        behind_hashes,
        entry_point_check,
        shown_entry_point_check,
        asserts,
    )
}
LAYOUTS: Mapping[str, Callable[[Mapping[str, str]], Iterator[dict[str, Any]]]] = {"mmlu_cot_prompts": mmlu_cot_prompts}
