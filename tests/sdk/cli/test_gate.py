"""``--gate``: never past a shrunken whole."""

from fractions import Fraction
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.cli.watch.gate import FAILED, INCONCLUSIVE, PASSED, judge, parse


def summary(passed: int, failed: int, unscored: int = 0, errored: int = 0, **more: Any) -> dict[str, Any]:
    total = passed + failed + unscored + errored
    counts = {"passed": passed, "failed": failed, "unscored": unscored, "errored": errored}
    return {"total": total, **counts, "ci95": None, **more}


def verdict(spec: str, facts: dict[str, Any]) -> int:
    return judge(parse(spec), facts).code


@pytest.mark.parametrize(
    ("text", "measure", "threshold"),
    [
        ("pass_rate=0.90", "pass_rate", Fraction(9, 10)),
        ("pass_rate>=0.9", "pass_rate", Fraction(9, 10)),
        (" pass_rate >= 90% ", "pass_rate", Fraction(9, 10)),
        ("pass_rate=1", "pass_rate", Fraction(1)),
        ("lower95>=.5", "lower95", Fraction(1, 2)),
        ("pass_rate lower95 >= 0.90", "lower95", Fraction(9, 10)),
    ],
)
def test_it_reads_conditions(text: str, measure: str, threshold: Fraction) -> None:
    gate = parse(text)
    assert (gate.measure, gate.threshold) == (measure, threshold)


@pytest.mark.parametrize(
    "text", ["", "pass_rate", "pass_rate<0.9", "score=0.9", "pass_rate=90", "pass_rate=-1", "pass_rate=x"]
)
def test_it_refuses_what_it_can_not_judge(text: str) -> None:
    with pytest.raises(click.BadParameter):
        parse(text)


def test_j27_a_whole_run_is_judged_by_its_rate_exactly() -> None:
    assert verdict("pass_rate=0.90", summary(180, 20)) == PASSED
    assert verdict("pass_rate=0.90", summary(179, 21)) == FAILED
    assert verdict("pass_rate=0.7", summary(7, 3)) == PASSED
    assert verdict("pass_rate=0.1", summary(3, 27)) == PASSED


def test_j27_unscored_cells_count_as_not_passed() -> None:
    assert verdict("pass_rate=0.90", summary(90, 0, unscored=10)) == PASSED
    assert verdict("pass_rate=0.90", summary(89, 0, unscored=11)) == FAILED


def test_j27_missing_cells_never_shrink_the_whole() -> None:
    assert verdict("pass_rate=0.90", summary(95, 0, errored=5)) == PASSED
    assert verdict("pass_rate=0.90", summary(89, 0, errored=11)) == INCONCLUSIVE
    assert verdict("pass_rate=0.90", summary(50, 11, errored=39)) == FAILED
    assert verdict("pass_rate=0.90", summary(1, 0, errored=199)) == INCONCLUSIVE


def test_j27_no_tasks_fail() -> None:
    assert verdict("pass_rate=0", summary(0, 0)) == FAILED


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 100))
def test_j27_a_verdict_holds_however_the_missing_cells_would_have_ended(
    passed: int, failed: int, unscored: int, errored: int, percent: int
) -> None:
    code = verdict(f"pass_rate={percent}%", summary(passed, failed, unscored, errored))
    ends = {
        verdict(f"pass_rate={percent}%", summary(passed + more, failed + errored - more, unscored))
        for more in range(errored + 1)
    }
    if code == PASSED:
        assert ends == {PASSED}
    elif code == INCONCLUSIVE:
        assert errored > 0


def test_the_intervals_lower_end_asks_for_evidence() -> None:
    assert verdict("lower95>=0.8", summary(95, 5, ci95=[0.88, 0.98])) == PASSED
    assert verdict("lower95>=0.8", summary(82, 18, ci95=[0.73, 0.89])) == INCONCLUSIVE
    assert verdict("lower95>=0.8", summary(50, 50, ci95=[0.4, 0.6])) == FAILED
    assert verdict("lower95>=0.8", summary(95, 4, errored=1, ci95=[0.88, 0.98])) == INCONCLUSIVE
