"""Whether what a text claims in words stands in the facts that it was written from: comparisons, causes, amounts. Pure.

A claim is borne by the counts of the facts, by an interval beside a chance, or by one fact that says the same with the
same words. Anything else is refused: a claim that is left out costs less than one that is wrong.
"""

import re
from collections.abc import Sequence

from runs.driver.llm import counts

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CLAUSE = re.compile(r"[;:]\s+|,?\s+\b(?:but|while|whereas|although|though|however|yet)\b|,\s+(?:and|so)\b")
CAUSE = (
    r"because|due to|owing to|caus\w+|as a result|result(?:s|ed|ing) (?:from|in)|thanks to|stem\w*|reasons?|explain\w*|"
    r"lead(?:s|ing)? to|led to|why|since(?! \d)|suggest\w*|indicat\w*|impl(?:y|ies|ied)|therefore|thus|hence|"
    r"consequently|attribut\w+|driven by|given that|comes? from|came from"
)
COMPARISON = (
    r"better|worse|best|worst|higher|highest|lower|lowest|greater|greatest|stronger|strongest|weaker|weakest|superior|"
    r"inferior|faster|fastest|slower|slowest|cheaper|cheapest|dearer|dearest|quicker|harder|hardest|easier|easiest|"
    r"larger|largest|bigger|biggest|smaller|smallest|beat(?:s|en|ing)?|outperform\w*|surpass\w*|exceed\w*|outscor\w*|"
    r"outnumber\w*|ahead|behind|leads?|leading|trails?|trailing|top|tops|rank\w*|compar\w+|versus|than|above|below|"
    r"most|least|mainly|main|mostly|chiefly|primarily|largely|predominant\w*|dominat\w*|dominant|more|fewer|twice|"
    r"double\w*|triple\w*|thrice|halves|halved|thirds|quarters"
)
TREND = (
    r"improv\w*|declin\w*|drop(?:s|ped|ping)?|rises?|rose|rising|risen|falls?|fell|falling|increas\w*|decreas\w*|"
    r"grow\w*|grew|gain(?:s|ed)?|regress\w*|trend\w*|deteriorat\w*|degrad\w*|steadily|steady|climb\w*|jump\w*|"
    r"consisten\w+|stable"
)
SIGNIFICANCE = (
    r"significan\w*|clear|clearly|substantial\w*|considerabl\w*|marked|markedly|dramatic\w*|decisive\w*|convincing\w*|"
    r"statistical\w*|undoubtedly|obvious\w*|definitely|prove[ns]?|robust\w*|remarkabl\w*"
)
ABILITY = (
    r"struggl\w*|excel(?:s|led)?|weak\w*|strengths?|strong|strongly|poor|poorly|impressive\w*|excellent|solid|master\w*|"
    r"(?:good|bad|great|capable) (?:at|in|with)|(?:did|does|do|doing|perform\w*|handl\w*) (?:\w+ )?(?:well|badly)|"
    r"trouble|difficult\w*|(?:high|low) (?:rate|score|accuracy|pass)"
)
_CLAIM = re.compile(rf"\b(?:(?P<cause>{CAUSE})|(?P<other>{COMPARISON}|{TREND}|{SIGNIFICANCE}|{ABILITY}))\b")
# What is said not to be known is no claim.
_UNKNOWN = re.compile(
    r"\b(?:do|does) not (?:say|tell|show)\b|\b(?:is|are) (?:not known|unknown)\b|"
    r"\b(?:can't|cannot|can not) be (?:told|said)\b"
)
_HYPHEN = re.compile(r"(?<=[a-z])-(?=[a-z])")
_AT = re.compile(r"\bat (?:most|least)(?= [\d$])")
_CHANCE = re.compile(
    r"\bchance\D{0,30}?(\d+(?:\.\d+)?)\s?%|(\d+(?:\.\d+)?)\s?%[^.;,]{0,20}\bby chance\b", re.IGNORECASE
)
_INTERVAL = re.compile(r"95% interval (\d+(?:\.\d+)?) to (\d+(?:\.\d+)?)")
_TO_CHANCE = re.compile(
    r"\b(?P<not>not )?(?P<sure>significantly |clearly )?(?P<side>above|better than|higher than|beats|below|worse than|"
    r"lower than) (?:chance|guessing)\b"
)
# Facts that say why: how many ended so and what that means, what is waited for, what failed and with which words.
_SAYS_WHY = re.compile(
    rf"^(?:\d[\d,]* (?:failed|errored|unscored|skipped), |Waiting|Stopped|\w[\w ]* failed: |.*\b(?:{CAUSE})\b)",
    re.DOTALL,
)
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[a-z]+")
_NOT = re.compile(r"\b(?:not|no|never|none|cannot|without)\b|n't\b")
_PLAIN = frozenset({
    "the", "a", "an", "of", "to", "in", "and", "or", "is", "are", "was", "were", "be", "been", "it", "its", "that",
    "this", "these", "those", "they", "them", "their", "there", "which", "with", "for", "by", "on", "at", "as",
    "from", "has", "have", "had", "do", "did", "does", "so", "then", "now", "still", "run", "runs", "task", "tasks",
    "cell", "cells", "trial", "trials", "far", "here", "being", "can", "will", "would", "may", "also", "not", "such",
})  # fmt: skip
_ENDINGS = ("ures", "ure", "ions", "ion", "ing", "ies", "ed", "es", "ly", "s", "e")


