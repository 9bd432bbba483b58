"""The second readers of typed answers: the graders' own parts with other settings. Pure, without a model.

A reader that can't find an answer says nothing: only what both can read can differ.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kernel.errors import DomainError
from registry.graders.compiling import kit
from registry.graders.schema import validate_grader

ENDS = 300  # characters of a text that is looked at whole
CHOICE_FIELDS = ("choices", "options")
SHORT = 120  # characters of an expected text that may be looked for in an answer
_UNREAD = ("no_answer", "format_miss", "refused")
# What the second reader keeps of the first one's settings: what says which answer is right, not how it is found.
_KEPT = {
    "choice": ("expected_field", "choices_field", "answer", "multiple"),
    "numeric": ("expected_field", "absolute", "relative", "decimal"),
    "tool_calls": ("expected_field", "functions_field", "calls"),
    "contains": ("expected_field", "need"),
    "exact": ("expected_field",),
}


@dataclass(frozen=True)
class Reading:
    """``passed`` None: nothing could be read, or nothing was tried. ``answer``: what was read, short.

    ``first``: what the scorer took, where the reader can tell it. ``other``: whether the two take different programs.
    """

    answer: str | None
    passed: bool | None
    first: str | None = None
    other: bool | None = None


class SecondReader(Protocol):
    """``words``: how it reads, for people."""

    @property
    def words(self) -> str: ...

    def read(self, output: Any, row: Mapping[str, Any], reply: str | None = None) -> Reading:
        """What it makes of an output of this row (as it was uploaded). ``reply``: what a judge said of it."""
        ...


@dataclass(frozen=True)
class Reader:
    """``words``: how it reads, for people. ``place``: whole, last (line) or ends (first and last line)."""

    words: str
    grader: Mapping[str, Any]  # with its defaults
    place: str = "whole"

    def read(self, output: Any, row: Mapping[str, Any], reply: str | None = None) -> Reading:
        parts = kit(self.grader)
        try:
            expected = parts["expected_of"](row)
            text = (
                parts["text_of"](output) if self.place == "whole" else placed(parts["answer_text"](output), self.place)
            )
            told = parts["grade"](text if isinstance(output, str) or self.place != "whole" else output, expected)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return Reading(None, None)  # a row that is not of this kind, or calls that are too long to read
        metrics = told["metrics"]
        passed = told["score"] >= 1
        if not passed and metrics.get("class") in _UNREAD:
            return Reading(None, None)
        return Reading(metrics.get("extracted"), passed)


def placed(text: str, place: str) -> str:
    """The part of an answer that is looked at: its last line, or its first and last line where it is long."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    if place == "last":
        return lines[-1]
    return text if len(text) <= ENDS else f"{lines[0]}\n{lines[-1]}"


def of_grader(grader: Mapping[str, Any]) -> Reader | None:
    """The second reader of a run whose grader reads a typed answer; None for other kinds."""
    kind = str(grader["kind"])
    kept = {name: grader[name] for name in _KEPT.get(kind, ()) if name in grader}
    cut = grader.get("extract") is not None
    if kind == "choice":
        found = {"kind": "choice", **kept}
        return _made("the whole answer", found) if cut else _made("its last line alone", found, "last")
    if kind == "numeric":
        found = {"kind": "numeric", **kept}
        return _made("the whole answer", found) if cut else _made("its last line alone", found, "last")
    if kind == "tool_calls":
        return _made("calls in any order, in text too, strings compared loosely", _loose_calls(kept))
    if kind == "exact":
        return _made("whether the expected text stands in the answer's first or last line", _containing(kept), "ends")
    if kind == "contains":
        return _made("the whole answer, by whole words, without case and punctuation", _containing(kept))
    return None


def of_row(row: Mapping[str, Any]) -> Reader | None:
    """The second reader of a row that own code has scored, by the row's shape; None where it has none that we know."""
    given, expected = row.get("input"), row.get("expected")
    if isinstance(given, Mapping):
        field = next((name for name in CHOICE_FIELDS if isinstance(given.get(name), list | dict)), None)
        if field is not None and isinstance(expected, str | int) and not isinstance(expected, bool):
            return _made("the choice that the whole answer names", {"kind": "choice", "choices_field": field})
        if any(name in given for name in ("functions", "function", "tools")) and isinstance(expected, list | dict):
            return _made("calls in any order, in text too, strings compared loosely", _loose_calls({}))
    if number(expected):
        return _made("the number that the answer ends with", {"kind": "numeric"})
    texts = expected if isinstance(expected, list) else [expected]
    if texts and all(isinstance(one, str) and 0 < len(one.strip()) <= SHORT for one in texts):
        return _made("whether the expected text stands in the answer's first or last line", _containing({}), "ends")
    return None


def _loose_calls(kept: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "tool_calls", "accept_text": True, "order": "any", "strings": "loose", **kept}


def _containing(kept: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "contains",
        "whole_words": True,
        "normalise": {"ignore_case": True, "ignore_punctuation": True},
        **kept,
    }


def number(value: Any) -> bool:
    """Whether an expected value is one number."""
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        try:
            float(value.replace(",", ""))
        except ValueError:
            return False
        return len(value) <= SHORT
    return isinstance(value, int | float)


_READERS: dict[str, Reader] = {}


def _made(words: str, grader: Mapping[str, Any], place: str = "whole") -> Reader | None:
    """One reader for each of its settings: rows of one subset mostly share one."""
    key = json.dumps([words, dict(grader), place], sort_keys=True)
    if key not in _READERS:
        if len(_READERS) > 500:
            _READERS.clear()
        try:
            _READERS[key] = Reader(words, validate_grader(grader), place)
        except DomainError:
            return None
    return _READERS[key]
