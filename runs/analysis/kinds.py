"""The kinds of benchmarks, each told by its columns. A function returns None where the rows are not of its kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs.analysis import choosing, grading, names
from runs.analysis.looking import BOXED, Column, empty

Json = dict[str, Any]
Made = tuple[str, Json, Json | None, list[str]]
LONG_ANSWER = 30  # words; longer ones are not compared as texts


@dataclass(frozen=True)
class Seen:
    """``asked``: role -> column by hints. ``count``: all rows."""

    columns: Mapping[str, Column]
    labels: Mapping[str, Sequence[str]]
    asked: Mapping[str, Any]
    count: int

    def first(self, wanted: Sequence[str], *kinds: type, share: float = 0.5) -> str | None:
        """The first column of these names whose values are all of these types."""
        for name in names.first(wanted, self.columns):
            column = self.columns[name]
            if column.share >= share and column.all(*kinds):
                return name
        return None

    def id(self) -> str | None:
        """A column that names each row: its values are texts or numbers, and none comes twice."""
        if "task_id" in self.asked:
            return str(self.asked["task_id"])
        for name in names.first(names.IDS, self.columns):
            column = self.columns[name]
            if column.share == 1 and column.all(str, int) and len(column.distinct) == len(column.values):
                return name
        return None


def question_of(seen: Seen, *, without: Sequence[str] = ()) -> str | None:
    """The column that asks: a text, or messages."""
    if "input" in seen.asked:
        return str(seen.asked["input"])
    for name in names.first(names.QUESTION, seen.columns):
        column = seen.columns[name]
        if name not in without and column.share > 0.5 and (column.is_text or _messages(column)):
            return name
    return None


def expected_of(seen: Seen, *, without: Sequence[str] = ()) -> str | None:
    """The column of the right answer."""
    if "expected" in seen.asked:
        return str(seen.asked["expected"])
    for name in names.first(names.EXPECTED, seen.columns):
        if name not in without and seen.columns[name].share > 0.5:
            return name
    return None


def inputs_of(seen: Seen, question: str, taken: Sequence[str]) -> Json:
    """What a task's input holds: the question and what it is about."""
    told = {"question": question}
    if "context" in seen.asked:
        told = {"context": str(seen.asked["context"]), **told}
    for name in names.first(names.CONTEXT, seen.columns):
        column = seen.columns[name]
        if (
            name not in (question, *taken)
            and name not in told.values()
            and column.share > 0.3
            and column.all(str, list)
        ):
            told = {name: name, **told}
    return told


def _messages(column: Column) -> bool:
    """Messages, or turns of messages."""
    return column.all(list) and all(_is_message(each) for value in column.values for each in value)


def _is_message(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_is_message, value))
    return isinstance(value, dict) and "role" in value and "content" in value


# -- function calls ----------------------------------------------------------------------------------------------------
def function_call(seen: Seen) -> Made | None:
    functions = seen.first(names.FUNCTIONS, list, dict, str)
    if functions is None or not _holds_functions(seen.columns[functions]):
        return None
    question = question_of(seen, without=(functions,))
    if question is None:
        return None
    calls = str(seen.asked.get("expected") or seen.first(names.CALLS, list, dict, str, share=0.0) or "")
    fields = _fields(seen, {"question": question, "functions": functions}, calls or None)
    texts = [name for name in (functions, calls) if name and seen.columns[name].is_text]
    if texts:
        fields["json"] = texts
    if not calls:
        fields["prepare"] = "no_calls"
        note = "The rows name no calls: right is to call nothing."
        return "function_call", fields, grading.tool_calls(), [note]
    return "function_call", fields, grading.tool_calls(), []


def _holds_functions(column: Column) -> bool:
    value = column.values[0]
    if isinstance(value, str):
        return value.lstrip()[:1] in ("[", "{") and '"name"' in value
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and ("name" in first or "function" in first)


# -- code --------------------------------------------------------------------------------------------------------------
def code(seen: Seen) -> Made | None:
    tests = seen.first(names.TESTS, str, list)
    if tests is None or not holds_tests(seen.columns[tests]):
        return None
    question = question_of(seen)
    if question is None:
        return None
    entry = seen.first(names.ENTRY_POINT, str)
    checked = seen.columns[tests].is_text and any("def check(" in value for value in seen.columns[tests].values)
    told = {"prompt": question}
    if checked and entry is None:
        return None
    if entry is not None:
        told["entry_point"] = entry
    elif seen.columns[tests].all(list):
        told["tests"] = tests  # else nobody could know what the function is to be called
    fields = _fields(seen, told, tests, prepare="entry_point_check" if checked else "asserts")
    fields["solution"] = seen.first(names.SOLUTIONS, str, share=0.9)
    return "code", fields, grading.code(), []


def holds_tests(column: Column) -> bool:
    """Whether its values are programs that test one: asserts, or a check."""
    value = column.values[0]
    text = "\n".join(map(str, value)) if isinstance(value, list) else str(value)
    return "assert" in text or "def test" in text or "def check(" in text


# -- several turns -----------------------------------------------------------------------------------------------------
def multi_turn(seen: Seen) -> Made | None:
    for name in names.first((*names.TURNS, "prompt", "question"), seen.columns):
        column = seen.columns[name]
        if column.share > 0.5 and column.all(list) and _several_turns(column):
            expected = expected_of(seen, without=(name,))
            fields = _fields(seen, {"turns": name}, expected)
            note = "Answers of several turns can't be graded by rule: they need a scorer of your own, with a judge."
            return "multi_turn", fields, None, [note]
    return None


