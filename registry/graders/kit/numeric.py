"""numeric: the answer is the expected number, within a tolerance."""

import re
from decimal import Decimal, DecimalException

from registry.graders.kit.common import (
    BLOCK,
    GRADER,
    RUN_ON,
    answer_text,
    as_decimal,
    backwards,
    extracted_from,
    missed,
    shown,
    verdict,
    wanted,
    wrong,
)

# --- kit ---

POINT = GRADER.get("decimal", ".")
COMMA = "," if POINT == "." else "."
GROUPS = f"[{COMMA}'’\u00a0\u202f\u2009]"
DIGITS = rf"(?:\d{{1,3}}(?:{GROUPS}\d{{3}})+(?!\d)|\d+)(?:{re.escape(POINT)}\d+)?|{re.escape(POINT)}\d+"
NUMBER = re.compile(
    rf"(?P<sign>(?<![\w)\]])[-+−–])?(?:[$€£¥]\s?)?(?P<digits>{DIGITS})(?P<power>[eE][-+−]?\d{{1,9}}\b)?"
)
TIMES_TEN = re.compile(r"\s*(?:[×x*·]|\\times|\\cdot)\s*10\s*(?:\^|\*\*)\s*\{?\s*([-+−]?\d{1,4})\s*\}?")
OVER = re.compile(r"\s?/\s?(?=[\d.])")
FRAC = re.compile(r"([-−]?) ?\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
MARKER = re.compile(r"####|<answer>|\banswer\b[^.\n]{0,60}?(?:\bis\b|:|=)", re.IGNORECASE)
LINE = re.compile(r"[ \t\r\n*_:$\\\[(]*([^\n]*)")
DIGIT = re.compile(r"\d")
FEW = 3  # numbers at the end of a long text: with as many, where it was cut does not change the last
SENTENCE_END = re.compile(r"\.(?:\s|$)|[;!?]")


def grade(output, expected):
    text = answer_text(output)
    if not text:
        return missed(text, "")
    piece = extracted_from(text)
    got = None if piece is None else found_number(piece)
    if got is None:
        return missed(text, "The output holds no number.")
    want = wanted(expected)
    goals = [as_number(one) for one in (want if isinstance(want, list) else [want])]
    goals = [goal for goal in goals if goal is not None]
    if any(close(got, goal) for goal in goals):
        return verdict(1, "The number is right.", extracted=str(got))
    named = shown(" or ".join(str(goal) for goal in goals))
    return wrong(text, f"Expected {named}, got {shown(str(got))}.", str(got))


def as_number(value):
    """A number from an expected value: a JSON number, or the number that its text says."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return as_decimal(repr(value))
    return found_number(value) if isinstance(value, str) else None


def found_number(text):
    """The number that a text gives as its answer: boxed, behind an answer marker, else its last one."""
    text = text.replace("\\$", "$")
    text = FRAC.sub(lambda part: f"{part.group(1)}{part.group(2)}/{part.group(3)}", text)
    text = text.replace("{,}", ",").replace("\\,", "").replace("\\!", "")
    asked_on = RUN_ON.search(text)
    own = text[: asked_on.start()] if asked_on else ""
    if own:
        found = boxed_number(own)
        found = marked_number(own) if found is None else found
        if found is not None:
            return found
    for read_in in (boxed_number, marked_number, last_number):
        found = read_in(text)
        if found is not None:
            return found
    return None


def boxed_number(text):
    """The last number in the last box that has one, or None."""
    inside = (numbers(box.group(1)) for box in backwards(BOXED, text))
    return next((found[-1] for found in inside if found), None)


def marked_number(text):
    """The number behind the last answer marker that has one in its sentence, or None."""
    until = len(text)
    for marker in backwards(MARKER, text):
        # What stands behind the next marker was read already, and held no number.
        line = SENTENCE_END.split(LINE.match(text, marker.end(), max(until, marker.end())).group(1), maxsplit=1)[0]
        said = numbers(line.rsplit("=", 1)[-1]) or numbers(line)
        if said:
            return said[0]
        until = marker.start()
    return None


def last_number(text):
    """The last number of a text, or None: looked for near the end first."""
    digit = next(backwards(DIGIT, text), None)
    text = text[: digit.end()] if digit else ""
    tail = numbers(text[-BLOCK:])
    if len(tail) < FEW and len(text) > BLOCK:
        tail = numbers(text)
    return tail[-1] if tail else None


def numbers(text):
    """Every number of a text in order; a fraction like 3/4 is one."""
    found = []
    at = 0
    while True:
        match = NUMBER.search(text, at)
        if match is None:
            return found
        value, at = read(text, match)
        over = OVER.match(text, at)
        below = NUMBER.match(text, over.end()) if over else None
        if below is not None:
            divisor, at = read(text, below)
            value = divided(value, divisor)
        if value is not None:
            found.append(value)


def read(text, match):
    """(value, where it ends) of one match."""
    digits = re.sub(GROUPS, "", match.group("digits")).replace(POINT, ".")
    sign = "-" if (match.group("sign") or "").strip() in ("-", "−", "–") else ""
    value = as_decimal(sign + digits + (match.group("power") or "").replace("−", "-"))
    end = match.end()
    power = TIMES_TEN.match(text, end)
    if power is not None and value is not None:
        value = as_decimal(f"{value}E{power.group(1).replace('−', '-')}") if "E" not in str(value) else value
        end = power.end()
    return value, end


def divided(value, divisor):
    try:
        return None if value is None or not divisor else value / divisor
    except DecimalException:
        return None


def close(got, goal):
    return within(got, goal, GRADER["absolute"], GRADER["relative"])


def within(got, goal, absolute, relative):
    """Whether two Decimals differ by no more than the larger of both tolerances (floats)."""
    try:
        room = max(Decimal(repr(absolute)), Decimal(repr(relative)) * abs(goal))
        return abs(got - goal) <= room
    except DecimalException:
        return got == goal
