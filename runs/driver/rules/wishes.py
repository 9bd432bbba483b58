"""A fork's description in plain words, as fields of a grader: the few that are sure, all else is refused."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Change = Mapping[str, Any]


class NotUnderstood(Exception):
    """The description asks for something that no field of the grader says. The message names the words."""


@dataclass(frozen=True)
class Wish:
    """``pattern``: the words; ``kinds``: the graders that have the field; ``change``: the fields."""

    pattern: str
    kinds: tuple[str, ...]
    change: Callable[[re.Match[str]], Change]


def _set(**fields: Any) -> Callable[[re.Match[str]], Change]:
    return lambda match: fields


TEXTS, ALL = ("exact", "contains"), ("exact", "contains", "regex", "numeric", "choice", "tool_calls")
NUMBER = r"(\d+(?:\.\d+)?(?:e-?\d+)?)"
ORDER = r"(?:the )?order(?: of (?:the )?(?:function |tool )?calls)?"
SETS = r"compare (?:them |calls |the calls )?(?:as )?sets?(?: of (?:\{[^}]*\}|[\w ]+?(?= instead|$|[.,;])))?"
# Tried in this order; what one has read is not read again, so that "case-sensitive" comes before "case".
WISHES = (
    Wish(r"(?:do not|don't|never) ignore (?:the )?case|(?:be |is |should be )?case[- ]sensitive(?:ly)?|case matters",
         TEXTS, _set(normalise={"ignore_case": False})),
    Wish(r"(?:do not|don't|never) ignore (?:the )?case|(?:be |is |should be )?case[- ]sensitive(?:ly)?|case matters",
         ("regex",), _set(ignore_case=False)),
    Wish(r"ignore (?:the |upper and lower |letter )?case|(?:be )?case[- ]insensitive(?:ly)?"
         r"|case (?:does not|doesn't|should not|shouldn't) matter", TEXTS, _set(normalise={"ignore_case": True})),
    Wish(r"ignore (?:the |upper and lower |letter )?case|(?:be )?case[- ]insensitive(?:ly)?"
         r"|case (?:does not|doesn't|should not|shouldn't) matter", ("regex",), _set(ignore_case=True)),
    Wish(r"ignore (?:the |all |any )?punctuation(?: marks)?"
         r"|punctuation (?:does not|doesn't|should not|shouldn't) matter",
         TEXTS, _set(normalise={"ignore_punctuation": True})),
    Wish(r"ignore (?:the |extra )?(?:white ?space|spaces)"
         r"|(?:white ?space|spaces) (?:does not|do not|doesn't|don't|should not|shouldn't) matter",
         TEXTS, _set(normalise={"ignore_whitespace": True})),
    Wish(rf"{ORDER} (?:does not|doesn't|should not|shouldn't|must not) matter|ignore (?:the |their |call )?order"
         r"|(?:in )?any order|regardless of (?:the |their )?order|order[- ](?:insensitive(?:ly)?|independent(?:ly)?)"
         rf"|{SETS}(?: instead of (?:ordered )?lists)?", ("tool_calls",), _set(order="any")),
    Wish(rf"{ORDER} (?:matters|should matter|must matter)|(?:in )?(?:the )?same order"
         r"|(?:make (?:it|them) )order[- ]sensitive", ("tool_calls",), _set(order="same")),
    Wish(r"(?:with |use |allow )?(?:a |an )?relative tolerance (?:of )?" + NUMBER + r"( ?%)?", ("numeric",),
         lambda match: {"relative": float(match[1]) / (100 if match[2] else 1)}),
    Wish(r"(?:with |use |allow )?(?:a |an )?tolerance (?:of )?" + NUMBER + r" ?%", ("numeric",),
         lambda match: {"relative": float(match[1]) / 100}),
    Wish(r"(?:with |use |allow )?(?:a |an |the )?(?:absolute )?tolerance (?:of )?" + NUMBER, ("numeric",),
         lambda match: {"absolute": float(match[1])}),
    Wish(r"(?:take |use |read )?(?:only )?the last number", ("numeric",),
         _set(extract={"pattern": r"[-−]?\d[\d,]*(?:\.\d+)?", "which": "last"})),
    Wish(r"(?:allow |give |with |award )?partial credit", ("contains", "choice", "tool_calls"), _set(partial=True)),
    Wish(r"no partial credit|without partial credit|all or nothing", ("contains", "choice", "tool_calls"),
         _set(partial=False)),
    Wish(r"(?:several|multiple|more than one) (?:right |correct )?(?:answers?|choices?)(?: can be (?:right|correct))?",
         ("choice",), _set(multiple=True)),
    Wish(r"whole words(?: only)?", ("contains",), _set(whole_words=True)),
    Wish(r"(?:ignore|strip|drop) (?:the )?(?:reasoning|thinking)|ignore what (?:it|the model) thought", ALL,
         _set(strip_reasoning=True)),
)  # fmt: skip
# Words that ask for nothing by themselves, and a complaint that says what is amiss.
COMPLAINT = re.compile(r"(?:[\w ]*\b)?(?:failures?|scores?|scoring|scorer|grader|comparisons?|calls?|results?) "
                       r"(?:are|is) (?:too |wrongly )?(?:order|case)[- ]sensitive|[\w ]*\bfails? (?:on|because of|for) "
                       r"(?:the )?(?:order|case|punctuation|whitespace|rounding)", re.IGNORECASE)  # fmt: skip
_FILLER = """
a an and also please the it its that this so when while just only should must to by with of in on
for be is are make let have has scorer grader score scoring rewrite change fix update task_impl.py
score() compare comparing comparison answer answers output outputs text texts call calls function
functions calling parallel numbers number arguments args use instead lists list them they their as
then expected got
"""
FILLER = frozenset(_FILLER.split())


def grader_with(description: str, grader: Mapping[str, Any]) -> dict[str, Any]:
    """The grader with what the description asks for. Raises NotUnderstood where it asks for anything else.

    It may come out as it was: then the grader does so already.
    """
    made, applied = dict(grader), False
    for sentence in re.split(r"(?<=[.!?;])\s+|\n+", description.strip()):
        rest = sentence.strip().rstrip(".!?;")
        if not rest or COMPLAINT.fullmatch(rest):
            continue
        rest, changes = _read(rest, grader["kind"])
        left = [word for word in re.findall(r"[^\s,:]+", rest) if word.lower() not in FILLER]
        if left:
            raise NotUnderstood(f"“{sentence.strip()}” asks for more than a field of the grader says "
                                f"({' '.join(left)[:120]})")  # fmt: skip
        for change in changes:
            made, applied = _merged(made, change), True
    if not applied:
        raise NotUnderstood("no change to the grader can be made out in it")
    return made


def _read(sentence: str, kind: str) -> tuple[str, list[Change]]:
    """(what is left of the sentence, the changes that its words ask for)."""
    changes = []
    for wish in WISHES:
        if kind not in wish.kinds:
            continue
        pattern = re.compile(rf"(?<!\w)(?:{wish.pattern})(?!\w)", re.IGNORECASE)
        while (match := pattern.search(sentence)) is not None:
            if _negated(sentence[: match.start()]):
                raise NotUnderstood(f"“{sentence}” says that something is not to be")
            changes.append(wish.change(match))
            sentence = f"{sentence[: match.start()]} {sentence[match.end() :]}"
    return sentence, changes


def _negated(before: str) -> bool:
    return re.search(r"(?:\bnot|n't|\bnever|\bno|\bwithout)(?:\s+\w+){0,2}\s*$", before, re.IGNORECASE) is not None


def _merged(grader: Mapping[str, Any], change: Change) -> dict[str, Any]:
    made = dict(grader)
    for name, value in change.items():
        old = made.get(name)
        made[name] = (
            {**old, **value}
            if isinstance(old, Mapping) and isinstance(value, Mapping) and name == "normalise"
            else value
        )
    return made
