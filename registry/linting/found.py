"""What a rule finds, and how to write it right: with the readers of ``bench_task`` that fit what the rows expect."""

from typing import NamedTuple

from registry.linting.reading import Reading

TRIED = "Write: return check_code(output, tests, entry_point), with check_code of bench_task."


class Found(NamedTuple):
    """``level``: error (it scores wrongly, for sure) or warning (it may). ``line``: from 1. ``hint``: what to do."""

    code: str
    level: str
    line: int
    words: str
    hint: str


def error(code: str, line: int, words: str, hint: str) -> Found:
    return Found(code, "error", line, words, hint)


def warning(code: str, line: int, words: str, hint: str) -> Found:
    return Found(code, "warning", line, words, hint)


def reader(read: Reading) -> str:
    """The reader for the answers of these rows, as a sentence."""
    kind, options = read.facts["answers"], read.facts["options"]
    if kind == "letter":
        got = f"read_choice(output, {options or 'len(choices)'})"
        return f"Write: got = {got}; return verdict(output, got, got == expected). Both are in bench_task."
    if kind == "number":
        return (
            "Write: got = read_number(output); return verdict(output, got, same_number(got, expected)). All three are "
            "in bench_task."
        )
    if kind == "text":
        return "Write: return float(same_text(output, expected)), with same_text of bench_task."
    return "bench_task has readers for it: read_choice, read_number, read_json, read_calls, same_text."


def last(read: Reading) -> str:
    """As ``reader``, where a fixed form would do as well."""
    return (
        "Ask for a fixed form, such as a last line “Answer: X”, and take the last match (re.findall(…)[-1]). "
        + reader(read)
    )
