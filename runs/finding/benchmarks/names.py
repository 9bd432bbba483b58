"""Where a request names a benchmark: the catalogue's, the caller's own, and those that others have published."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from registry.catalog import Entry, all_entries
from runs.finding.known import Known, KnownBenchmark
from runs.finding.vocabulary import FILLERS, QUALIFIERS
from runs.finding.words import Word, fold, is_latin, split, squash, typo

EXACT, OWN, OTHERS, SLIP, PIECE, HINTED = 1.0, 1.05, 0.95, 0.8, 0.75, 0.5
SLIPPED = "named with a slip"
STRONG = 0.7  # at least: a name that is meant; below, one that may be
LONGEST = 9  # words of a name that are looked at
MANY = 200  # words of a request: beyond, slips of the keyboard are no longer looked for
_GENERIC = frozenset(("bench",))  # in many names: alone it is like none of them
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_JOINT = re.compile(r"[ \t\-_./'():&]{0,3}")


@dataclass(frozen=True, eq=False)
class Target:
    """What a name stands for: an entry of the catalogue, or a benchmark of the registry. Equal where their ids are."""

    entry: Entry | None = None
    benchmark: KnownBenchmark | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    @cached_property
    def id(self) -> str:
        return f"catalogue:{self.entry.slug}" if self.entry else f"registry:{self.known.id}"

    @property
    def name(self) -> str:
        return self.entry.name if self.entry else self.known.name

    @property
    def known(self) -> KnownBenchmark:
        assert self.benchmark is not None
        return self.benchmark


@dataclass(frozen=True)
class Mention:
    """A stretch [start, stop) of the text that names one of ``targets``; ``weight`` says how surely.

    ``part``: the part that the very name tells (a harness task). ``others``: whom it might mean as well.
    """

    targets: tuple[Target, ...]
    start: int
    stop: int
    weight: float
    reason: str
    part: str | None = None
    others: tuple[Target, ...] = ()


@dataclass(frozen=True)
class _Name:
    """``cased``: its first word is an ordinary one; in small letters the name weighs ``small``."""

    target: Target
    weight: float
    cased: bool = False
    small: float = 0.0
    part: str | None = None


@dataclass
class Index:
    """Squashed names. ``whole``: all of a name; ``pieces``: some words of one; ``eastern``: names in other scripts."""

    whole: dict[str, list[_Name]] = field(default_factory=dict)
    pieces: dict[str, dict[str, _Name]] = field(default_factory=dict)
    eastern: dict[str, list[_Name]] = field(default_factory=dict)
    lengths: dict[int, list[str]] = field(default_factory=dict)

    def copied(self) -> "Index":
        return Index(
            {key: list(found) for key, found in self.whole.items()},
            {key: dict(found) for key, found in self.pieces.items()},
            {key: list(found) for key, found in self.eastern.items()},
            {length: list(keys) for length, keys in self.lengths.items()},
        )

    def add(self, name: str, found: _Name, *, slips: bool = True) -> None:
        if not is_latin(name):
            self.eastern.setdefault(fold(name), []).append(found)
        key = squash(name)
        if key and found.target not in [one.target for one in self.whole.setdefault(key, [])]:
            self.whole[key].append(found)
            if slips and key not in self.lengths.get(len(key), ()) and (len(key) > 5 or len(split(name)) == 1):
                self.lengths.setdefault(len(key), []).append(key)

    def add_pieces(self, name: str, target: Target, several: float, single: float) -> None:
        """Runs of words that begin or end anywhere in the name, but are not all of it."""
        words = [word.folded for word in split(name)]
        for start in range(len(words)):
            for stop in range(start + 1, len(words) + 1):
                key = "".join(words[start:stop])
                telling = [word for word in words[start:stop] if word not in FILLERS | _GENERIC and not word.isdigit()]
                if stop - start == len(words) or len(key) < 5 or not telling:
                    continue
                weight = several if len(telling) > 1 else single
                self.pieces.setdefault(key, {}).setdefault(target.id, _Name(target, weight))


def index(known: Known) -> Index:
    """Everything that can be named, the registry's on top of the catalogue's."""
    made = _of_the_catalogue().copied()
    for benchmark in known.benchmarks:
        target = Target(benchmark=benchmark)
        if not benchmark.subsets:
            _add_empty(made, benchmark, target)
            continue
        made.add(benchmark.name, _Name(target, OWN if benchmark.own else OTHERS))
        made.add_pieces(benchmark.name, target, PIECE if benchmark.own else HINTED, HINTED)
        made.add(benchmark.id, _Name(target, OWN), slips=False)
        _add_without_owner(made, benchmark, target)
        for one in benchmark.subsets:
            made.add(one.id, _Name(target, OWN, part=one.id), slips=False)
    for name, target, subset in _telling_subsets(known):
        if squash(name) not in made.whole:
            made.add(name, _Name(target, PIECE, part=subset), slips=False)
    return made


def _add_empty(made: Index, benchmark: KnownBenchmark, target: Target) -> None:
    """One without tasks is known, to be told; it never stands in the way of one that the catalogue knows."""
    if squash(benchmark.name) not in _of_the_catalogue().whole:
        made.add(benchmark.name, _Name(target, OWN))
    made.add(benchmark.id, _Name(target, OWN), slips=False)


def _add_without_owner(made: Index, benchmark: KnownBenchmark, target: Target) -> None:
    """PrideBench for lions/PrideBench, which the caller has run before: where that is no word of every day, and no name
    that the catalogue knows.
    """
    name = benchmark.data_set.rpartition("/")[2] if benchmark.own else ""
    if not name.islower() and name and squash(name) not in _of_the_catalogue().whole:
        made.add(name, _Name(target, PIECE, cased=len(_PIECES.findall(name)) < 2))


def _telling_subsets(known: Known) -> Iterator[tuple[str, Target, str]]:
    """(name, benchmark, subset id) of the caller's own subsets whose name says alone what is meant: no "easy", "v2"."""
    found: dict[str, list[tuple[str, Target, str]]] = {}
    for benchmark in known.benchmarks:
        for one in benchmark.subsets if benchmark.own else ():
            for name in {one.slug, one.name}:
                found.setdefault(squash(name), []).append((name, Target(benchmark=benchmark), one.id))
    for held in found.values():
        words = [word.folded for word in split(held[0][0])]
        long = [word for word in words if len(word) > 3 and word.isalpha() and word not in FILLERS | QUALIFIERS]
        if len({subset for _, _, subset in held}) == 1 and len(words) > 1 and long:
            yield held[0]


