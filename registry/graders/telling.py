"""A grader in a few words: its kind, and every value that is not the default.

What it sends to the model is left out: a run may send something else (``runs.asked.sampling``).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from registry.graders.schema import validate_grader

_LONG = 60


def told(grader: Mapping[str, Any]) -> str:
    """``numeric, absolute 5.0, its own prompt``."""
    full = validate_grader(grader)
    plain = _plain(str(full["kind"]))
    return ", ".join([str(full["kind"]), *_told(full, plain, "")])


def _plain(kind: str) -> Mapping[str, Any]:
    """The defaults of a kind. What a kind can't stand without counts as a value of its own."""
    needs = {"judge": {"model": "-", "provider": "-"}, "rubric": "-"} if kind == "judge" else {}
    return validate_grader({"kind": kind, **needs})


def _told(full: Mapping[str, Any], plain: Mapping[str, Any], before: str) -> Iterator[str]:
    for name, value in full.items():
        usual = plain.get(name)
        if (name in ("kind", "model") and not before) or value == usual:
            continue
        if name == "prompt":
            yield "its own prompt"
        elif isinstance(value, Mapping):
            yield from _told(value, usual if isinstance(usual, Mapping) else {}, f"{before}{name}.")
        else:
            words = " ".join(str(value).split())
            yield f"{before}{name} {words[:_LONG]}{'…' if len(words) > _LONG else ''}"
