"""How many samples and trials a request asks for, and which parameters of the model."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from runs.finding.vocabulary import NUMBERS, SAMPLES, TRIALS
from runs.finding.words import distance

Span = tuple[int, int]
_NUMBER = rf"(?P<n>\d{{1,3}}(?:[,.'\u00a0 ]\d{{3}})+(?!\d)|\d+(?:\.\d+)?k\b|\d+|{'|'.join(NUMBERS)})"
_FREE = r"(?<![\w.,@/-])"
_DECIMAL = r"(?P<x>\d+(?:[.,]\d+)?)"
_IS = r"\s*(?:=|:|of|at|to|is|de|von|bei|auf|a|di|は|为|設定)?\s*"
_I = re.IGNORECASE

_COUNTED = re.compile(
    rf"{_FREE}{_NUMBER}\s*(?P<adjective>premières|premiers|primeras|primeros|primi|prime|random|first)?\s*[-]?(?P<unit>[^\W\d_]+)",
    _I,
)
_LED = re.compile(
    r"\b(?:first|limit(?:ed)?(?:\s+to)?|at most|max(?:imum|\.)?|only|just|nur|ersten?|top|n|premières|premiers|"
    rf"primeras|primeros|prime|primi|solo|seulement|sample|subset of)\s*[=:]?\s*{_NUMBER}"
    r"(?!\s*[-.]?(?:tokens?|\d|%|trials?|runs?|times?|shot))\b",
    _I,
)
_LABELLED = re.compile(rf"\b(?P<unit>[^\W\d_]+)\s*[:=]\s*{_NUMBER}(?![\w%]|\.\d)", _I)
_VAGUE = re.compile(
    r"\b(?:a few|few|(?:a )?handful(?: of)?|(?:a )?couple(?: of)?|several|some|half(?: of)?|a fraction of|ein paar|"
    r"einige|wenige|quelques|la moitié des?|algunas|algunos|unos|unas|pocas|alcune|poche)\s+(?:of\s+)?"
    r"(?:the\s+|its\s+|las\s+)?(?P<unit>[^\W\d_]+)",
    _I,
)
_OFTEN = re.compile(r"\b(?:(?P<two>twice|zweimal)|(?P<three>thrice|dreimal))\b", _I)
_TOKENS_SAID = re.compile(rf"{_FREE}\d+\s+tokens\b", _I)
_EASTERN = r"(?<!第)(?P<n>\d+|[一二两兩三四五六七八九十百]+)"
_EAST = re.compile(
    rf"(?:前|最初の|仅|只|只跑)?\s*{_EASTERN}\s*(?P<unit>道题|个问题|个样本|题|條|条|问|問題|問|件|例|サンプル|個|個の)"
)
_EAST_TRIALS = re.compile(rf"{_EASTERN}\s*(?:次|回|遍)")
_TIMES = re.compile(rf"(?:{_FREE}(?P<before>\d+)\s*[x×]|(?<![\w])[x×]\s*(?P<after>\d+))(?!\w)", _I)
_PER = re.compile(
    r"\s+(?:per|pro|par|por|je|für jedes|for each|for every)\s+"
    r"(?!question|task|sample|item|row|frage|aufgabe|pregunta)\w+|\s+(?:in|of|from) each\b",
    _I,
)
_EACH = re.compile(
    r"\s+(?:per|pro|par|por|je|for each|for every)\s+(?:question|problem|task|item|row|prompt|frage)\b", _I
)
_SHARE = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)?\s*(?:%|percent\b|prozent\b|pour cent\b|por ciento\b)", _I)
_PASS = re.compile(r"\bpass(?:\s?[@^]\s?|[\s-]at[\s-])(?P<k>\d+|k)\b", _I)
_SHOTS = re.compile(r"\b(?:\d+|zero|few|five|one)[- ]?shots?\b", _I)
_NO_SHOTS = re.compile(r"(?:0|zero)\b", _I)
_TOKENS = r"max(?:imum|\.)?"
_EFFORT = "minimal|low|medium|high"
_PARAMS: tuple[tuple[str, type, str], ...] = (
    ("temperature", float, rf"(?:\b(?:temperature|temperatura|temperatur|température|temp)\b|温度){_IS}{_DECIMAL}"),
    ("top_p", float, rf"\btop[-_ ]?p\b{_IS}{_DECIMAL}"),
    ("max_tokens", int, rf"\b{_TOKENS}[-_ ]?(?:output[-_ ])?tokens\b{_IS}(?P<x>\d+)"),
    ("max_tokens", int, rf"\b(?:{_TOKENS}|at most)\s+(?P<x>\d+)\s+tokens\b"),
    ("max_tokens", int, rf"{_FREE}(?P<x>\d+)\s+max[-_ ]?tokens\b"),
    ("seed", int, rf"\b(?:seed|random seed){_IS}(?P<x>\d+)"),
    ("reasoning_effort", str, rf"\breasoning(?:[-_ ]effort)?{_IS}(?P<x>{_EFFORT})\b"),
    ("reasoning_effort", str, rf"\b(?P<x>{_EFFORT}) reasoning(?: effort)?\b"),
)


@dataclass(frozen=True)
class Quantities:
    """``limits``: every number of samples that is said, each once. ``spans``: what of the text that was.

    ``unread``: a number that is no limit of a run (a share, so many of each part, none).
    ``bare``: numbers without a word.
    """

    limits: tuple[int, ...] = ()
    trials: int | None = None
    params: dict[str, Any] = field(default_factory=dict)
    unread: str = ""
    bare: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()


def read(text: str) -> Quantities:
    """``text``: plain (``words.plain``), with whatever else is known to hold numbers blanked out."""
    told, spans = _params(text)
    rest = blanked(text, spans)
    notes: list[str] = []
    shares = [one.span() for one in _SHARE.finditer(rest)]
    unread = [rest[start:stop] for start, stop in shares]
    shots = [one for one in _SHOTS.finditer(rest)]
    shown = [one for one in shots if not _NO_SHOTS.match(one.group())]
    if shown:
        notes.append(f"{shown[0].group()}: examples before the question are the scorer's, so this was not followed.")
    spans += [*shares, *(one.span() for one in shots)]
    rest = blanked(text, spans)
    unread += [one.group() for one in _VAGUE.finditer(rest) if _unit(one["unit"].lower()) == "samples"]
    notes += [f"{one.group()}: say max_tokens to have it followed." for one in _TOKENS_SAID.finditer(rest)]
    trials, limits = [], []
    for count, what, span in _counts(rest):
        if what == "trials" or (what == "samples" and _EACH.match(rest, span[1])):
            trials.append(count)
        elif what == "samples" and _PER.match(rest, span[1]):
            unread.append(rest[span[0] : span[1]].strip() + _PER.match(rest, span[1]).group())  # type: ignore[union-attr]
        elif what == "samples" and count == 0:
            unread.append(rest[span[0] : span[1]].strip())
        elif what == "samples":
            limits.append(count)
        spans.append(span)
    passes = [one for one in _PASS.finditer(text)]
    times = [*trials, *(int(one["k"]) for one in passes if one["k"].isdigit() and int(one["k"]) > 1)]
    spans += [one.span() for one in passes]
    if len(times) > len(trials) and limits:
        notes.append(
            f"{times[0]} trials of each of the first {limits[0]} samples: say how often each is asked as trials."
        )
    return Quantities(
        tuple(dict.fromkeys(limits)),
        times[0] if times else None,
        told,
        "; ".join(unread),
        (),
        tuple(notes),
        tuple(spans),
    )


def blanked(text: str, spans: list[Span] | tuple[Span, ...]) -> str:
    """The text with signs that name nothing in the place of the spans, and of the same length."""
    for start, stop in spans:
        text = f"{text[:start]}{'|' * (stop - start)}{text[stop:]}"
    return text


def params(text: str) -> list[Span]:
    """Where parameters of the model are said."""
    return _params(text)[1]


def _params(text: str) -> tuple[dict[str, Any], list[Span]]:
    params: dict[str, Any] = {}
    spans: list[Span] = []
    for name, kind, pattern in _PARAMS:
        for found in re.finditer(pattern, text, _I):
            value = found["x"]
            params.setdefault(name, kind(value.replace(",", ".") if kind is float else value.lower()))
            spans.append(found.span())
    return params, spans


def _counts(text: str) -> Iterator[tuple[int, str, Span]]:
    """(number, "samples" or "trials", where), each place once."""
    taken: list[Span] = []
    for found, count, what in _found(text):
        span = found.span()
        if not any(start < span[1] and span[0] < stop for start, stop in taken):
            taken.append(span)
            yield count, what, span


def _found(text: str) -> Iterator[tuple[re.Match[str], int, str]]:
    for pattern, what in ((_EAST_TRIALS, "trials"), (_EAST, "samples")):
        for one in pattern.finditer(text):
            yield one, _eastern(one["n"]), what
    for one in _OFTEN.finditer(text):
        yield one, 2 if one["two"] else 3, "trials"
    for pattern in (_LABELLED, _COUNTED):
        for one in pattern.finditer(text):
            what = _unit(one["unit"].lower()) or ("samples" if one.groupdict().get("adjective") else "")
            if what:
                yield one, _int(one["n"]), what
    for one in _LED.finditer(text):
        if one["n"].lower() != "one":  # just one model
            yield one, _int(one["n"]), "samples"
    for one in _TIMES.finditer(text):
        yield one, int(one["before"] or one["after"]), "trials"


def _unit(word: str) -> str:
    for what, known in (("samples", SAMPLES), ("trials", TRIALS)):
        if word in known or (len(word) > 5 and any(distance(word, one) == 1 for one in known if len(one) > 5)):
            return what
    return ""


def _int(text: str) -> int:
    if text.lower() in NUMBERS:
        return NUMBERS[text.lower()]
    return int(float(text[:-1]) * 1000) if text[-1] in "kK" else int(re.sub(r"\D", "", text))


def _eastern(text: str) -> int:
    """12, 十二, 二十, 百五十"""
    if text[0] not in _DIGITS:
        return int(text)
    total, digit = 0, 0
    for sign in text:
        value = _DIGITS[sign]
        total, digit = (total + (digit or 1) * value, 0) if value >= 10 else (total, value)
    return total + digit


_DIGITS = {
    "一": 1,
    "二": 2,
    "两": 2,
    "兩": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
    "十": 10,
    "百": 100,
}
