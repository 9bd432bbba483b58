"""From all stretches that name something to those that are meant: longest names, doubts, the same thing said twice."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from registry.catalog import Entry, all_entries
from runs.finding.benchmarks import doubts, parts
from runs.finding.benchmarks.names import EXACT, HINTED, PIECE, SLIP, STRONG, Index, Mention, Target, close
from runs.finding.benchmarks.parts import Hit
from runs.finding.vocabulary import FILLERS
from runs.finding.words import Word, squash

OFTEN = 3  # how many times the same name is looked at
_BARE = re.compile(r"[ ,:(]+(?P<n>\d{1,6})(?![\w.%-])")
_BEFORE = re.compile(r"(?<![\w.,%-])(?P<n>\d{1,6})\s+$")


@dataclass(frozen=True)
class Words:
    """The request: its plain text with models and quantities blanked out, its words, and all names that are known."""

    text: str
    words: Sequence[Word]
    names: Index
    _hits: dict[tuple[str, int, int], list[Hit]] = field(default_factory=dict)

    def hits(self, target: Target, mention: Mention) -> list[Hit]:
        """The parts of the target that the words around the mention name."""
        key = (target.id, mention.start, mention.stop)
        if key not in self._hits:
            self._hits[key] = parts.said(target, self.text, self.words, (mention.start, mention.stop))
        return self._hits[key]


def settled(said: Words, found: Sequence[Mention]) -> list[Mention]:
    """``found``: every mention, overlapping ones too. Those that stay don't overlap; what is doubtful is not STRONG."""
    return _without_by_the_way(_doubted(_largest(said, found), said), said)


def _without_by_the_way(kept: Sequence[Mention], said: Words) -> list[Mention]:
    """Others may call a benchmark by words of every day: beside a sure name, small letters mean nothing."""
    ours = [one for one in kept if one.weight >= STRONG and any(_is_ours(target) for target in one.targets)]
    small = [one for one in kept if said.text[one.start : one.stop].islower() and not any(map(_is_ours, one.targets))]
    return [one for one in kept if one not in small] if ours else list(kept)


def _is_ours(target: Target) -> bool:
    return target.entry is not None or target.known.own


def merged(sure: Sequence[Mention]) -> list[Mention]:
    """One mention for each benchmark: said twice, it is meant once; what only one of two can mean, both mean."""
    merged: list[Mention] = []
    for one in sure:
        for at, other in enumerate(merged):
            shared = tuple(target for target in other.targets if target in one.targets)
            if shared:
                longer = max(one, other, key=lambda mention: mention.stop - mention.start)
                merged[at] = replace(longer, targets=shared, part=one.part or other.part)
                break
        else:
            merged.append(one)
    return merged


def bare_numbers(said: Words, found: Sequence[Mention]) -> tuple[int, ...]:
    """Numbers right beside the name of a benchmark that may be how many samples are wanted."""
    sure = [one for one in found if one.weight >= STRONG][: 3 * OFTEN]
    beside = [_BARE.match(said.text, one.stop) for one in sure]
    beside += [_BARE.match(said.text, hit.stop) for one in sure for hit in said.hits(one.targets[0], one)]
    beside += [_BEFORE.search(said.text, 0, one.start) for one in sure]
    numbers = [one for one in beside if one and not any(mention.start < one.end() <= mention.stop for mention in sure)]
    return tuple(dict.fromkeys(int(one["n"]) for one in numbers if int(one["n"])))


def _largest(said: Words, found: Sequence[Mention]) -> list[Mention]:
    """Mentions that don't overlap: the longer name goes first, then the surer one."""
    found = [_lowered(one, found, said) for one in found]
    ordered = sorted(found, key=lambda one: (one.start - one.stop, -one.weight))
    kept: list[Mention] = []
    for one in ordered:
        if _explained(one, found, said):
            continue
        clash = next((other for other in kept if one.start < other.stop and other.start < one.stop), None)
        if clash is None:
            kept.append(one)
        elif (clash.start, clash.stop) == (one.start, one.stop):
            kept[kept.index(clash)] = replace(clash, others=(*clash.others, *one.targets, *one.others))
    kept.sort(key=lambda one: one.start)
    times = Counter[tuple[str, ...]]()
    for one in list(kept):
        times[tuple(target.id for target in one.targets)] += 1
        if times[tuple(target.id for target in one.targets)] > OFTEN:
            kept.remove(one)
    return _without_parts(kept, said)


def _lowered(one: Mention, found: Sequence[Mention], said: Words) -> Mention:
    """Some words of a name, or a slip of it, are not that name where other words among them are all of another's."""
    inner = [other for other in found if other.weight >= EXACT and one.start <= other.start and other.stop <= one.stop]
    inner = [other for other in inner if not any(target in one.targets for target in other.targets)]
    if PIECE < one.weight <= SLIP:  # a slip elsewhere in a name that holds the other one
        inner = [
            other for other in inner if squash(said.text[other.start : other.stop]) not in squash(one.targets[0].name)
        ]
    if one.weight > SLIP or not inner:
        return one
    return replace(one, weight=HINTED, others=(*one.others, *(target for other in inner for target in other.targets)))


def _explained(one: Mention, found: Sequence[Mention], said: Words) -> bool:
    """Somebody else's benchmark is called like an entry of the catalogue and its part: then the catalogue is meant."""
    if any(target.entry or target.known.own for target in one.targets):
        return False
    for inner in found:
        entries = [target for target in inner.targets if target.entry is not None]
        if entries and inner.weight >= STRONG and one.start <= inner.start and inner.stop <= one.stop:
            hits = said.hits(entries[0], inner)
            used = [(inner.start, inner.stop), *((hit.start, hit.stop) for hit in hits)]
            inside = [word for word in said.words if one.start <= word.start and word.stop <= one.stop]
            if all(word.folded in FILLERS or any(a <= word.start < b for a, b in used) for word in inside):
                return True
    return False


def _without_parts(kept: Sequence[Mention], said: Words) -> list[Mention]:
    """A name that is a part of the benchmark beside it, such as the MATH of MMLU-Pro, is no second benchmark."""
    dropped = set()
    for one in kept:
        for target in one.targets if one.weight >= STRONG else ():
            for hit in said.hits(target, one):
                dropped |= {
                    id(other)
                    for other in kept
                    if other is not one and hit.start <= other.start and other.stop <= hit.stop
                }
    return [one for one in kept if id(one) not in dropped]


def _doubted(kept: Sequence[Mention], said: Words) -> list[Mention]:
    """With a lower weight where the words around a name make another benchmark of it."""
    checked = []
    for one in kept:
        entry = one.targets[0].entry
        if entry is not None and one.weight >= STRONG:
            hits = said.hits(one.targets[0], one)
            others = [other for other in kept if other is not one and other.weight >= STRONG]
            doubt = doubts.of(entry, one, hits, said.text, said.words, others)
            if doubt and one.part is None:
                around = [*_with_such_a_part(entry, one, said), *close(squash(doubt.split(" is not ")[0]), said.names)]
                one = replace(one, weight=(HINTED + STRONG) / 2, reason=doubt, others=(*one.others, *around))
        checked.append(one)
    return checked


def _with_such_a_part(entry: Entry, mention: Mention, said: Words) -> list[Target]:
    """Entries whose name holds this one's and that have a part which the words name: MMMLU has German."""
    key = squash(entry.name)
    similar = [Target(one) for one in all_entries() if one != entry and key in squash(one.name)]
    return [target for target in similar if said.hits(target, mention)]
