"""An answer among words or before a line end: right behind other candidates, or wrong with the right one in it."""

import re
from collections.abc import Iterator
from decimal import Decimal

from runs.selftest.gold import Gold

PLAIN, SETTLED, ENDED = "a sentence", "a sentence that settles on it", "a line end behind it"
NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,6})?")
FAR = 1007  # further off than what a tolerance lets pass


def right(gold: Gold, options: int) -> dict[str, str]:
    """The right answer in words, alone and behind other candidates, and bare before a line end.

    In words only where it is a number or a letter; {} where it is no text either.
    """
    value = _value(gold, options)
    if value is None:
        text = gold.forms.get("text") if gold.kind == "text" and gold.sure else None
        return {ENDED: f"{text}\n"} if isinstance(text, str) else {}
    before = "2 + 3 = 5, so the" if gold.kind == "number" else f"{_other(value, options)}? No. The"
    return {PLAIN: f"The answer is {value}", SETTLED: f"{before} answer is {value}", ENDED: f"{value}\n"}


def wrong(gold: Gold, options: int) -> dict[str, str]:
    """Wrong answers that hold the right one; {} where it is neither number nor letter."""
    value = _value(gold, options)
    return {} if value is None else dict(_misses(gold, value, _other(value, options)))


def _misses(gold: Gold, value: str, other: str) -> Iterator[tuple[str, str]]:
    yield "another answer after it", f"{value}? No. The answer is {other}"
    if gold.kind == "number":
        yield "a longer number", f"98{value}"
    else:
        yield "a letter in a refusal", f"{value} or {other}: that can not be told."


def _value(gold: Gold, options: int) -> str | None:
    if not gold.sure or gold.anything:
        return None
    value = gold.forms.get("number" if gold.kind == "number" else "letter")
    if not isinstance(value, str):
        return None
    if gold.kind == "number":
        return value if NUMBER.fullmatch(value) else None
    return value if gold.kind == "choice" and len(value) == 1 and options > 1 else None


def _other(value: str, options: int) -> str:
    """Another letter of the choices, or a number far off."""
    if NUMBER.fullmatch(value):
        return str(2 * Decimal(value) + FAR)
    return chr(ord("A") + (ord(value) - ord("A") + 1) % options)
