"""Whether a grader can grade these rows: told at upload, not by a run full of zeros."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernel.errors import DomainError
from registry.graders import parsing
from registry.graders.compiling import kit
from registry.graders.patterns import check_pattern

_MAX_CHOICES = 26


def check_rows(grader: Mapping[str, Any] | None, tasks: Sequence[Mapping[str, Any]]) -> None:
    """DomainError ``validation_failed`` naming every row that the (validated) grader could never grade as right."""
    if grader is None:
        return
    parts = kit(grader)
    unparsed = _unparsed(grader, parts, tasks)
    faults = [
        {"loc": ["body", "tasks", index, place], "msg": f"Row {index} (task_id {task['task_id']!r}): {why}"}
        for index, task in enumerate(tasks)
        for place, why in [*_faults(grader, parts, task), *unparsed.get(index, ())]
    ]
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise DomainError("validation_failed", f"{faults[0]['msg']}{more} Nothing was stored.", errors=faults)


def _faults(grader: Mapping[str, Any], parts: Mapping[str, Any], task: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field in _fields(grader, parts):
        try:
            parts["at_path"](task["input"], field)
        except KeyError:
            yield "input", f"the prompt names {{{{{field}}}}}, which this input lacks."
    try:
        why = _EXPECTED[grader["kind"]](grader, parts, task)
    except (ValueError, RecursionError) as fault:
        why = str(fault)
    if why:
        yield "expected", why


def _unparsed(
    grader: Mapping[str, Any], parts: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]]
) -> dict[int, list[tuple[str, str]]]:
    """Rows whose test code is no Python, by index."""
    if grader["kind"] != "code":
        return {}
    found = {index: parts["tests_of"](task.get("expected")) for index, task in enumerate(tasks)}
    texts = {index: tests["code"] for index, tests in found.items() if tests and "code" in tests}
    told = zip(texts, parsing.faults(list(texts.values())), strict=True)
    return {index: [("expected", f"the test code does not compile: {why}.")] for index, why in told if why}


def _fields(grader: Mapping[str, Any], parts: Mapping[str, Any]) -> list[str]:
    """The input fields that the prompt's texts name."""
    prompt = grader["prompt"]
    texts = [prompt.get("system", ""), prompt.get("template", "")]
    texts += [message["content"] for message in prompt.get("messages", ())]
    names = [place.group(1) for text in texts for place in parts["PLACE"].finditer(text)]
    return [name.removeprefix("input.") for name in dict.fromkeys(names) if name != "input"]


def _text(grader: Mapping[str, Any], parts: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    found = parts["alternatives"](task.get("expected"))
    return (
        "" if any(one.strip() for one in found) else "expected must hold the right answer (a text, or a list of them)."
    )


def _nothing(grader: Mapping[str, Any], parts: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    return ""


def _regex(grader: Mapping[str, Any], parts: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    if "pattern" in grader and "{{expected}}" not in grader["pattern"]:
        return ""
    why = _text(grader, parts, task)
    if not why and "pattern" not in grader:
        for pattern in parts["alternatives"](task.get("expected")):
            check_pattern(pattern)
    return why


def _numeric(grader: Mapping[str, Any], parts: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    value = parts["wanted"](task.get("expected"))
    values = value if isinstance(value, list) else [value]
    if any(parts["as_number"](one) is not None for one in values):
        return ""
    return "expected must be a number, or a text that holds one."


def _choice(grader: Mapping[str, Any], parts: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    texts = parts["choice_texts"](task["input"])
    if not 1 < len(texts) <= _MAX_CHOICES:
        return f"input.{grader['choices_field']} must list 2 to {_MAX_CHOICES} choices; it has {len(texts)}."
    right = parts["goals"](task.get("expected"), texts)
    if not right:
        return "expected must name one of the choices by letter, index (from 0) or text."
    return "" if len(right) == 1 or grader["multiple"] else 'several right choices need "multiple": true.'


def _tool_calls(grader: Mapping[str, Any], parts: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    if not parts["functions_of"](task["input"]):
        return f"input.{grader['functions_field']} must list the functions that can be called."
    if parts["expected_calls"](task.get("expected")) is None:
        return 'expected must list calls: {"name", "args"}, or {"name": {"arg": [acceptable values]}}.'
    return ""


def _code(grader: Mapping[str, Any], parts: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    expected = task.get("expected")
    return str(parts["fault_of"](expected, parts["entry_of"](task["input"], expected)))


_EXPECTED = {
    "exact": _text,
    "contains": _text,
    "regex": _regex,
    "numeric": _numeric,
    "choice": _choice,
    "tool_calls": _tool_calls,
    "code": _code,
    "judge": _nothing,  # the rubric alone may say what is right
}
