"""Which texts are alike; pure. Two texts are alike where most of their words are the same, whatever their order.

Case and numbers do not count. The measure is Jaccard's: words that both have, of all the words that either has.
"""

import re
from collections.abc import Sequence

ALIKE = 0.6  # this share of words in common
WORDS = 200  # of a text that are looked at
MOST_GROUPS = 60  # what fits none of them after that is a group of its own kind: the rest
EXPLAINED = (
    "Grouped by their words: two texts stand together where at least 60% of the words of both are the same. "
    "Case, order and numbers do not count."
)
_WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")


def words(text: str) -> frozenset[str]:
    """The words of a text; every number is the same word."""
    found = (match.group(0) for match, _ in zip(_WORD.finditer(text), range(WORDS), strict=False))
    return frozenset("0" if word.isdigit() else word.casefold() for word in found)


def similarity(left: frozenset[str], right: frozenset[str]) -> float:
    """0..1; two empty texts are the same."""
    if not left and not right:
        return 1.0
    return len(left & right) / len(left | right)


def groups(texts: Sequence[str]) -> list[list[int]]:
    """Positions of the texts, grouped; the largest group first, then the one that came first.

    A text joins the first group whose first member it is alike. The result depends on the texts and their order alone.
    """
    leaders: list[frozenset[str]] = []
    found: list[list[int]] = []
    for at, text in enumerate(texts):
        own = words(text)
        near = next((n for n, leader in enumerate(leaders) if similarity(own, leader) >= ALIKE), None)
        if near is None and len(leaders) < MOST_GROUPS:
            leaders.append(own)
            found.append([at])
        else:
            found[near if near is not None else -1].append(at)
    return sorted(found, key=lambda members: (-len(members), members[0]))
