"""Which part of a benchmark a request names: a subject, a category, a language; or a subset of the registry's."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from registry.catalog import all_entries
from runs.finding.benchmarks.names import LONGEST, MANY, Target
from runs.finding.vocabulary import FILLERS, LINKS, MANNERS, NARROWING
from runs.finding.words import Word, fold, is_latin, split, squash, typo

_JOINT = re.compile(r"[ \t\-_./'():&]{0,3}")
_BEFORE_CODES = ("", "in", "auf", "en", "lang", "language", "config", "for", "sprache")
_GLUE = ("_", "-", ":", "/", ".", "@")


@dataclass(frozen=True)
class Hit:
    """A part that is named at [start, stop) of the text. ``slug``: of the part, or the id of the subset."""

    slug: str
    start: int
    stop: int
    exact: bool
    alone: bool  # its name is one word, which may be an ordinary one


def names_of(target: Target) -> dict[str, tuple[str, ...]]:
    """slug (or subset id) -> what people call it."""
    if target.entry is not None:
        return {part.slug: (part.slug, part.name, *part.aliases) for part in target.entry.parts}
    return {one.id: (one.slug, one.name, one.id) for one in target.known.subsets}


def said(target: Target, text: str, words: Sequence[Word], span: tuple[int, int]) -> list[Hit]:
    """The parts that the words around the mention at ``span`` name, in order."""
    keys = {squash(name): slug for slug, names in names_of(target).items() for name in names if name}
    free = [word for word in words if word.stop <= span[0] or word.start >= span[1]]
    found = [*_hits(keys, text, free, span), *_eastern(target, text, span)]
    found.sort(key=lambda hit: (hit.start - hit.stop, not hit.exact))
    kept: list[Hit] = []
    for hit in found:
        if all(hit.stop <= other.start or other.stop <= hit.start for other in kept):
            kept.append(hit)
    return sorted(_linked(kept, text, free, span), key=lambda hit: hit.start)


def unknown(target: Target, text: str, words: Sequence[Word], stop: int, hits: Sequence[Hit]) -> str | None:
    """Words that want a part which the benchmark doesn't have; None where there are none."""
    if hits or target.entry is None:
        return None
    for at, word in enumerate(words[:-1]):
        behind = words[at + 1]
        if (
            word.folded in NARROWING
            and behind.folded not in FILLERS | LINKS
            and text[word.stop : behind.start].strip() in ("", ":", "=")
        ):
            return behind.text
    after = [word for word in words if word.start >= stop][:2]
    if (
        not after
        or text[stop : after[0].start].strip(" (:")
        or not after[0].folded.isalpha()
        or not is_latin(after[0].text)
    ):
        return None
    if re.match(r"\s+et al\b", text[after[0].stop :]):
        return None  # who made it
    if after[0].folded in FILLERS | LINKS | MANNERS or text[stop : after[0].start] == "":
        return None
    glued = len(after) > 1 and text[after[0].stop : after[1].start] in ("-", "_")
    return text[after[0].start : after[1 if glued else 0].stop]


def with_word(target: Target, word: str) -> list[str]:
    """The parts that have this word in their names."""
    key = squash(word)
    named = names_of(target).items()
    return [slug for slug, names in named if any(key == one.folded for name in names for one in split(name))]


def orphans(text: str, words: Sequence[Word]) -> list[tuple[str, str]]:
    """(entry, part) whose name of several words stands in a text that names no benchmark."""
    known = _of_several_words()
    found: dict[tuple[str, str], None] = {}
    for at in range(len(words)):
        for end in range(at + 2, min(at + LONGEST, len(words)) + 1):
            if not _JOINT.fullmatch(text[words[end - 2].stop : words[end - 1].start]):
                break
            found |= dict.fromkeys(known.get("".join(word.folded for word in words[at:end]), ()))
    return list(found)


