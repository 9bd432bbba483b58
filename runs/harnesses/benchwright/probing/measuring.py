"""From the first cells to the whole run: cost, tokens and time with a range, and ceilings that it may come to. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from runs.harnesses.benchwright.probing.duration import Took, left_takes
from runs.limits import CHECKED, Ceilings, Level
from runs.pages.words import about, dollars, plural
from runs.statistics import factor90

Json = dict[str, Any]
LEAST = 3  # cells for an interval
PRIOR = 0.4  # deviation of the logarithms of cost and tokens: those of a benchmark's answers seldom differ by less


@dataclass(frozen=True, slots=True)
class Seen:
    """One cell that has ended with an answer. ``cost``: micro-cents, None where a call's price is not known.

    ``ended``: when its result was stored, in seconds since any moment.
    """

    cost: int | None
    tokens: int
    seconds: float
    ended: float


@dataclass(frozen=True, slots=True)
class SoFar:
    """The run at this moment. Money in micro-cents; ``judge`` is a part of ``cost``, as ``model_cost`` is."""

    cost: int
    model_cost: int
    judge: int
    tokens: int
    run_seconds: float
    phase_seconds: float
    ended: int
    planned: int


@dataclass(frozen=True, slots=True)
class Range:
    """``low`` and ``high`` are the ends of a 90 % interval; None where too few were seen for one."""

    point: float
    low: float | None
    high: float | None

    def after(self, done: float) -> "Range":
        """With what has been spent already."""
        ends = (None if end is None else done + end for end in (self.low, self.high))
        return Range(done + self.point, *ends)

    def pair(self, digits: int | None = None) -> list[float] | None:
        return None if self.low is None or self.high is None else [round(self.low, digits), round(self.high, digits)]


@dataclass(frozen=True, slots=True)
class Whole:
    """What the whole run will come to. ``seconds`` of Materialize, ``run_seconds`` of all; None = no known price."""

    cost: Range | None
    model_cost: Range | None
    tokens: Range
    seconds: Range
    run_seconds: Range


def whole(seen: Sequence[Seen], so_far: SoFar, concurrency: int, slow: Sequence[Took] = ()) -> Whole:
    """``seen``: at least one. ``concurrency``: of the run. ``slow``: probes that go on, as long as they took so far."""
    left = so_far.planned - so_far.ended
    judge = so_far.judge / len(seen)
    model = [cell.cost for cell in seen if cell.cost is not None]
    priced = len(model) == len(seen)
    took = [*(Took(cell.seconds, cell.ended) for cell in seen), *slow]
    point, low, high = left_takes(took, left, concurrency)
    more = Range(point, low, high) if len(seen) >= LEAST else Range(point, None, None)
    return Whole(
        cost=_more([cost + judge for cost in model], left).after(so_far.cost) if priced else None,
        model_cost=_more(model, left).after(so_far.model_cost) if priced else None,
        tokens=_more([cell.tokens for cell in seen], left).after(so_far.tokens),
        seconds=more.after(so_far.phase_seconds),
        run_seconds=more.after(so_far.run_seconds),
    )


def _more(values: Sequence[float], left: int) -> Range:
    """What ``left`` further cells come to, if they are like these."""
    point = left * fmean(values) if values else 0.0
    factor = factor90(values, left, PRIOR) if left else 1.0
    return Range(point, None, None) if factor is None else Range(point, point / factor, point * factor)


def estimate(found: Whole, seen: int, so_far: SoFar) -> Json:
    """As ``findings.materialize.estimate`` keeps it: the fields of Analyze's guess, and ``range`` and ``probes``."""
    ranges = {"cost_micro_cents": found.cost, "seconds": found.seconds, "tokens": found.tokens}
    return {
        "cost_micro_cents": None if found.cost is None else round(found.cost.point),
        "seconds": round(found.seconds.point, 1),
        "tokens": round(found.tokens.point),
        "range": {
            name: None if each is None else each.pair(1 if name == "seconds" else None) for name, each in ranges.items()
        },
        "probes": seen,
        "basis": _basis(found, seen, so_far),
    }


def _basis(found: Whole, seen: int, so_far: SoFar) -> str:
    cost, tokens, seconds = found.cost, found.tokens, found.seconds
    said = [
        "an unknown cost (no price of the model is known)"
        if cost is None
        else f"about {dollars(round(cost.point))}{_ends(cost)}",
        f"{tokens.point:,.0f} tokens" + (f" ({tokens.low:,.0f} to {tokens.high:,.0f})" if tokens.pair() else ""),
        about(seconds.low or seconds.point, seconds.high or seconds.point),
    ]
    like = "if the others are like these" + (" (90% interval)" if tokens.pair() else "; too few for an interval")
    first = f"Measured: {plural(seen, 'cell')} of {so_far.planned:,} ran first, and stay"
    return f"{first}. The whole run comes to {', '.join(said)}, {like}."


def _ends(cost: Range) -> str:
    pair = cost.pair()
    return f" ({dollars(int(pair[0]))} to {dollars(int(pair[1]))})" if pair and cost.point else ""


def exceeds(found: Whole, ceilings: Ceilings, phase: str) -> list[Json]:
    """Ceilings that the run may come to: ``limit``, whether that is ``likely``, and ``words`` that name no ceiling."""
    levels: Mapping[str, tuple[Level, Range]] = {
        "run": (ceilings.run, found.run_seconds),
        "phase": (ceilings.phase(phase), found.seconds),
    }
    told = []
    for name, (level, seconds) in levels.items():
        figures = {"cost": found.cost, "model_cost": found.model_cost, "tokens": found.tokens, "duration": seconds}
        for quantity in CHECKED:
            figure, ceiling = figures[quantity], getattr(level, quantity)
            if figure is None or ceiling is None or max(figure.point, figure.high or 0.0) < ceiling:
                continue
            likely = figure.point >= ceiling
            told.append({"limit": f"{name}.{quantity}", "likely": likely, "words": _warning(name, quantity, likely)})
    return told


def _warning(level: str, quantity: str, likely: bool) -> str:
    sure = "is likely to come" if likely else "may come"
    return (
        f"By what its first cells took, this run {sure} to its ceiling {level}.{quantity}. It goes on until it does; "
        "then it halts, and the cells that are left are skipped."
    )
