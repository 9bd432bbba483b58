"""From the names in a request to one benchmark and part, or to the question that has to be asked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from registry.catalog import get
from runs.finding.benchmarks import candidates, doubts, parts, unknown
from runs.finding.benchmarks.candidates import Candidate
from runs.finding.benchmarks.names import HINTED, SLIPPED, STRONG, Mention, Target, close
from runs.finding.benchmarks.overlaps import Words, merged, settled
from runs.finding.datasets import Named
from runs.finding.vocabulary import FILLERS, OR
from runs.finding.words import squash

SHOWN = 8  # candidates of one question


@dataclass(frozen=True)
class Outcome:
    """``code`` and ``question`` where it can't be told: then none of ``candidates`` is meant, but one may be chosen.

    ``unknown``: a name in the request that nobody here knows, "" where there is none. ``empty``: the id of the one that
    is meant and has no tasks. ``notes``: what was read as something that it does not quite say.
    """

    candidates: tuple[Candidate, ...]
    code: str | None = None
    question: str = ""
    unknown: str = ""
    empty: str = ""
    notes: tuple[str, ...] = ()


def choose(said: Words, found: Sequence[Mention], outright: Sequence[Named]) -> Outcome:
    """``found``: every mention, overlapping ones too. ``outright``: data sets that are no entry's of the catalogue."""
    kept = settled(said, found)
    sure = merged([one for one in kept if one.weight >= STRONG])
    doubtful = [one for one in kept if HINTED < one.weight < STRONG or _alternative(one, sure, said)]
    listed = [*(one for mention in [*sure, *doubtful] for one in _meant(mention, said)), *map(_named, outright)]
    if len(sure) + len(doubtful) + len({one.ref for one in outright}) > 1:
        return _several(listed)
    taken = [*((one.start, one.stop) for one in kept), *(one.span for one in outright)]
    taken += [(hit.start, hit.stop) for one in kept for target in one.targets for hit in said.hits(target, one)]
    strangers = doubts.strangers(said.text, said.words, taken)
    if strangers and (sure or outright):
        question = f"Nobody here knows {strangers[0]}. Is only the other meant?"
        return Outcome(tuple(listed[:SHOWN]), "unclear_benchmark", question)
    if outright:
        return Outcome((_named(outright[0]),))
    if sure and len(sure[0].targets) == 1:
        return _single(sure[0], said)
    if kept:
        return _unclear(kept, said)
    return _unresolved(said, strangers)


def _alternative(one: Mention, sure: Sequence[Mention], said: Words) -> bool:
    """Whether it is some words of a name right beside a sure one, joined by "or": both are named then."""
    if one.weight > HINTED or any(target in other.targets for other in sure for target in one.targets):
        return False
    if all(word.folded in FILLERS for word in said.words if one.start <= word.start < one.stop):
        return False  # "a test of MMLU", where something is called Test
    gaps = [said.text[min(one.stop, other.stop) : max(one.start, other.start)] for other in sure]
    return any(squash(gap) in OR and gap.strip() != "" for gap in gaps)


def forced(target: Target, part: str | None, said: Words, found: Sequence[Mention]) -> Outcome:
    """The owner has chosen: the target, and its part where the choice names one or the words name a single one."""
    mention = next((one for one in found if target in one.targets), None)
    hits = said.hits(target, mention) if mention and part is None else []
    named = {hit.slug for hit in hits if hit.exact}
    part = part or (named.pop() if len(named) == 1 else None)
    return _subset(target, part, 1.0, "chosen by the run's owner")


def _single(mention: Mention, said: Words) -> Outcome:
    target = mention.targets[0]
    others = tuple(_one(other, HINTED, "has the same name") for other in mention.others if other != target)
    if mention.part is not None:
        return _with(_subset(target, mention.part, 0.97, mention.reason), others)
    hits = said.hits(target, mention)
    slugs = list(dict.fromkeys(hit.slug for hit in hits))
    if len(slugs) > 1:
        listed = tuple(candidates.of(target, slug, HINTED, "named") for slug in slugs)
        return Outcome(
            listed, "unclear_part", f"{target.name}: which part? The request names several, and a run has one."
        )
    lost = parts.unknown(target, said.text, said.words, mention.stop, hits)
    if lost is not None:
        return _lost(target, lost)
    exact = all(hit.exact for hit in hits)
    confidence, reason = min(mention.weight, 0.98 if exact else 0.8), mention.reason if exact else SLIPPED
    made = _with(_subset(target, slugs[0] if slugs else None, confidence, reason), others)
    return replace(made, notes=tuple(_slips(mention, hits, said)))


