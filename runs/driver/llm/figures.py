"""Whether every number of a text stands in the facts that it was written from. Pure."""

import re
from decimal import Decimal

_NUMBER = re.compile(
    r"(?P<money>[$€£]\s?)?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<percent>\s?(?:%|percent\b|per cent\b))?"
)
_CLOCK = re.compile(r"(?<!\d)\d{1,2}:\d{2}(?::\d{2})?(?!\d)")  # a time of day: its minutes are no count of anything
_WORD = re.compile(r"[a-z]+")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
# "one" counts nothing in "one of them", so it is let through.
NAMED = {
    "zero": 0,
    **{word: at for at, word in enumerate(_SMALL, 2)},
    **{word: 10 * at for at, word in enumerate(_TENS, 2)},
}
VAGUE = frozenset({
    "dozen", "dozens", "hundred", "hundreds", "thousand", "thousands", "million", "millions", "billion",
})  # fmt: skip
# Shares and multiples (half, two thirds, three times as many) are no figures of the facts: ``claims`` checks them.
_SHARE = re.compile(r"\b(?:two|three)[ -](?:thirds|quarters)\b|\bthree times\b")

Figure = tuple[Decimal, str]


def figures(text: str) -> dict[Figure, str]:
    """The numbers written in digits, with their sign (% or $ or nothing), and how each stands there."""
    found: dict[Figure, str] = {}
    for each in _NUMBER.finditer(_CLOCK.sub(" ", text)):
        sign = "%" if each["percent"] else (each["money"] or "").strip()
        found.setdefault((Decimal(each["digits"].replace(",", "")), sign), each[0].strip())
    return found


def foreign(text: str, facts: str) -> list[str]:
    """Numbers of ``text`` that are none of ``facts``', as they are written there; [] where it holds to them.

    A time of day is one of the facts' where it is the beginning of one: 09:15 of 09:15:23.
    """
    known = figures(facts)
    values = {value for value, _ in known}
    words = set(_WORD.findall(facts.casefold()))
    told = [shown for figure, shown in figures(text).items() if figure not in known]
    clocks = _CLOCK.findall(facts)
    told += [said for said in _CLOCK.findall(text) if not any(clock.startswith(said) for clock in clocks)]
    for word in dict.fromkeys(_WORD.findall(_SHARE.sub(" ", text.casefold()))):
        if word in words:
            continue
        if word in VAGUE or (word in NAMED and Decimal(NAMED[word]) not in values):
            told.append(word)
    told += [sign for sign in dict.fromkeys(text) if sign.isnumeric() and not sign.isdecimal() and sign not in facts]
    return told