@cache
def _of_several_words() -> Mapping[str, tuple[tuple[str, str], ...]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for entry in all_entries():
        for part in entry.parts:
            for key in {squash(name) for name in (part.slug, part.name, *part.aliases) if len(split(name)) > 1}:
                found.setdefault(key, []).append((entry.slug, part.slug))
    return {key: tuple(pairs) for key, pairs in found.items()}


def _hits(keys: Mapping[str, str], text: str, free: Sequence[Word], span: tuple[int, int]) -> Iterator[Hit]:
    lengths: dict[int, list[str]] = {}
    for name in keys:
        lengths.setdefault(len(name), []).append(name)
    for at in range(len(free)):
        for end in range(at + 1, min(at + LONGEST, len(free)) + 1):
            if end - at > 1 and not _JOINT.fullmatch(text[free[end - 2].stop : free[end - 1].start]):
                break
            window = free[at:end]
            key = "".join(word.folded for word in window)
            slug, exact = keys.get(key), True
            if (
                slug is None
                and len(key) > 5
                and len(free) <= MANY
                and not {window[0].folded, window[-1].folded} & FILLERS
            ):
                alike = (name for size in range(len(key) - 3, len(key) + 4) for name in lengths.get(size, ()))
                near = {keys[name] for name in alike if typo(key, name)}
                slug, exact = (near.pop() if len(near) == 1 else None), False
            if slug is not None and (len(key) > 2 or not key.isalpha() or _glued(text, span, window)):
                yield Hit(slug, window[0].start, window[-1].stop, exact, len(window) == 1)


def _glued(text: str, span: tuple[int, int], window: Sequence[Word]) -> bool:
    """Codes of two letters are words too ("de", "it"): they count only as in mgsm_de, or as the last word: MGSM de"""
    gap, behind = text[span[1] : window[0].start], text[window[-1].stop :]
    return gap in _GLUE or (gap.strip(" :=") in _BEFORE_CODES and not re.match(r" *\w", behind))


def _eastern(target: Target, text: str, span: tuple[int, int]) -> Iterator[Hit]:
    folded = fold(text)
    if len(folded) != len(text):
        return
    for slug, names in names_of(target).items():
        for name in names:
            at = -1 if not name or is_latin(name) else folded.find(fold(name))
            if at >= 0 and not (at < span[1] and span[0] < at + len(name)):
                yield Hit(slug, at, at + len(name), True, False)


def _linked(hits: Sequence[Hit], text: str, free: Sequence[Word], span: tuple[int, int]) -> list[Hit]:
    """Without the single words that stand apart from the benchmark's name: those mean something else."""
    kept = [hit for hit in hits if not hit.alone]
    left = sorted(
        (hit for hit in hits if hit.alone), key=lambda hit: min(abs(hit.start - span[1]), abs(span[0] - hit.stop))
    )
    for hit in left:
        start, stop = (span[1], hit.start) if hit.start >= span[1] else (hit.stop, span[0])
        between = [word for word in free if start <= word.start and word.stop <= stop]
        inside = [word for word in between if not any(one.start <= word.start < one.stop for one in kept)]
        near = "|" not in text[start:stop] and all(word.folded in LINKS for word in inside) and len(inside) < 5
        if near or _is_a_line(hit, text) or _is_led(hit, text, free):
            kept.append(hit)
    return kept


def _is_led(hit: Hit, text: str, free: Sequence[Word]) -> bool:
    """category = law, subject: anatomy"""
    before = next((word for word in reversed(free) if word.stop <= hit.start), None)
    leads = before is not None and before.folded in NARROWING
    return leads and before is not None and text[before.stop : hit.start].strip() in ("", ":", "=")


def _is_a_line(hit: Hit, text: str) -> bool:
    """A hint that says nothing but the part."""
    start = text.rfind("\n", 0, hit.start) + 1
    stop = text.find("\n", hit.stop)
    return (
        start > 0
        and not text[start : hit.start].strip()
        and not text[hit.stop : stop if stop >= 0 else None].strip(" .!")
    )
