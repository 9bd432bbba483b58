"""How a kind of grader is judged: in which process, for how long, with how much memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from registry.graders.schema import validate_grader

GRADER_SECONDS = 2.0  # reading a text takes that long only where a pattern runs wild
TRIAL_SECONDS = 15.0  # beside the program's own time: starting its process, ending what does not end by itself


@dataclass(frozen=True)
class Judging:
    """``runs_code``: what the model wrote is run, so each row is judged in a child of its own with an empty /tmp.

    ``seconds``: most time of one score() call. ``memory_mb``: what the score sandbox needs beside its usual memory.
    """

    runs_code: bool
    seconds: float
    memory_mb: int = 0


def judging(grader: Mapping[str, Any]) -> Judging:
    """Of a grader, with or without its defaults. DomainError ``validation_failed`` where it can't be used."""
    full = validate_grader(grader)
    if full["kind"] == "code":
        return Judging(True, full["seconds"] + TRIAL_SECONDS, full["memory_mb"])
    return Judging(False, GRADER_SECONDS)


def isolation(grader: Mapping[str, Any], asked: str) -> str:
    """``asked`` ("batch" or "task"), or "task" where the grader must not be judged otherwise."""
    return "task" if judging(grader).runs_code else asked
