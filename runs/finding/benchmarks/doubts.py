"""Why a name in a request may mean another benchmark than the one with that name: MMLU-CF is not MMLU."""

import re
from collections.abc import Iterable, Sequence

from registry.catalog import Entry
from runs.finding.benchmarks.names import Mention
from runs.finding.benchmarks.parts import Hit
from runs.finding.vocabulary import CODE_LANGUAGES, LANGUAGES, OTHER_LANGUAGES, QUALIFIERS
from runs.finding.words import Word, fold

_GLUE = ("-", "_", "/", ".", ":", "'", "+")
_VERSION = re.compile(r"[ _-]*(?P<said>v\d+(?:\.\d+)*|\d+\.\d+|(?:19|20)\d\d)(?![\w%])", re.IGNORECASE)
_MORE_YEARS = re.compile(
    r"\s*(?:and|&|,|/|\+|und|et|y|e|to|bis|-|和|と)\s*(?:aime\s*)?(?:19|20)?\d\d(?!\w)", re.IGNORECASE
)
_NUMERAL = re.compile(r"[ -]+I{1,2}(?![\w'])(?!\s+[a-z])")
_SPLIT = r"train(?:ing)?s?|dev(?:elopment)?|valid(?:ation|ierungs?)?|val"
_OTHER_ROWS = re.compile(
    rf"\b(?P<a>{_SPLIT}|test)[ -]?(?:split|teil|partition)\b|\b(?P<b>{_SPLIT})[ -]?(?:set|rows|"
    rf"questions|samples|data|daten)\b|"
    rf"\b(?:split|partition)\s*[:=]?\s*(?P<c>{_SPLIT}|test)\b|"
    r"\b(?:jeu|données|ensemble|conjunto|datos|dati|insieme) (?:d'|d[eio]s? )(?P<d>entraînement|"
    r"entrenamiento|validación|"
    r"validación|validation|addestramento|treino|treinamento|validação|validazione)|(?P<e>训练集|"
    r"验证集|訓練データ|検証データ)",
    re.IGNORECASE,
)
_BESIDE = re.compile(rf"[ ,:(/_-]{{1,3}}(?P<a>{_SPLIT})(?!\w)", re.IGNORECASE)
_UNKNOWN = re.compile(r"[a-z0-9]+(?:bench|benchmark|eval|qa|mmlu|gsm8k|gsm|gpqa|math)")
_FOREIGN = frozenset(map(fold, LANGUAGES))
_NOT_UNKNOWN = frozenset({"lmeval", "lighteval", "retrieval", "medieval"})


def of(
    entry: Entry, mention: Mention, hits: Sequence[Hit], text: str, words: Sequence[Word], named: Iterable[Mention]
) -> str | None:
    """What makes it doubtful that the entry is meant, in words; None where nothing does."""
    start, stop = _region(mention, hits, text)
    used = [(mention.start, mention.stop), *((hit.start, hit.stop) for hit in hits)]
    taken = [*used, *((other.start, other.stop) for other in named)]
    free = [word for word in words if not any(begin < word.stop and word.start < end for begin, end in taken)]
    behind = next((word for word in words if word.start >= stop), None)
    before = next((word for word in reversed(words) if word.stop <= start), None)
    version = _VERSION.match(text, stop)
    if (
        version
        and not _same_version(version["said"], entry.version)
        and (version["said"][0] in "vV" or "." in version["said"] or entry.version)
    ):
        return f"{text[start : version.end()].strip()} is not {entry.name}"
    for word, gap in (
        (behind, text[stop : behind.start] if behind else ""),
        (before, text[before.stop : start] if before else ""),
    ):
        if (
            word is not None
            and word in free
            and (gap in _GLUE or (word.folded in QUALIFIERS and gap.strip(" ") == "" and gap))
        ):
            return f"{text[min(start, word.start) : max(stop, word.stop)]} is not {entry.name}"
    more = _MORE_YEARS.match(text, stop) if len(entry.version) == 4 else None
    if more:
        return f"{text[start : more.end()]} is not {entry.name}"
    if len(entry.version) == 4 and _NUMERAL.match(text, stop):
        return f"one of the papers of {entry.name} is not {entry.name}"
    rows = _BESIDE.match(text, stop) or _OTHER_ROWS.search(text)
    if rows and not _is_its_split(next(filter(None, rows.groups())), entry, [hit.slug for hit in hits]):
        return f"the {rows[0].strip(' ,:(/_-')} is not {entry.name}"
    return _language(entry, hits, text, free)


def strangers(text: str, words: Sequence[Word], taken: Iterable[tuple[int, int]]) -> list[str]:
    """Words that look like the name of a benchmark which nobody here knows."""
    spans = list(taken)
    return [
        word.text
        for word in words
        if len(word.folded) > 5
        and _UNKNOWN.fullmatch(word.folded)
        and word.folded not in _NOT_UNKNOWN
        and not any(start < word.stop and word.start < stop for start, stop in spans)
    ]


def _region(mention: Mention, hits: Sequence[Hit], text: str) -> tuple[int, int]:
    """The name with the parts that stand right beside it."""
    start, stop = mention.start, mention.stop
    for hit in hits:
        if hit.start >= stop and not text[stop : hit.start].strip(" _-:/(."):
            stop = hit.stop
    for hit in reversed(hits):
        if hit.stop <= start and not text[hit.stop : start].strip(" _-:/(."):
            start = hit.start
    return start, stop


def _same_version(said: str, known: str) -> bool:
    plain = [re.sub(r"(?:\.0)+$", "", one.lower().lstrip("v")) for one in (said, known)]
    return plain[0] == plain[1]


def _is_its_split(said: str, entry: Entry, slugs: Sequence[str]) -> bool:
    """Whether the entry, or one of these parts of it, takes its rows from a split of such a name."""
    begins = fold(said)[:3]
    places = [*entry.locators, *(place for slug in slugs for place in entry.locators_of(slug))]
    return any(str(one.get("split", "")).startswith(begins) for one in places)


def _language(entry: Entry, hits: Sequence[Hit], text: str, free: Sequence[Word]) -> str | None:
    own = fold(" ".join((entry.name, entry.description, *entry.aliases)))
    for word in free:
        foreign = word.folded in _FOREIGN and word.folded not in own.split()
        if foreign or (entry.kind == "code" and word.folded in CODE_LANGUAGES):
            return f"{entry.name} is not in {word.text}"
    other = next((one for one in OTHER_LANGUAGES if one in text), None)
    return f"{entry.name} is not in {other}" if other and not hits else None
