"""From a row of a data set to a task, as an entry's ``fields`` say. docs/catalogue.md is the same in words."""

from collections.abc import Mapping
from typing import Any

from registry.catalog.preparing import PREPARATIONS

Task = dict[str, Any]


class RowFault(ValueError):
    """The row lacks a column, or is not what the preparation was made for. The message says which."""


def to_task(fields: Mapping[str, Any], row: Mapping[str, Any], task_id: str) -> Task:
    """{"task_id", "input", "expected"}; ``task_id`` is taken where ``fields`` name no column for it.

    Choices become ``input["choices"]``. Raises RowFault.
    """
    named = fields.get("task_id")
    told, choices = _input(fields["input"], row), fields.get("choices")
    if choices is not None:
        told = {**(told if isinstance(told, dict) else {"question": told}), "choices": _choices(choices, row)}
    expected = fields.get("expected")
    task = {
        "task_id": task_id if named is None else str(column(row, named)),
        "input": told,
        "expected": None if expected is None else column(row, expected),
    }
    return _with_solution(_prepared(task, fields.get("prepare")), row, fields.get("solution"))


def _prepared(task: Task, prepare: str | None) -> Task:
    if prepare is None:
        return task
    try:
        return PREPARATIONS[prepare](task)
    except (ValueError, TypeError, KeyError, IndexError, SyntaxError) as fault:
        raise RowFault(f"the row {task['task_id']} can't be prepared by {prepare}: {fault}") from None


def _with_solution(task: Task, row: Mapping[str, Any], solution: str | None) -> Task:
    """A program that solves the task lies beside its tests, out of the model's sight: a scorer is tried with it.

    A row may lack it.
    """
    if solution is None or solution not in row or not isinstance(task["expected"], dict):
        return task
    return {**task, "expected": {**task["expected"], "canonical_solution": row[solution]}}


def fits(where: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether the row is one of those that ``where`` asks for. Raises RowFault where it lacks a column."""
    return all(column(row, name) == value for name, value in where.items())


def column(row: Mapping[str, Any], path: str) -> Any:
    """The value at a column, or inside it by a dotted path. A column whose own name has dots goes first.

    Raises RowFault.
    """
    if path in row:
        return row[path]
    value: Any = row
    for step in path.split("."):
        if not isinstance(value, Mapping) or step not in value:
            raise RowFault(f"the row has no column {path!r}; it has {', '.join(map(str, row))}")
        value = value[step]
    return value


def _input(said: Any, row: Mapping[str, Any]) -> Any:
    if isinstance(said, str):
        return column(row, said)
    return {name: column(row, path) for name, path in said.items()}


def _choices(said: Any, row: Mapping[str, Any]) -> Any:
    """One column that holds them all, or a list of columns; a name that begins with = stands for its own text."""
    if isinstance(said, str):
        return column(row, said)
    return [one[1:] if one.startswith("=") else column(row, one) for one in said]
