"""Intervals and estimators against independent calculations, and what always holds."""

from itertools import combinations
from math import isfinite, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from runs.statistics import TaskTally, by_chance, clustered, interval, ks, pass_at_k, sign_test

TALLIES = st.lists(
    st.integers(0, 8).flatmap(lambda n: st.builds(TaskTally, st.just(n), st.integers(0, n), st.integers(1, 5))),
    max_size=12,
)


@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_j24_its_wilson_interval_is_scipys(seen: tuple[int, int]) -> None:
    passed, scored = seen
    expected = binomtest(passed, scored).proportion_ci(method="wilson")
    assert interval(passed, scored) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_it_knows_no_interval_of_nothing() -> None:
    assert interval(0, 0) is None
    assert clustered([]) is None
    assert clustered([TaskTally(0, 0)]) is None
    assert pass_at_k([TaskTally(1, 1)], 2) is None


@given(TALLIES)
def test_a_clustered_interval_holds_the_rate_and_stays_inside(tallies: list[TaskTally]) -> None:
    found = clustered(tallies)
    n = sum(tally.scored * tally.tasks for tally in tallies)
    assert (found is None) == (n == 0)
    if found is not None:
        rate = sum(tally.passed * tally.tasks for tally in tallies) / n
        assert 0 <= found[0] <= rate <= found[1] <= 1
        assert all(isfinite(end) for end in found)


def test_trials_that_all_agree_count_as_one_sample_per_task() -> None:
    alike = clustered([TaskTally(10, 10, 30), TaskTally(10, 0, 30)])
    one_each = interval(30, 60)
    assert alike is not None
    assert one_each is not None
    # The small-sample correction G / (G - 1) makes it a little wider.
    assert alike == pytest.approx(one_each, abs=0.002)
    assert alike[1] - alike[0] > one_each[1] - one_each[0]


def test_independent_trials_narrow_it() -> None:
    mixed = clustered([TaskTally(4, 2, 100)])
    assert mixed is not None
    independent = interval(200, 400)
    assert independent is not None
    assert mixed[1] - mixed[0] >= independent[1] - independent[0] - 1e-12


def test_its_cluster_variance_is_the_double_sum() -> None:
    """Against the definition: residuals of the same task multiplied with each other, pair by pair."""
    cells = [[1, 1, 0], [0, 0, 0], [1, 1, 1], [1, 0, 0], [1, 1, 0, 1]]
    n = sum(map(len, cells))
    rate = sum(map(sum, cells)) / n
    pairs = sum((a - rate) * (b - rate) for task in cells for a in task for b in task)
    variance = len(cells) / (len(cells) - 1) * pairs / n**2
    z, effective = 1.959963984540054, rate * (1 - rate) / variance
    centre = (rate + z * z / (2 * effective)) / (1 + z * z / effective)
    half = z / (1 + z * z / effective) * sqrt(rate * (1 - rate) / effective + z * z / (4 * effective**2))
    found = clustered([TaskTally(len(task), sum(task)) for task in cells])
    assert found == pytest.approx((centre - half, centre + half))


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.integers(1, 8))
def test_pass_at_k_is_the_share_of_draws_with_a_success(trials: list[bool], k: int) -> None:
    found = pass_at_k([TaskTally(len(trials), sum(trials))], k)
    draws = [any(draw) for draw in combinations(trials, k)]
    assert found == (pytest.approx(sum(draws) / len(draws)) if draws else None)


def test_j09_it_labels_every_k() -> None:
    assert list(ks(1)) == [1]
    assert list(ks(5)) == [1, 2, 4, 5]
    assert list(ks(8)) == [1, 2, 4, 8]


@given(st.integers(0, 2000), st.integers(0, 2000))
def test_its_sign_test_is_scipys(up: int, down: int) -> None:
    expected = binomtest(up, up + down, 0.5).pvalue if up + down else 1.0
    assert sign_test(up, down) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_a_sign_test_of_many_changes_is_a_number() -> None:
    assert sign_test(50_000, 50_000) == 1.0
    assert sign_test(51_000, 49_000) == pytest.approx(binomtest(51_000, 100_000, 0.5).pvalue, rel=1e-6)
    assert 0 <= sign_test(0, 100_000) < 1e-300


@given(st.integers(1, 3000), st.floats(0.001, 1.0), st.sampled_from([0.05, 0.001]))
def test_what_passes_by_chance_is_scipys_quantile(draws: int, rate: float, alpha: float) -> None:
    assert by_chance(draws, rate, alpha) == int(binom.isf(alpha, draws, rate))


def test_nothing_passes_by_chance_where_nothing_is_drawn_or_can_pass() -> None:
    assert by_chance(0, 0.5, 0.001) == 0
    assert by_chance(100, 0.0, 0.001) == 0
    assert by_chance(100, 1.0, 0.001) == 100
    assert by_chance(100_000, 0.25, 0.001) == int(binom.isf(0.001, 100_000, 0.25))
