"""Hints of the run's owner about columns: "answer column is gold", "question: q", "choices are a, b and c"."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_ROLES = {
    "expected": r"(?:right |correct |expected )?(?:answers?|labels?|targets?|expected|gold|solutions?)",
    "input": r"(?:questions?|inputs?|prompts?|problems?|quer(?:y|ies))",
    "choices": r"(?:choices|options|alternatives)",
    "task_id": r"(?:task )?ids?",
    "context": r"(?:contexts?|passages?)",
}
_SAYS = r"\s+(?:columns?|fields?)?\s*(?:(?:is|are|=|:|in|called|named)\s+){1,2}(?:the\s+)?(?:(?:columns?|fields?)\s+)?"
_SAYS_SHORT = r"\s*(?:columns?|fields?)?\s*(?:=|:)\s*"

_NAME = r"[\"'`]?([\w.-]+)[\"'`]?"
_NO_NAMES = frozenset({"the", "a", "by", "into", "of", "for", "and", "or", "on", "in", "with", "same", "right"})


def asked_for(hints: Sequence[str], columns: Sequence[str]) -> Mapping[str, Any]:
    """role -> column (choices: one or a list), as far as hints name columns that there are."""
    found: dict[str, Any] = {}
    for hint in hints:
        for role, words in _ROLES.items():
            match = re.search(rf"\b{words}(?:{_SAYS}|{_SAYS_SHORT})(.+)", hint, re.IGNORECASE)
            named = _named(match[1], columns) if match else []
            if named and role not in found:
                found[role] = named if role == "choices" and len(named) > 1 else named[0]
    return found


def _named(text: str, columns: Sequence[str]) -> list[str]:
    """The columns that a text names, in its order: up to the first word that is none, but for "and" and commas."""
    named = []
    for word in re.findall(r"[\"'`]([^\"'`]+)[\"'`]|([^\s,;\"'`]+)", text):
        plain = (word[0] or word[1]).strip(".;:()")
        column = next((each for each in columns if each == plain), None)
        column = column or next((each for each in columns if each.casefold() == plain.casefold()), None)
        if column is not None:
            named.append(column)
        elif plain.casefold() not in ("and", "or", "column", "columns", "field", "fields", "the", ""):
            break
    return named


def place_in(hints: Sequence[str]) -> dict[str, str]:
    """The config, split or revision that hints name: "config anatomy", "use the validation split", "split: test"."""
    found: dict[str, str] = {}
    for hint in hints:
        for part in ("config", "split", "revision"):
            after = re.search(rf"\b{part}\s*(?:is|=|:)?\s+{_NAME}", hint, re.IGNORECASE)
            before = re.search(rf"\bthe\s+{_NAME}\s+{part}\b", hint, re.IGNORECASE)
            match = before or after
            if match and part not in found and match[1].casefold() not in _NO_NAMES:
                found[part] = match[1].strip(".")
    return found