def _several_turns(column: Column) -> bool:
    """Several texts in a row, or messages with more than one of the user; turns of messages with more than one turn."""
    several = sum(_turns(value) > 1 for value in column.values)
    return several > len(column.values) / 2


def _turns(value: list[Any]) -> int:
    if all(isinstance(each, str) for each in value):
        return len(value)
    if all(isinstance(each, list) for each in value):
        return sum(map(_is_message, value))
    users = [
        each
        for each in value
        if isinstance(each, dict) and str(each.get("role", each.get("from"))) in ("user", "human")
    ]
    return len(users)


# -- choices -----------------------------------------------------------------------------------------------------------
def multiple_choice(seen: Seen) -> Made | None:
    found = choosing.choices_of(seen.columns, seen.asked, seen.labels)
    if found is None:
        return None
    taken = [*found.columns, found.expected]
    question = question_of(seen, without=taken)
    if question is None:
        return None
    told = inputs_of(seen, question, taken)
    fields = _fields(seen, told, found.expected, prepare=found.prepare)
    fields["choices"] = found.choices
    grader = grading.choice(found.answer, told, multiple=found.multiple)
    return "multiple_choice", fields, _asking(seen, question, grader), found.notes


# -- answers -----------------------------------------------------------------------------------------------------------
def answer(seen: Seen) -> Made | None:
    """Mathematics, classes, or text."""
    question = question_of(seen)
    expected = expected_of(seen, without=(question or "",))
    if question is None or expected is None or _bare_labels(seen, seen.columns[expected]):
        return None
    told = inputs_of(seen, question, (expected,))
    for kind in (_classes, _mathematics, _letters, _text):
        made = kind(seen, told, seen.columns[expected])
        if made is not None:
            return made[0], made[1], _asking(seen, question, made[2]), made[3]
    return None


def _bare_labels(seen: Seen, column: Column) -> bool:
    """A few numbers that nobody has named: no model could know what they mean."""
    few = len(column.distinct) <= choosing.MOST_CLASSES and len(column.values) >= 4 * len(column.distinct)
    return few and column.all(int) and not seen.labels.get(column.name) and names.folded(column.name) in names.BARE


def _asking(seen: Seen, question: str, grader: Json | None) -> Json | None:
    """Messages go to the model as they are, without words of ours around them."""
    if grader is None or not _messages(seen.columns[question]):
        return grader
    return {name: value for name, value in grader.items() if name != "prompt"}


def _classes(seen: Seen, told: Json, column: Column) -> Made | None:
    """A few labels that come again and again are choices, the same ones for each task."""
    found = choosing.classes_of(column, seen.labels.get(column.name), seen.count)
    if found is None:
        return None
    fields = _fields(seen, told, column.name, prepare=found.prepare)
    fields["choices"] = found.choices
    return "multiple_choice", fields, grading.choice(found.answer, told), found.notes


def _mathematics(seen: Seen, told: Json, column: Column) -> Made | None:
    if column.numeric() >= 0.9:
        return "math", _fields(seen, told, column.name), grading.numeric(told), []
    note = "Answers are compared as text: another form of the same expression counts as wrong."
    if _boxed(column):
        return "math", _fields(seen, told, column.name, prepare="boxed"), grading.boxed(told), [note]
    worked = any(
        _boxed(seen.columns[name]) for name in names.first(("solution", "rationale", "explanation"), seen.columns)
    )
    formulas = column.is_text and sum("\\" in value for value in column.values) >= 0.2 * len(column.values)
    if column.is_text and (worked or formulas):
        return "math", _fields(seen, told, column.name), grading.boxed(told), [note]
    return None


def _boxed(column: Column) -> bool:
    return column.is_text and sum(BOXED in value for value in column.values) >= 0.9 * len(column.values)


def _letters(seen: Seen, told: Json, column: Column) -> Made | None:
    """The choices stand in the question itself."""
    if column.letters() < 0.95 or len(column.distinct) < 2:
        return None
    note = "The choices stand in the question, so only the letter is compared."
    return "multiple_choice", _fields(seen, told, column.name), grading.letter(told), [note]


def _text(seen: Seen, told: Json, column: Column) -> Made | None:
    path = _answers_within(column)
    if path is None:
        return None
    fields = _fields(seen, told, path)
    if column.is_text and column.words() > LONG_ANSWER:
        note = "Answers are long texts: comparing them word by word means little. They need a scorer with a judge."
        return "free_text", fields, None, [note]
    return "free_text", fields, grading.text(told), []


def _answers_within(column: Column) -> str | None:
    """The column itself (a text, or a list of texts), or where in it the texts are."""
    if column.all(str, int, float, bool) or (column.all(list) and all(map(_texts, column.values))):
        return column.name
    if not column.all(dict):
        return None
    for inner in ("text", "aliases", "value", "answer", "normalized_aliases"):
        if all(not empty(value.get(inner)) for value in column.values):
            return f"{column.name}.{inner}"
    return f"{column.name}.text" if all("text" in value for value in column.values) else None


def _texts(value: list[Any]) -> bool:
    return all(isinstance(each, str) for each in value)


def _fields(seen: Seen, told: Json, expected: str | None, *, prepare: str | None = None) -> Json:
    return {"task_id": seen.id(), "input": told, "choices": None, "expected": expected, "prepare": prepare}
