"""Which words of a request look like the name of a benchmark that nobody here knows: what is worth a search elsewhere.

Only these words leave the house, never the request: one name, or none where nothing looks like one.
"""

import re
from collections.abc import Iterator, Sequence

from runs.finding.vocabulary import FILLERS, LINKS, MANNERS, NARROWING, SAMPLES, TRIALS
from runs.finding.words import Word

MOST_WORDS, LONGEST = 4, 60
_ORDINARY = FILLERS | LINKS | MANNERS | NARROWING | SAMPLES | TRIALS
_QUOTED = re.compile(r"[\"“„«]\s*(?P<name>[^\"“”„«»|\n]{3,60}?)\s*[\"“”»]")
_TOKEN = re.compile(r"(?<![\w./@-])[A-Za-z](?:[\w.-]*\w)?(?![/@])", re.ASCII)
_ID = re.compile(r"(?:bm|sub|run|imp|snp|tsk)_", re.IGNORECASE)
_SHORT_FOR = frozenset((
    "ai", "api", "asap", "ci", "csv", "faq", "gpu", "json", "llm", "llms", "nlp", "ok", "pdf", "pr", "qa", "sut",
    "toml", "url", "xml", "yaml",
))  # fmt: skip
_KINDS = frozenset(("bench", "benchmark", "benchmarks", "dataset", "eval", "evals", "test", "testset"))
_RUNNING = frozenset((
    "run", "evaluate", "eval", "benchmark", "test", "try", "score", "teste", "starte", "lance", "ejecuta", "evalua",
    "esegui", "avalia",
))  # fmt: skip
_ARTICLES = frozenset(("the", "a", "an", "der", "die", "das", "den", "le", "la", "les", "el", "il", "lo", "o"))
_OWN = frozenset(("my", "our", "mein", "meine", "meinen", "unser", "unsere", "mon", "notre", "mi", "nuestro", "mio"))


def name_in(text: str, words: Sequence[Word], strangers: Sequence[str]) -> str:
    """The likeliest name, or "". ``text``: with models, quantities and data sets blanked out (by ``|``)."""
    quoted = _QUOTED.search(text)
    if quoted:
        return quoted["name"]
    named = [
        *strangers,
        *_by_spelling(text),
        *_by_capitals(text, words),
        *_by_kind(text, words),
        *_by_place(text, words),
    ]
    return next((one for one in named if 2 < len(one) <= LONGEST and not _ID.match(one) and not _is_own(one, text)), "")


def _is_own(name: str, text: str) -> bool:
    """Behind "my": what is the caller's own is nowhere else."""
    before = text[: text.find(name)].split()
    return bool(before) and before[-1].casefold() in _OWN


def _by_spelling(text: str) -> Iterator[str]:
    """SuperGPQA, BLiMP, gsm1k, logic_grid: spelled as no ordinary word is."""
    for one in _TOKEN.finditer(text):
        said = one.group()
        folded = said.lower()
        capitals = sum(sign.isupper() for sign in said)
        odd = capitals > 1 or "_" in said or (len(said) > 3 and any(sign.isdigit() for sign in said))
        if odd and folded not in _ORDINARY | _SHORT_FOR and not re.fullmatch(r"v?[\d.]+\w?", folded):
            yield said


def _by_capitals(text: str, words: Sequence[Word]) -> Iterator[str]:
    """Zebra Stripes Exam"""
    for run in _runs(text, words):
        while run and not run[0].text[0].isupper():
            run = run[1:]
        titled = [word for word in run if word.text[0].isupper() or word.text.isdigit()]
        if len(titled) == len(run) > 1:
            yield _between(text, run)


def _by_kind(text: str, words: Sequence[Word]) -> Iterator[str]:
    """the zebra stripes benchmark"""
    for at, word in enumerate(words):
        if word.folded in _KINDS:
            yield from (_between(text, run) for run in _runs(text, words[:at]) if run[-1] is words[at - 1])


def _by_place(text: str, words: Sequence[Word]) -> Iterator[str]:
    """Run zebralogic on it; or nothing but a name."""
    runs = list(_runs(text, words))
    if len(runs) == 1 and len(runs[0]) == len(words):
        yield _between(text, runs[0])
    if words and words[0].folded in _RUNNING:
        at = next((at for at, word in enumerate(words[1:], 1) if word.folded not in _ARTICLES), 0)
        yield from (_between(text, run) for run in runs if at and run[0] is words[at])


def _runs(text: str, words: Sequence[Word]) -> Iterator[list[Word]]:
    """Words that stand side by side and are not those of every request; a few at a time."""
    run: list[Word] = []
    for word in words:
        if run and (word.folded in _ORDINARY or text[run[-1].stop : word.start] not in (" ", "-", "_", "'")):
            yield from [run] if len(run) <= MOST_WORDS else []
            run = []
        if word.folded not in _ORDINARY:
            run.append(word)
    yield from [run] if 0 < len(run) <= MOST_WORDS else []


def _between(text: str, run: Sequence[Word]) -> str:
    return text[run[0].start : run[-1].stop]
