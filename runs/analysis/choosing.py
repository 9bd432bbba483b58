"""Choices: where they are, and how the right one is named."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runs.analysis import names
from runs.analysis.looking import Column, shown, texts

MOST_CLASSES = 20
MOST_CHOICES = 26
_WORDS = frozenset({"yes", "no", "true", "false", "maybe"})


@dataclass(frozen=True)
class Choices:
    """``choices`` and ``prepare`` as ``fields`` have them; ``answer``: how the expected answer names the right one."""

    choices: str | list[str]
    columns: list[str]
    expected: str
    answer: str
    prepare: str | None = None
    multiple: bool = False
    notes: list[str] = field(default_factory=list)


def choices_of(
    columns: Mapping[str, Column], asked: Mapping[str, Any], labels: Mapping[str, Sequence[str]]
) -> Choices | None:
    """None where no choices are to be seen."""
    return _right_and_wrong(columns, asked) or _in_columns(columns, asked) or _in_one(columns, asked)


def _right_and_wrong(columns: Mapping[str, Column], asked: Mapping[str, Any]) -> Choices | None:
    """A column of the right answer, and columns of wrong ones: they are mixed, the same way each time."""
    plain = [name for name in columns if columns[name].all(str, int, float)]
    wrong = [name for name in plain if names.WRONG.fullmatch(names.folded(name))]
    right = next((name for name in names.first(names.RIGHT, plain)), None)
    if right is None or not wrong or "choices" in asked:
        return None
    note = "The right choice stands in a column of its own, so the choices are mixed, the same way each time."
    return Choices([right, *wrong], wrong, right, "text", "mix_choices", notes=[note])


def _in_columns(columns: Mapping[str, Column], asked: Mapping[str, Any]) -> Choices | None:
    """A column for each choice."""
    held = asked.get("choices")
    found = held if isinstance(held, list) else names.series(columns) if held is None else []
    found = [name for name in found if columns[name].all(str, int, float) and columns[name].share > 0.9]
    expected = _expected(columns, asked, found)
    if len(found) < 2 or expected is None:
        return None
    lists = [[str(column[at]) for column in _aligned(columns, found)] for at in range(_least(columns, found))]
    how = _how(columns[expected], lists, len(found))
    return None if how is None else Choices(found, found, expected, *how)


def _aligned(columns: Mapping[str, Column], found: list[str]) -> list[list[Any]]:
    return [columns[name].values for name in found]


def _least(columns: Mapping[str, Column], found: list[str]) -> int:
    return min(len(columns[name].values) for name in found)


def _in_one(columns: Mapping[str, Column], asked: Mapping[str, Any]) -> Choices | None:
    """One column that lists them, in one of several shapes."""
    held = asked.get("choices")
    wanted = [str(held)] if held is not None else names.first(names.CHOICES, columns)
    for name in wanted:
        column = columns.get(name)
        if column is None or column.share < 0.9:
            continue
        if all(isinstance(value, dict) and {"choices", "labels"} <= set(value) for value in column.values):
            note = "The right choice always stands first, so the choices are mixed, the same way each time."
            return Choices(name, [name], f"{name}.labels", "index", "labels_of_choices", notes=[note])
        expected = _expected(columns, asked, [name])
        if expected is None:
            continue
        made = _listed(column, columns[expected])
        if made is not None:
            return made
    return None


def _listed(column: Column, expected: Column) -> Choices | None:
    if all(isinstance(value, dict) and {"text", "label"} <= set(value) for value in column.values):
        return Choices(column.name, [column.name], expected.name, "index", "index_by_label")
    lists = [made for value in column.values if (made := texts(value)) is not None]
    if len(lists) < 0.9 * len(column.values):
        if column.is_text and all(value.lstrip().startswith("[") for value in column.values):
            return Choices(column.name, [column.name], expected.name, "auto", "choices_from_literal")
        if column.all(dict) and all(set(value) == set(column.values[0]) for value in column.values):
            return Choices(column.name, [column.name], expected.name, "auto")  # an object of texts: {"A": …, "B": …}
        return None
    how = _how(expected, lists, max(map(len, lists)))
    return None if how is None else Choices(column.name, [column.name], expected.name, *how)


def _expected(columns: Mapping[str, Column], asked: Mapping[str, Any], taken: Sequence[str]) -> str | None:
    """The column that names the right choice. Numbers and letters go before texts: rows often have both."""
    if "expected" in asked:
        return str(asked["expected"])
    found = [name for name in names.first(names.EXPECTED, columns) if name not in taken and columns[name].share > 0.5]
    short = [name for name in found if columns[name].letters() > 0.95 or columns[name].all(int)]
    return next(iter(short or found), None)


def _how(expected: Column, lists: list[list[str]], most: int) -> tuple[str, str | None, bool] | None:
    """(the form of the answer, a preparation, whether several may be right); None where none of them fits."""
    values = expected.values
    if all(isinstance(value, list) for value in values):
        inner = Column(expected.name, [each for value in values for each in value], expected.share)
        if all(len(value) == 1 for value in values):
            how = _how(inner, lists, most)
            return None if how is None or how[1] is not None else (how[0], "first_of_list", False)
        how = _how(inner, lists, most)
        return None if how is None or how[1] is not None else (how[0], None, True)
    if expected.all(int):
        return _by_index([int(value) for value in values], most)
    if not expected.is_text:
        return None
    return _by_text(expected, lists, most)


def _by_text(expected: Column, lists: list[list[str]], most: int) -> tuple[str, str | None, bool] | None:
    stripped = [value.strip() for value in expected.values]
    known = {text.strip().casefold() for each in lists for text in each}
    if sum(value.casefold() in known for value in stripped) >= 0.9 * len(stripped) and not _all_short(stripped):
        return "text", None, False
    if expected.letters() > 0.95:
        return "letter", None, False
    if all(value.isascii() and value.isdigit() for value in stripped):
        how = _by_index([int(value) for value in stripped], most)
        return None if how is None else (how[0], how[1] or "index_from_text", False)
    if sum(value.casefold() in known for value in stripped) >= 0.5 * len(stripped):
        return "text", None, False
    return None


def _all_short(values: Sequence[str]) -> bool:
    """Letters or digits: they name a choice, even where choices are such signs themselves."""
    return all(len(value) == 1 and (value.isdigit() or value.isupper()) for value in values)


def _by_index(values: list[int], most: int) -> tuple[str, str | None, bool] | None:
    if len(values) >= 10 and len(set(values)) == 1 and 0 <= values[0] < most:
        return "index", "mix_choices", False  # always in the same place: a model could learn it from the first rows
    if min(values) == 0 and max(values) < most:
        return "index", None, False
    if min(values) == 1 and max(values) == most:
        return "index", "index_from_one", False
    if min(values) >= 1 and max(values) < most:  # a small sample of either: counting from 0 is the rule
        return "index", None, False
    return None


def classes_of(column: Column, labels: Sequence[str] | None, count: int) -> Choices | None:
    """Labels as choices that are the same for each task: named numbers, truth values, or few texts that repeat."""
    if labels and column.all(int) and 2 <= len(labels) <= MOST_CHOICES:
        choices = [f"={name.replace('_', ' ')}" for name in labels]
        return Choices(choices, [], column.name, "index")
    if column.all(bool):
        return Choices(["=yes", "=no"], [], column.name, "text", "yes_or_no")
    if not column.is_text or column.numeric() > 0.5:
        return None
    known = sorted({value.strip() for value in column.values})
    words = {value.casefold() for value in known}
    repeats = len(column.values) >= 8 * len(known)
    if not 2 <= len(known) <= MOST_CLASSES or not (repeats or words <= _WORDS) or column.letters() > 0.5:
        return None
    if any(len(value) > 40 for value in known):
        return None
    note = f"The answers are a few labels, so the model is given them as choices: {', '.join(map(shown, known))}."
    return Choices([f"={value}" for value in known], [], column.name, "text", notes=[note])


def doubts(expected: Column, choices: Column) -> list[str]:
    """What is not sure about answers that are numbers: whether they count from 0, as they are read."""
    least = min(int(value) for value in expected.values)
    if least == 0:
        return []
    most = max(map(len, choices.values))
    return [
        f"The right choices are read as counted from 0 (1 is the second of {most}), but no task has 0: if they are "
        "counted from 1, each is one off. Upload them as letters to be sure."
    ]
