"""Amounts that are told in words (all, most, half of, twice as many), checked against a run's counts. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

_ENDED = re.compile(r"([\d,]+) of ([\d,]+) (?:tasks?|trials?) ended: ([^.]*)")
_NOT_PASSED = re.compile(r"Not passed: ([^.]*)")
_CLASS = re.compile(r"([\d,]+) (?:failed|errored|unscored|skipped), ([a-z_:]+)\.")
_COUNT = re.compile(r"([\d,]+) ([a-z_:]+)")
_ABOUT = r"(?P<about>about|around|roughly|nearly|almost|some)"
_SIDE = r"(?P<side>more than|over|less than|fewer than|under)"
_WHOLE = "all|everything|every|each(?= (?:task|cell|trial|answer|of))|none|nothing|no"
_NAMED = ("all", "everything", "every", "each", "none", "nothing", "no")
_PART = "most|the majority|a majority|half|(?:a|one|two) thirds?|(?:a|one|three) quarters?|a fifth|a tenth|"
_PART += "a few|few|a handful|hardly any|barely any"
AMOUNT = re.compile(
    rf"\b(?P<negated>not )?(?:(?:{_SIDE}|{_ABOUT}) )?(?P<amount>{_WHOLE}|{_PART})\b"
    r"(?: of)?(?: the| them| those| its)?(?: (?P<digits>[\d,]+))?"
)
_SHARES = {
    "half": (1, 2), "thirds": (2, 3), "third": (1, 3), "quarters": (3, 4), "quarter": (1, 4), "fifth": (1, 5),
    "tenth": (1, 10),
}  # fmt: skip
_MORE = re.compile(
    r"\b(?:(?P<more>more(?: \w+)?|fewer(?: \w+)?)|(?P<over>more than )?(?P<times>twice|double|three times|"
    r"triple) as many(?: \w+)?) (?P<one>\w+) (?:than|as) (?P<other>\w+)"
)
_RANK = re.compile(r"\b(most common|most frequent|largest|biggest|main)\b|\b(least common|rarest|smallest)\b")
_NEAR = Fraction(3, 100)  # how far "about a third" may be from one
_FEW = Fraction(1, 10)
_LOOSE = r"at (?:most|least|all)|in all|all the same|no longer|each other"
_OUTCOMES = {
    "unpassed": r"(?:did|do|does|has|have) not pass(?:ed)?|not passed|without a pass",
    "passed": r"pass(?:ed|es|ing)?|correct|solved|succeed(?:ed|s)?",
    "failed": r"fail(?:ed|s|ing|ures?)?",
    "errored": r"errored|errors?",
    "unscored": r"unscored",
    "skipped": r"skipped",
    "scored": r"scored",
    "ended": r"ended|finished|completed|done",
}
_FAILURES = re.compile(r"^ ?(?:failures|failed (?:tasks|cells|answers)|misses|that did not pass|errors)\b")


@dataclass(frozen=True)
class Counts:
    """What the facts count: cells in all, ended ones, and how many of each outcome and class."""

    total: int
    ended: int
    of: Mapping[str, int]
    classes: Mapping[str, int]
    whole: bool  # every class is told


def counts_of(units: Sequence[str]) -> Counts | None:
    """The counts that stand in the facts; None where none do."""
    text = "\n".join(units)
    found = _ENDED.search(text)
    if found is None:
        return None
    of = {name: _number(count) for count, name in _COUNT.findall(found[3])}
    passed, ended = of.get("passed", 0), _number(found[1])
    of |= {"ended": ended, "unpassed": ended - passed}
    of["scored"] = passed + of.get("failed", 0) + of.get("unscored", 0)
    listed = _NOT_PASSED.search(text)
    classes = {name: _number(count) for count, name in _COUNT.findall(listed[1])} if listed else {}
    for count, name in _CLASS.findall(text):
        classes.setdefault(name, _number(count))
    return Counts(_number(found[2]), ended, of, classes, sum(classes.values()) == ended - passed)


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))


def wrong(clause: str, counts: Counts | None) -> list[str]:
    """Amounts of a clause (in small letters) that the counts do not bear, as they are written there."""
    told = _amounts_of(clause)
    return [each["amount"] for each, rest in _each(told) if _amount(each, rest, told, counts) is False]


def borne(clause: str, counts: Counts | None) -> set[str]:
    """The words of comparison in a clause that the counts bear: ``more``, ``than``, ``largest``, ``most`` …"""
    if counts is None:
        return set()
    told = _amounts_of(clause)
    found: set[str] = set()
    for each, rest in _each(told):
        if _amount(each, rest, told, counts):
            found |= set(f"{each['side'] or ''} {each['amount']}".split())
    for each in _MORE.finditer(clause):
        one, other = _count(each["one"], counts), _count(each["other"], counts)
        if one is not None and other is not None and _compared(each, one, other):
            found |= set(each[0].split())
    for each in _RANK.finditer(clause):
        if _is_ranked(each, clause, counts):
            found |= set(each[0].split())
    return found


def _amounts_of(clause: str) -> str:
    """The clause without its ranks and comparisons, and without words of amount that count nothing."""
    return re.sub(rf"\b(?:{_LOOSE})\b", " ", _RANK.sub(" ", _MORE.sub(" ", clause)))


def _each(told: str) -> Iterator[tuple[re.Match[str], str]]:
    """The amounts, each with what follows up to the next."""
    found = list(AMOUNT.finditer(told))
    for at, each in enumerate(found, 1):
        yield each, told[each.end() : found[at].start() if at < len(found) else None]


def _compared(each: re.Match[str], one: int, other: int) -> bool:
    if each["times"]:
        times = 3 if each["times"] in ("three times", "triple") else 2
        return one > times * other if each["over"] else one == times * other
    return one > other if str(each["more"]).startswith("more") else one < other


def _is_ranked(each: re.Match[str], clause: str, counts: Counts) -> bool:
    """Whether the one class that the clause names is the first of all, or the last, alone."""
    named = [name for name in counts.classes if re.search(rf"\b{_plain(name)}\b", clause)]
    if len(named) != 1 or not counts.whole:
        return False
    others = [count for name, count in counts.classes.items() if name != named[0]]
    mine = counts.classes[named[0]]
    return all(mine > count for count in others) if each[1] else all(mine < count for count in others)


def _plain(name: str) -> str:
    return re.escape(name).replace("_", "[ _-]")


def _count(word: str, counts: Counts) -> int | None:
    """How many cells a word of the clause stands for; None where it stands for none."""
    for name, form in _OUTCOMES.items():
        if re.fullmatch(form, word):
            return counts.of.get(name, 0)
    return next((count for name, count in counts.classes.items() if re.fullmatch(_plain(name), word)), None)


def _said(text: str, counts: Counts) -> tuple[int, int] | None:
    """(where, how many) of the first outcome or class in a text."""
    forms = [(form, counts.of.get(name, 0)) for name, form in _OUTCOMES.items()]
    forms += [(_plain(name), count) for name, count in counts.classes.items()]
    found = [(each.start(), at, count) for at, (form, count) in enumerate(forms)
             if (each := re.search(rf"\b(?:{form})\b", text))]  # fmt: skip
    return (min(found)[0], min(found)[2]) if found else None


def _amount(each: re.Match[str], rest: str, clause: str, counts: Counts | None) -> bool | None:
    """Whether the counts bear it; None where it speaks of no outcome."""
    named = each["amount"] in _NAMED
    if counts is None:
        outcome = any(re.search(rf"\b(?:{form})\b", rest) for form in _OUTCOMES.values())
        return False if outcome or not named else None
    bases = {counts.total, counts.ended}
    if (failures := _FAILURES.match(rest)) and _said(rest[failures.end() :], counts):
        bases = {counts.of.get("failed", 0), counts.of["unpassed"]}
        rest = rest[failures.end() :]
    elif re.match(r" ?(?:tasks? |cells? |trials? |answers? )?(?:that (?:have )?)?ended\b.*\b\w", rest):
        after = re.sub(r"^.*?\bended\b", "", rest)
        if _said(after, counts):
            bases, rest = {counts.ended}, after
    said = _said(rest, counts) or (None if named else _said(clause, counts))
    if said is None:
        return None if named else False
    at, count = said
    if each["digits"]:
        number = _number(each["digits"])
        if count == number and not rest[:at].strip():
            return each["amount"] in ("all", "each", "every")
        if number not in bases:
            return False
        bases = {number}
    answer = all(base and _holds(each, count, base) for base in bases)
    return answer != bool(each["negated"])


def _holds(each: re.Match[str], count: int, base: int) -> bool:
    amount, share = each["amount"], Fraction(count, base)
    if amount in ("none", "nothing", "no"):
        return share <= Fraction(5, 100) if each["about"] else count == 0
    if amount in ("all", "everything", "every", "each"):
        return Fraction(9, 10) <= share < 1 if each["about"] else count == base
    if amount.endswith(("few", "handful", "any")):
        return 0 < share <= _FEW
    if amount.endswith(("most", "majority")):
        return 2 * count > base
    named = Fraction(*next(pair for name, pair in _SHARES.items() if name in amount))
    if each["about"]:
        return abs(share - named) <= _NEAR
    if each["side"]:
        return share > named if each["side"] in ("more than", "over") else share < named
    return share == named
