"""A name that nobody here knows, searched for at the Hugging Face Hub. What is found is offered; hardly ever taken."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import partial

from runs.context import Context
from runs.finding import Problem
from runs.finding.benchmarks.candidates import Candidate
from runs.finding.words import squash
from runs.sources.huggingface.searching import Listed, search, spellings
from runs.sources.snapshots import by_a_way
from runs.sources.way_out import way_out

SHOWN = 8
ALIKE, VERY_ALIKE = 0.6, 0.9  # likeness of names from which a data set is offered, and from which it is a rival
ESTABLISHED = 1_000  # downloads a month: below, anybody's upload of a well-known name would do
SURE = 0.7  # the catalogue's names weigh 0.97


@dataclass(frozen=True)
class Hits:
    """What the Hub has for a name, the likeliest first. ``taken``: the one that must be meant, or None."""

    name: str
    candidates: tuple[Candidate, ...] = ()
    taken: Candidate | None = None


async def looked_up(context: Context, name: str) -> Hits:
    """Raises SourceError where the Hub can't be asked: then nobody knows whether it has such a data set."""
    listed, whole = await by_a_way(partial(way_out, context), lambda web: search(web, name))
    return judged(name, listed, whole)


def judged(name: str, listed: Sequence[Listed], whole: bool) -> Hits:
    """Pure. One is taken only where it alone has that name, the list is ``whole``, and many use it already.

    A name of small letters may be written in pieces elsewhere (zebra-logic), so that none is taken for it.
    """
    found = [(one, likeness(name, one.id)) for one in listed]
    kept = sorted((each for each in found if each[1] >= ALIKE), key=lambda each: _order(*each))
    shown = tuple(_candidate(one, alike) for one, alike in kept[:SHOWN])
    rivals = [one for one, alike in kept if alike >= VERY_ALIKE]
    taken = (
        len(rivals) == 1
        and whole
        and (not name.islower() or len(spellings(name)) > 1)
        and likeness(name, rivals[0].id) == 1
        and rivals[0].readable is True
        and not rivals[0].gated
        and rivals[0].downloads >= ESTABLISHED
    )
    return Hits(name, shown, shown[0] if taken else None)


def likeness(name: str, dataset: str) -> float:
    """0 to 1: of the name and the id, with or without its owner."""
    said = squash(name)
    known = [squash(dataset.rpartition("/")[2]), squash(dataset)]
    ratios = [SequenceMatcher(None, said, one).ratio() for one in known]
    held = 0.75 if len(said) > 3 and any(said in one for one in known) else 0.0
    return max(held, *ratios)


def _order(one: Listed, alike: float) -> tuple[float, bool, bool, int]:
    return (-round(alike, 1), one.readable is False, one.gated, -one.downloads)


def _candidate(one: Listed, alike: float) -> Candidate:
    told = ["the same name" if alike == 1 else "a similar name", f"{one.downloads:,} downloads a month"]
    told += ["gated: its terms have to be accepted first"] if one.gated else []
    told += ["no file of a format that is read here"] if one.readable is False else []
    weight = 0.5 * alike + min(0.1, 0.02 * math.log10(one.downloads + 1)) - 0.2 * (one.gated or one.readable is False)
    source = {"kind": "huggingface", "ref": one.id, "name": one.id}
    reason = f"on the Hugging Face Hub: {', '.join(told)}"
    return Candidate(f"huggingface:{one.id}", one.id, round(max(0.05, weight), 2), reason, source)


def extended(problem: Problem, hits: Hits) -> Problem:
    """The problem with what the Hub has among its choices, or with the word that it has nothing."""
    if not hits.candidates:
        words = f"{problem.question} A search of the Hugging Face Hub for “{hits.name}” finds nothing like it."
        return replace(problem, question=words)
    choices = (*problem.choices, *(one.doc() for one in hits.candidates))
    words = f"{problem.question} The Hugging Face Hub has data sets of such a name. Is one of them meant?"
    return replace(problem, code="unclear_benchmark", question=words, choices=choices)
