"""What a rule finds."""

from typing import NamedTuple


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
