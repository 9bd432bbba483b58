"""``--gate``: does the run hold, on evidence that can't be shrunk?"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import click

PASSED, FAILED, RUN_BROKE, INCONCLUSIVE = 0, 1, 3, 4
_SPEC = re.compile(r"^\s*(?:pass_rate\s+)?(?P<measure>\w+)\s*(?:>=|=)\s*(?P<number>\d*\.?\d+)\s*(?P<percent>%?)\s*$")
MEASURES = ("pass_rate", "lower95")


@dataclass(frozen=True)
class Verdict:
    """``code`` is the exit code, ``word`` passed, failed or inconclusive, ``reason`` a sentence."""

    code: int
    word: str
    reason: str


@dataclass(frozen=True)
class Gate:
    """At least ``threshold`` (a fraction) of ``measure``."""

    measure: str
    threshold: Fraction

    def __str__(self) -> str:
        return f"{self.measure}>={float(self.threshold):g}"


def parse(text: str) -> Gate:
    """``pass_rate=0.90``, ``pass_rate>=90%`` or ``lower95>=0.90``. Raises click.BadParameter."""
    found = _SPEC.match(text)
    if not found or found["measure"] not in MEASURES:
        raise click.BadParameter(f"{text!r} is not of the form pass_rate=0.90 or lower95>=0.90.")
    threshold = Fraction(Decimal(found["number"])) / (100 if found["percent"] else 1)
    if threshold > 1:
        raise click.BadParameter(f"{text!r} asks for more than everything; 0.90 or 90% is meant by ninety per cent.")
    return Gate(found["measure"], threshold)


def judge(gate: Gate, summary: Mapping[str, Any]) -> Verdict:
    """The verdict on a run's summary, never on a shrunken whole: a missing cell may have gone either way."""
    total, passed, failed = (int(summary.get(name) or 0) for name in ("total", "passed", "failed"))
    if total == 0:
        return Verdict(FAILED, "failed", "the run has no tasks")
    scored = passed + failed + int(summary.get("unscored") or 0)
    if gate.measure == "lower95":
        return _on_interval(gate, summary, complete=scored == total)
    worst, best = Fraction(passed, total), Fraction(total - failed, total)
    if scored == total:
        holds = worst >= gate.threshold
        said = f"{_percent(worst)} against {_percent(gate.threshold)}"
        return Verdict(PASSED, "passed", said) if holds else Verdict(FAILED, "failed", said)
    if worst >= gate.threshold:
        return Verdict(PASSED, "passed", f"even the worst case, {_percent(worst)}, holds")
    if best < gate.threshold:
        return Verdict(FAILED, "failed", f"even the best case, {_percent(best)}, falls short")
    missing = total - scored
    return Verdict(
        INCONCLUSIVE,
        "inconclusive",
        f"{missing} of {total} were not scored, and the rate lies between {_percent(worst)} and {_percent(best)}. "
        "Re-run those: --replay-from <run> --only-errored",
    )


def _on_interval(gate: Gate, summary: Mapping[str, Any], complete: bool) -> Verdict:
    interval = summary.get("ci95")
    if not complete or not interval:
        return Verdict(INCONCLUSIVE, "inconclusive", "the interval needs every task scored")
    low, high = (Fraction(bound) for bound in interval)
    said = f"95% interval {_percent(low)} to {_percent(high)} against {_percent(gate.threshold)}"
    if low >= gate.threshold:
        return Verdict(PASSED, "passed", said)
    if high < gate.threshold:
        return Verdict(FAILED, "failed", said)
    return Verdict(INCONCLUSIVE, "inconclusive", f"{said}. More tasks or more --trials would tell.")


def _percent(value: Fraction) -> str:
    """Two digits more than needed is better than 90.0% failing against 90.0%."""
    return f"{float(value) * 100:.2f}".rstrip("0").rstrip(".") + "%"