def _lost(target: Target, lost: str) -> Outcome:
    """The parts that have the word in their names are offered, and all of it."""
    slugs = parts.with_word(target, lost)[: SHOWN - 1]
    near = tuple(candidates.of(target, slug, HINTED, f"has {lost!r} in its name") for slug in slugs)
    question = "Which is meant?" if near else "Is all of it meant?"
    offered = (*near, _one(target, HINTED, "all of it"))
    return Outcome(offered, "unclear_part", f"{target.name} has no part {lost!r}. {question}")


def _slips(mention: Mention, hits: Sequence[parts.Hit], said: Words) -> Iterator[str]:
    target = mention.targets[0]
    if mention.reason == SLIPPED:
        yield f"{said.text[mention.start : mention.stop]!r} was read as {target.name}."
    for hit in hits:
        if not hit.exact:
            meant = candidates.of(target, hit.slug, 1.0, "").name
            yield f"{said.text[hit.start : hit.stop]!r} was read as {meant}."


def _subset(target: Target, part: str | None, confidence: float, reason: str) -> Outcome:
    """A benchmark of the registry runs by one of its subsets: the named one, or the only one."""
    if target.entry is not None or part is not None:
        return Outcome((candidates.of(target, part, confidence, reason),))
    subsets = target.known.subsets
    if len(subsets) == 1:
        return Outcome((candidates.of(target, subsets[0].id, confidence, reason),))
    listed = tuple(candidates.of(target, one.id, HINTED, "a subset of it") for one in subsets[:SHOWN])
    if not listed:
        words = f"{target.name} ({target.known.id}) has no tasks yet."
        return Outcome((), "rows_unavailable", words, empty=target.known.id)
    return Outcome(listed, "several_subsets", f"{target.name} has several subsets. Which one?")


def _several(listed: Sequence[Candidate]) -> Outcome:
    shown = tuple({one.id: one for one in listed}.values())[:SHOWN]
    return Outcome(shown, "several_benchmarks", "The request names several benchmarks, and a run has one. Which one?")


def _unclear(kept: Sequence[Mention], said: Words) -> Outcome:
    best = max(one.weight for one in kept)
    listed = [candidate for one in kept if one.weight == best for candidate in _all(one, said)]
    shown = tuple({one.id: one for one in listed}.values())[:SHOWN]
    doubt = next((one.reason for one in kept if one.weight == best and " is not " in one.reason), "")
    if not doubt:
        return Outcome(shown, "unclear_benchmark", "Which of these is meant?")
    return Outcome(shown, "unclear_benchmark", f"{doubt}. Which benchmark is meant?", _another(doubt, kept))


def _unresolved(said: Words, strangers: Sequence[str]) -> Outcome:
    """Nothing is named. Where the words are a part of some benchmark, that one is offered."""
    offered = [
        candidates.of(Target(get(slug)), part, 0.4, "has such a part")
        for slug, part in parts.orphans(said.text, said.words)
    ]
    if offered:
        return Outcome(
            tuple(offered)[:SHOWN], "unclear_benchmark", "The request names a part, but no benchmark. Which one?"
        )
    name = unknown.name_in(said.text, said.words, strangers)
    lost = f"Nobody here knows {name}." if name else "No benchmark could be made out in the request."
    near = [target for word in strangers for target in close(squash(word), said.names)]
    alike = tuple(_one(target, 0.3, "sounds alike") for target in near[:SHOWN])
    return Outcome(alike, "unresolved_request", lost, name)


def _another(doubt: str, kept: Sequence[Mention]) -> str:
    """The name that makes the doubt: MMLU-CF. Rows, papers and languages of a known one are no other name."""
    name = doubt.partition(" is not ")[0]
    known = {squash(target.name) for one in kept for target in one.targets}
    return "" if squash(name) in known or name.startswith(("the ", "one of ")) else name


def _all(mention: Mention, said: Words) -> list[Candidate]:
    """Each target of a mention, with the part that the words name."""
    listed = []
    for target in (*mention.targets, *mention.others):
        slugs = {hit.slug for hit in said.hits(target, mention) if hit.exact}
        own = mention.part if target in mention.targets else None
        part = own or (slugs.pop() if len(slugs) == 1 else None)
        listed.append(candidates.of(target, part, HINTED, mention.reason))
    return listed


def _meant(mention: Mention, said: Words) -> list[Candidate]:
    return _all(replace(mention, others=()), said)


def _one(target: Target, confidence: float, reason: str) -> Candidate:
    return candidates.of(target, None, confidence, reason)


def _named(named: Named) -> Candidate:
    return candidates.of_named(named, 0.97, "named outright")


def _with(outcome: Outcome, others: tuple[Candidate, ...]) -> Outcome:
    return outcome if outcome.code else replace(outcome, candidates=(*outcome.candidates, *others[: SHOWN - 1]))