def unborne(text: str, facts: Sequence[str]) -> list[str]:
    """The claims of ``text`` that ``facts`` (one text each) don't bear: each word, in its clause."""
    units = _units(facts)
    counted = counts.counts_of(units)
    found = []
    for sentence in _SENTENCE.split(text):
        for clause in filter(None, map(_tidy, _CLAUSE.split(sentence))):
            if words := _unborne(clause, units, counted):
                found.append(f"“{words[0]}” in “{clause[:120]}”")
    return found


def _tidy(clause: str | None) -> str:
    plain = _HYPHEN.sub(" ", (clause or "").casefold().replace("’", "'"))
    return " ".join(plain.split()).strip(" .,!?")


def _units(facts: Sequence[str]) -> list[str]:
    """The facts; an indented line belongs to the one before it."""
    units: list[str] = []
    for fact in facts:
        if fact.startswith(" ") and units:
            units[-1] += f" {fact.strip()}"
        else:
            units.append(fact)
    return units


def _unborne(clause: str, units: Sequence[str], counted: counts.Counts | None) -> list[str]:
    known = _UNKNOWN.search(clause)
    told = clause[: known.start()] if known else clause
    if any(_same(told, unit, ordered=True) for unit in units):
        return []
    wrong = counts.wrong(told, counted)
    rest = _AT.sub(" ", _beside_chance(told, units))
    free = counts.borne(told, counted)
    for each in _CLAIM.finditer(rest):
        if each["cause"]:
            if not any(_SAYS_WHY.match(unit) and _same(told, unit, ordered=False, but=each[0]) for unit in units):
                wrong.append(each[0])
        elif not set(each[0].split()) <= free:
            wrong.append(each[0])
    return list(dict.fromkeys(wrong))


def _beside_chance(clause: str, units: Sequence[str]) -> str:
    """The clause without what it says of chance, where an interval that excludes a chance, or holds it, bears that."""
    text = " ".join(units)
    chance, interval = _CHANCE.search(text), _INTERVAL.search(text)
    if chance is None or interval is None:
        return clause
    level, low, high = float(chance[1] or chance[2]), float(interval[1]), float(interval[2])

    def kept(each: re.Match[str]) -> str:
        above = each["side"] in ("above", "better than", "higher than", "beats")
        excluded = low > level if above else high < level
        return " " if excluded != bool(each["not"]) else each[0]

    return _TO_CHANCE.sub(kept, clause)


def _same(clause: str, unit: str, *, ordered: bool, but: str = "") -> bool:
    """Whether one fact has all the words of a clause, and denies as it does; ``ordered``: in the same order."""
    fact = unit.casefold().replace("’", "'")
    claimed = _stems(re.sub(rf"\b{re.escape(but)}\b", " ", clause) if but else clause)
    known = _stems(fact)
    if not claimed:
        return False
    if not ordered:
        return set(claimed) <= set(known)
    rest = iter(known)
    return bool(_NOT.search(clause)) == bool(_NOT.search(fact)) and all(word in rest for word in claimed)


def _stems(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.replace("'s", " ")) if word not in _PLAIN]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl" else word
