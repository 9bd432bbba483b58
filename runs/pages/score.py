"""The score of a run as the pages show it: never a rate without its interval, never a rate of a handful."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from runs.models import Run
from runs.plots import marks
from runs.statistics import interval

FEW = 10  # under this many scored tasks there is no percentage
OUTCOMES = marks.OUTCOMES


@dataclass(frozen=True)
class Score:
    """Counts by outcome and what follows from them. Shares are 0..1."""

    counts: Mapping[str, int]
    total: int
    ci95: tuple[float, float] | None
    going: bool = False

    @property
    def ended(self) -> int:
        return sum(self.counts.values())

    @property
    def waiting(self) -> int:
        return max(self.total - self.ended, 0)

    @property
    def scored(self) -> int:
        """Cells that are in the rate: passed, failed and unscored."""
        return self.counts["passed"] + self.counts["failed"] + self.counts["unscored"]

    @property
    def rate(self) -> float | None:
        return self.counts["passed"] / self.scored if self.scored else None

    @property
    def unread(self) -> bool:
        """Answers came, and not one of them could be scored: the rate says nothing, its bounds all there is."""
        return 0 < self.scored == self.counts["unscored"]

    @property
    def few(self) -> bool:
        return 0 < self.scored < FEW

    @property
    def coverage(self) -> float:
        return self.scored / self.total if self.total else 0.0

    @property
    def worst(self) -> float:
        return self.counts["passed"] / self.total if self.total else 0.0

    @property
    def best(self) -> float:
        return (self.total - self.counts["failed"]) / self.total if self.total else 0.0

    @property
    def bounded(self) -> bool:
        """Whether the bounds say more than the rate: something has no score."""
        return not self.going and bool(self.total) and (self.scored < self.total or self.counts["unscored"] > 0)

    @property
    def unknown(self) -> int:
        """Cells without a score: what the bounds are about."""
        return self.total - self.counts["passed"] - self.counts["failed"]

    @property
    def drawn(self) -> SafeString | None:
        """The large caliper."""
        if self.rate is None or self.ci95 is None or self.unread:
            return None
        bounds = {"worst": self.worst, "best": self.best} if self.bounded else {}
        return marks.caliper(self.rate, *self.ci95, **bounds)

    @property
    def mini(self) -> SafeString | None:
        return (
            marks.caliper_mini(self.rate, *self.ci95)
            if self.rate is not None and self.ci95 and not self.unread
            else None
        )

    @property
    def bar(self) -> SafeString:
        return marks.outcome_bar(self.counts)

    @property
    def legend(self) -> list[tuple[str, int]]:
        return [(name, self.counts[name]) for name in OUTCOMES]


def of(run: Run, summary: Mapping[str, Any] | None = None) -> Score:
    """From the run's tallies; the interval from ``summary`` where given (several trials need its clustered one)."""
    counts = {name: getattr(run, name) for name in OUTCOMES}
    scored = counts["passed"] + counts["failed"] + counts["unscored"]
    given = (summary or run.summary or {}).get("ci95")
    pair = (float(given[0]), float(given[1])) if given else interval(counts["passed"], scored)
    return Score(counts, run.planned, pair, going=run.finished_at is None)


def of_counts(counts: Mapping[str, int]) -> Score:
    """Of some of a run's cells, such as those of one kind; all of them have ended."""
    own = {name: counts.get(name, 0) for name in OUTCOMES}
    return Score(own, sum(own.values()), interval(own["passed"], own["passed"] + own["failed"] + own["unscored"]))


def of_summary(summary: Mapping[str, Any]) -> Score:
    """Of a summary that stands for more than one run: a completion together with its parent."""
    pair = summary.get("ci95")
    counts = {name: summary[name] for name in OUTCOMES}
    return Score(counts, summary["total"], (float(pair[0]), float(pair[1])) if pair else None)
