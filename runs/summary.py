"""The summary of a whole run from its tallies; pure. Definitions: contract, "Objects"."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernel.money import known
from runs import statistics
from runs.statistics import TaskTally

OUTCOMES = ("passed", "failed", "errored", "unscored", "skipped")


@dataclass(frozen=True)
class Figures:
    """What the database counted, over the live results."""

    total: int  # planned cells, fixed at launch
    trials: int
    counts: Mapping[str, int]  # by outcome
    mean_score: float | None = None
    duration_ms_p50: float | None = None
    duration_ms_p95: float | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    cost: int = 0  # micro-cents
    unpriced: int = 0
    estimated: int = 0  # calls whose answers told no usage; known once the journal is settled
    unknown: int = 0  # calls that were cut off at the provider: nobody knows what they cost
    kinds: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    tallies: Sequence[TaskTally] = ()  # only asked for where trials > 1


def scored(counts: Mapping[str, int]) -> int:
    """Cells that a scorer saw: an output it could not score is no right one, a fault is no wrong one."""
    return sum(counts.get(name, 0) for name in ("passed", "failed", "unscored"))


def rate(counts: Mapping[str, int]) -> float | None:
    """passed / (passed + failed + unscored)."""
    seen = scored(counts)
    return counts.get("passed", 0) / seen if seen else None


def assemble(figures: Figures) -> dict[str, Any]:
    """The contract's summary. Figures that are not defined (nothing scored yet, nothing planned) are None."""
    counts = {name: figures.counts.get(name, 0) for name in OUTCOMES}
    total, seen = figures.total, scored(counts)
    ended = sum(counts.values())
    return {
        "total": total,
        **counts,
        "pending": total - ended,
        "coverage": seen / total if total else None,
        "pass_rate": rate(counts),
        "bounds": {
            "worst": counts["passed"] / total if total else None,
            "best": (total - counts["failed"]) / total if total else None,
        },
        "mean_score": figures.mean_score,
        "ci95": _interval(figures, counts, seen),
        "duration_ms_p50": whole(figures.duration_ms_p50),
        "duration_ms_p95": whole(figures.duration_ms_p95),
        "tokens": {
            "in": figures.tokens_in,
            "out": figures.tokens_out,
            "total": figures.tokens_in + figures.tokens_out,
        },
        "cost": known(figures.cost, figures.unpriced),
        "unpriced": figures.unpriced > 0,
        "unpriced_calls": figures.unpriced,
        "estimated_calls": figures.estimated,
        "unknown_calls": figures.unknown,
        "pass_at_k": _pass_at_k(figures),
        "by_kind": {kind: _of_kind(tally) for kind, tally in sorted(figures.kinds.items())},
    }


def in_order(told: Mapping[str, Any]) -> dict[str, Any]:
    """A stored summary as ``assemble`` orders it, total and counts first: the database keeps keys by their length."""
    return {name: told[name] for name in (*(name for name in _ORDER if name in told), *told)}


def _interval(figures: Figures, counts: Mapping[str, int], seen: int) -> list[float] | None:
    """[low, high]: Wilson, or cluster-robust by task where there are several trials."""
    found = statistics.clustered(figures.tallies) if figures.trials > 1 else statistics.interval(counts["passed"], seen)
    return list(found) if found else None


def _pass_at_k(figures: Figures) -> dict[str, float | None] | None:
    """{"1": …, "2": …}: the chance that one of k trials passes; None for a single trial."""
    if figures.trials < 2:
        return None
    return {str(k): statistics.pass_at_k(figures.tallies, k) for k in statistics.ks(figures.trials)}


def _of_kind(tally: Mapping[str, int]) -> dict[str, Any]:
    """Of the cells of one kind that have ended."""
    counts = {name: tally.get(name, 0) for name in OUTCOMES}
    pair = statistics.interval(counts["passed"], scored(counts))
    return {
        "total": sum(counts.values()),
        **counts,
        "pass_rate": rate(counts),
        "ci95": list(pair) if pair else None,
    }


def whole(value: float | None) -> int | None:
    """A figure as it is shown; None stays None."""
    return None if value is None else round(value)


_ORDER = tuple(assemble(Figures(0, 1, {})))