@cache
def _of_the_catalogue() -> Index:
    made = Index()
    for entry in all_entries():
        target = Target(entry)
        words = {squash(name) for name in entry.cased}
        for name in (entry.name, entry.slug, *entry.aliases, *entry.cased):
            made.add(name, _Name(target, EXACT, squash(name) in words))
        for name in entry.cased:
            made.add(f"{name} benchmark", _Name(target, EXACT, True, HINTED))
            made.add(f"{name} dataset", _Name(target, EXACT, True, HINTED))
        made.add_pieces(entry.name, target, HINTED, HINTED)
    return made


def mentions(text: str, words: list[Word], names: Index) -> list[Mention]:
    """Every stretch that names something, overlapping ones too."""
    found = list(_eastern(text, names))
    for at in range(len(words)):
        for end in range(at + 1, min(at + LONGEST, len(words)) + 1):
            if end - at > 1 and not _JOINT.fullmatch(text[words[end - 2].stop : words[end - 1].start]):
                break
            found += _named(text, words[at:end], names, slips=len(words) <= MANY)
    return found


def _named(text: str, window: list[Word], names: Index, *, slips: bool) -> Iterator[Mention]:
    key = "".join(word.folded for word in window)
    whole = [one for one in names.whole.get(key, ()) if not one.cased]
    small = not window[0].text.isupper()
    cased = [one for one in names.whole.get(key, ()) if one.cased]
    whole += [replace(one, weight=one.small if small else one.weight) for one in cased if one.small or not small]
    last = window[-1]
    ordinary = window[0].folded in FILLERS or (last.folded in FILLERS and not last.text.istitle())  # MMLU Por is a slip
    if all(word.folded in FILLERS for word in window):
        # "run a test" must not be a name, whatever somebody calls a benchmark
        whole = [replace(one, weight=HINTED) for one in whole if one.target.entry or one.target.known.own]
    if whole:
        yield _mention(window, whole, "named")
    elif not ordinary:
        pieces = list(names.pieces.get(key, {}).values())[:MANY]
        if pieces:
            yield _mention(window, pieces, "a part of its name")
        near = list(_slips(key, names)) if slips and len(key) > 3 else []
        if near:
            yield _mention(window, near, SLIPPED)


def _mention(window: list[Word], names: Iterable[_Name], reason: str) -> Mention:
    best = max(one.weight for one in names)
    targets = tuple(one.target for one in names if one.weight == best)
    others = tuple(one.target for one in names if one.weight < best)
    part = next((one.part for one in names if one.weight == best), None)
    return Mention(targets, window[0].start, window[-1].stop, best, reason, part, others)


def _slips(key: str, names: Index) -> Iterator[_Name]:
    if key in _ordinary():
        return
    near = [
        name
        for length in range(len(key) - 3, len(key) + 4)
        for name in names.lengths.get(length, ())
        if len(set(name) ^ set(key)) <= 4 and typo(key, name)
    ]
    seen: set[str] = set()
    for name in near:
        for one in names.whole[name]:
            shortened = one.target.id in names.pieces.get(key, {})  # a word is missing, and no letter
            if not one.cased and not shortened and one.target.id not in seen:
                seen.add(one.target.id)
                yield _Name(one.target, SLIP if one.weight >= EXACT else SLIP - 0.02)


@cache
def _ordinary() -> frozenset[str]:
    """Names that are words of every day too: a slip of another name would rather be that word."""
    return frozenset(squash(name) for entry in all_entries() for name in entry.cased)


def _eastern(text: str, names: Index) -> Iterator[Mention]:
    """Names in scripts without spaces, wherever they stand. Folding keeps the length of such a text's letters."""
    folded = fold(text)
    if len(folded) != len(text):
        return
    for name, targets in names.eastern.items():
        at = folded.find(name)
        if at >= 0:
            weight = max(one.weight for one in targets)
            yield Mention(tuple(one.target for one in targets), at, at + len(name), weight, "named")


def close(key: str, names: Index) -> list[Target]:
    """Targets whose name begins like ``key`` or that ``key`` begins like; the longest first. For suggestions only."""
    found: dict[str, Target] = {}
    for name in sorted(names.whole, key=len, reverse=True):
        if len(name) > 3 and len(key) > 3 and (key.startswith(name) or name.startswith(key)):
            for one in names.whole[name]:
                if one.target.entry or one.target.known.own:
                    found.setdefault(one.target.id, one.target)
    return list(found.values())
