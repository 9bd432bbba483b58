"""A grader for each kind of rows, as data (docs/graders.md)."""

from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]
LETTER_ONLY = "Answer with the letter of the right choice only."
_BOXED = r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}"
_LETTER = r"(?i)answer\s*(?:is|:)?[\s*_(\[]*([A-Z])(?![\w'’])"
_METRICS = {
    "function_call": "calls that are right",
    "code": "pass@1",
    "multiple_choice": "accuracy",
    "math": "accuracy",
}
_WORDS = {
    "choice": "Ask for the letter of the right choice, and compare the letter that the answer names.",
    "numeric": "Ask for the number, and compare the last number that the answer gives.",
    "exact": "Take the answer out of what is said, and compare it as text.",
    "contains": "See whether a right answer stands in what is said, as whole words.",
    "regex": "See whether what is said matches a pattern.",
    "tool_calls": "Offer the functions, and compare the calls with the expected ones, argument by argument.",
    "code": "Run the written program with the tests in a sandbox of its own.",
    "judge": "Have another model read the answer beside a rubric.",
}


def choice(answer: str, told: Mapping[str, str], *, multiple: bool = False) -> Json:
    made: Json = {"kind": "choice", "answer": answer}
    if multiple:
        made["multiple"] = True
    if len(told) > 1:
        made["prompt"] = {"template": f"{asked(told)}\n\n{{{{choices|letters}}}}\n\n{LETTER_ONLY}"}
    return made


def letter(told: Mapping[str, str]) -> Json:
    """The choices stand in the question."""
    template = f"{asked(told)}\n\nEnd with a last line of the form: Answer: <letter>"
    return {
        "kind": "exact",
        "extract": {"pattern": _LETTER, "which": "last", "otherwise": "whole"},
        "prompt": {"template": template},
    }


def numeric(told: Mapping[str, str]) -> Json:
    template = f"{asked(told)}\n\nThink step by step. End with a last line of the form: #### <number>"
    return {"kind": "numeric", "prompt": {"template": template}}


def boxed(told: Mapping[str, str]) -> Json:
    template = f"{asked(told)}\n\nThink step by step. Put the final answer into \\boxed{{}}."
    return {"kind": "exact", "extract": {"pattern": _BOXED}, "prompt": {"template": template}}


def text(told: Mapping[str, str]) -> Json:
    return {"kind": "contains", "prompt": {"template": f"{asked(told)}\n\nAnswer in a few words."}}


def tool_calls() -> Json:
    return {"kind": "tool_calls"}


def code() -> Json:
    return {"kind": "code"}


def metric(kind: str, grader: Mapping[str, Any] | None) -> str:
    if grader is not None and grader.get("partial"):
        return "mean score"
    return _METRICS.get(kind, "share of right answers")


def in_words(grader: Mapping[str, Any] | None) -> str:
    """What the scorer will do, for people."""
    if grader is None:
        return "No grader fits: the run needs a scorer that somebody writes."
    return _WORDS.get(str(grader.get("kind")), "Grade as the grader says.")


def chance(kind: str, grader: Mapping[str, Any] | None, tasks: Sequence[Mapping[str, Any]]) -> float | None:
    """The score of blind guessing: the mean of one in so many choices; 0 where an answer is written; None for calls."""
    if kind == "multiple_choice" and grader is not None:
        counts = [len(_choices(task, grader)) for task in tasks]
        if tasks and all(counts):
            share = [(0.5**count if grader.get("multiple") else 1 / count) for count in counts]
            return round(sum(share) / len(share), 4)
        letters = {str(task.get("expected")).strip().upper() for task in tasks}
        return round(1 / len(letters), 4) if len(letters) > 1 else None
    return None if kind in ("function_call", "multi_turn") else 0.0


def _choices(task: Mapping[str, Any], grader: Mapping[str, Any]) -> Sequence[Any]:
    told = task.get("input")
    found = told.get(str(grader.get("choices_field", "choices"))) if isinstance(told, dict) else None
    if isinstance(found, dict):
        inner = found.get("text")
        return inner if isinstance(inner, list) else list(found)
    return found if isinstance(found, list) else []


def asked(told: Mapping[str, str]) -> str:
    """The parts of the input, one after another."""
    return "\n\n".join(f"{{{{{name}}}}}" for name in told)
