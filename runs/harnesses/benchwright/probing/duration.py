"""How long the cells that are left will take, from the first ones: a point and a 90 % interval. Pure.

``left`` cells run on ``slots`` = min(concurrency, left) places, each starting when a place is free (list scheduling).
With m the mean seconds of a cell and M those of the longest, the last one ends between left m / slots and

    left m / slots + (1 - 1 / slots) M                                   (Graham 1966, Bounds for Certain Anomalies)

A few cells say little of m and M, so the deviation of their logarithms, s, gets a prior (``statistics.log_spread``).
With t(p) Student's point for its degrees of freedom and n cells seen,

    the mean of the others is within the factor f of m  (``statistics.factor90``), and
    the longest of them is under M = exp(mean of logarithms + t(1 - 0.1 / (left + 1)) s sqrt(1 + 1/n))   (Bonferroni)

That holds if a place more makes nothing slower. It may: a provider may serve one call after another, or refuse some.
The first cells show what was served at once for certain: busy seconds for n of them (without the last to end, which
alone tells of itself). So the ends are

    low  = QUICKER left m / (slots f)
    high = max(left m f / slots + (1 - 1 / slots) M,  left busy / n times exp(t(0.95) PRIOR sqrt(1/n + 1/left)))

and CLOSING. docs/requests.md says how often that held.
"""

from collections.abc import Sequence
from math import exp, sqrt
from statistics import NormalDist, fmean
from typing import NamedTuple

from runs.statistics import WEIGHT, factor90, log_spread, student

PRIOR = 0.5  # deviation of the logarithms: seconds of a benchmark's answers seldom differ by less
QUICKER = 0.9  # caches and connections are warm by then
CLOSING = 0.5  # seconds: the last results are stored, the sandboxes closed
LONGEST = 0.1  # the chance that one cell takes longer than M
LEAST = 0.001  # seconds; a logarithm wants more than none


class Took(NamedTuple):
    """How long a cell took, and when its result was stored, in seconds since any moment."""

    seconds: float
    ended: float


def left_takes(seen: Sequence[Took], left: int, concurrency: int) -> tuple[float, float, float]:
    """(point, low, high) in seconds for ``left`` further cells. ``seen``: at least one."""
    if not left:
        return 0.0, 0.0, CLOSING
    took = [max(cell.seconds, LEAST) for cell in seen]
    centre, spread, freedom = log_spread(took, PRIOR)
    slots = max(1, min(concurrency, left))
    few = sqrt(1 / len(took) + 1 / left)
    by_chance = exp(student(0.95, WEIGHT) * PRIOR * few)
    factor = factor90(took, left, PRIOR) or by_chance
    longest = exp(centre + student(1 - LONGEST / (left + 1), freedom) * spread * sqrt(1 + 1 / len(took)))
    usual = exp(centre + NormalDist().inv_cdf(0.5 ** (1 / left)) * spread)  # the longest, as often as not
    work, straggling = left * fmean(took) / slots, 1 - 1 / slots
    crowded = left * _served(seen) * by_chance
    high = max(work * factor + straggling * longest, crowded)
    return work + straggling * usual / 2, QUICKER * work / factor, high + CLOSING


def _served(seen: Sequence[Took]) -> float:
    """Seconds for one cell at the rate at which these came; gaps in which none ran don't count."""
    first = sorted(seen, key=lambda cell: cell.ended)[: max(1, len(seen) - 1)] if len(seen) > 2 else list(seen)
    busy, until = 0.0, float("-inf")
    for begun, ended in sorted((cell.ended - cell.seconds, cell.ended) for cell in first):
        busy += max(0.0, ended - max(begun, until))
        until = max(until, ended)
    return max(busy, LEAST) / len(first)
