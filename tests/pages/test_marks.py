"""The small drawings: they say in words what they show, and carry nothing that a strict page refuses."""

import re

import pytest

from runs.plots import marks


def test_it_draws_a_caliper_whose_jaws_are_the_interval() -> None:
    drawn = marks.caliper(0.759, 0.635, 0.85)
    assert 'aria-label="Pass rate 75.9%, 95% interval 63.5 to 85.0"' in drawn
    assert '<line class="jaw" x1="63.50%"' in drawn
    assert '<line class="jaw" x1="85.00%"' in drawn
    assert 'cx="75.90%"' in drawn
    assert "bounds" not in drawn


def test_it_draws_the_bounds_where_something_has_no_score() -> None:
    drawn = marks.caliper(0.822, 0.762, 0.87, worst=0.785, best=0.83)
    assert "bounds 78.5 to 83.0" in drawn
    assert '<rect class="bounds" x="78.50%" width="4.50%"' in drawn


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_it_stays_on_the_rule_at_the_ends(rate: float) -> None:
    shares = [float(at) for at in re.findall(r'(?:x1|x2|cx)="(-?[\d.]+)%"', marks.caliper_mini(rate, 0.0, 1.0))]
    assert shares
    assert all(0 <= share <= 100 for share in shares)


def test_it_draws_one_bar_of_all_outcomes() -> None:
    bar = marks.outcome_bar({"passed": 157, "failed": 34, "errored": 7, "unscored": 2, "skipped": 0})
    assert 'aria-label="157 passed, 34 failed, 7 errored, 2 unscored, 0 skipped"' in bar
    assert "f-skipped" not in bar
    assert sum(float(width) for width in re.findall(r'width="([\d.]+)%"', bar)) == pytest.approx(100)


def test_it_draws_a_tick_a_task_and_tells_outcomes_by_place() -> None:
    strip = marks.strip(["passed", "failed", "errored", "waiting"], "four")
    assert 'class="passed" stroke-width=".68" d="M0.5 0V34"' in strip
    assert 'd="M1.5 18V34"' in strip
    assert 'd="M2.5 0V14"' in strip
    assert 'd="M3.5 31V34"' in strip
    assert "scroll" not in strip


def test_it_stacks_the_shares_of_a_bin() -> None:
    strip = marks.binned_strip([{"passed": 0.5, "failed": 0.5}, {}], "two")
    assert 'class="passed" stroke-width=".8" d="M0.5 34V17"' in strip
    assert 'class="failed" stroke-width=".8" d="M0.5 17V0"' in strip
    assert 'viewBox="0 0 2 34"' in strip


@pytest.mark.parametrize(
    "drawn",
    [
        marks.caliper(0.5, 0.4, 0.6),
        marks.caliper_mini(0.5, 0.4, 0.6),
        marks.outcome_bar({"passed": 1}),
        marks.strip(["passed"] * 200, "many"),
        marks.outcome_bar({}),
    ],
)
def test_it_needs_no_style_attribute_and_no_script(drawn: str) -> None:
    assert "style=" not in drawn
    assert "<script" not in drawn
    assert 'role="img"' in drawn
