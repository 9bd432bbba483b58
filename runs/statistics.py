"""Intervals and estimators, pure and closed-form. All rates lie in 0..1; None where a figure is not defined."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, exp, fsum, lgamma, log, log1p, sqrt
from statistics import NormalDist, fmean

Z95 = 1.959963984540054  # the 97.5 % point of the normal distribution
T90 = (6.313751515, 2.919985580, 2.353363435, 2.131846786)  # 95 % points of Student's t, 1 to 4 degrees of freedom
WEIGHT = 4  # how many values a prior deviation counts for

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class TaskTally:
    """How the trials of ``tasks`` tasks ended alike: of ``scored`` trials each, ``passed`` passed."""

    scored: int
    passed: int
    tasks: int = 1


def wilson(rate: float, n: float) -> Interval:
    """Wilson's score interval at 95 % for a rate seen in ``n`` > 0 draws (Wilson 1927)."""
    z2 = Z95 * Z95
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 / (1 + z2 / n) * sqrt(max(0.0, rate * (1 - rate)) / n + z2 / (4 * n * n))
    return min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half))


def interval(passed: int, scored: int) -> Interval | None:
    """95 % interval of independent cells."""
    return wilson(passed / scored, scored) if scored > 0 else None


def clustered(tallies: Iterable[TaskTally]) -> Interval | None:
    """95 % interval where a task's trials resemble each other.

    The variance of the rate is the cluster-robust one, (sum over tasks of (sum of residuals)^2) / n^2 with the
    G / (G - 1) correction (Miller 2024, "Adding Error Bars to Evals", section 2.2). It enters Wilson's interval as
    an effective sample size, p(1 - p) / variance (Dean and Pagano 2015), so that the interval stays inside 0..1.
    Where the variance says nothing (all alike, or one task), a task counts once.
    """
    groups = [tally for tally in tallies if tally.scored > 0]
    n = sum(group.scored * group.tasks for group in groups)
    if n == 0:
        return None
    clusters = sum(group.tasks for group in groups)
    rate = sum(group.passed * group.tasks for group in groups) / n
    effective = float(clusters)
    if clusters > 1:
        residuals = sum(group.tasks * (group.passed - rate * group.scored) ** 2 for group in groups)
        variance = clusters / (clusters - 1) * residuals / (n * n)
        spread = rate * (1 - rate)
        if variance > 1e-15 and spread > 0:
            effective = min(float(n), max(1.0, spread / variance))
    return wilson(rate, effective)


def sign_test(up: int, down: int) -> float:
    """Two-sided p-value of the exact sign test: how likely so uneven a split of ``up + down`` changes is by chance.

    Over one pair of yes or no a task it is McNemar's exact test. 1.0 where nothing changed.
    """
    n = up + down
    whole = lgamma(n + 1) - n * log(2)
    tail = fsum(exp(whole - lgamma(k + 1) - lgamma(n - k + 1)) for k in range(min(up, down) + 1))
    return min(1.0, 2 * tail)


def by_chance(draws: int, rate: float, alpha: float) -> int:
    """The most of ``draws`` that still pass by chance at ``rate``: more of them do so at most once in 1 / ``alpha``.

    The upper quantile of the binomial distribution: the least k with P(X > k) <= alpha.
    """
    if draws <= 0 or rate <= 0:
        return 0
    if rate >= 1:
        return draws
    whole, yes, no = lgamma(draws + 1), log(rate), log1p(-rate)
    beyond, k = 0.0, draws
    while k > 0:
        beyond += exp(whole - lgamma(k + 1) - lgamma(draws - k + 1) + k * yes + (draws - k) * no)
        if beyond > alpha:
            break
        k -= 1
    return k


def pass_at_k(tallies: Iterable[TaskTally], k: int) -> float | None:
    """The unbiased estimator 1 - C(n - c, k) / C(n, k), averaged over the tasks with n >= k (Chen et al. 2021)."""
    able = [tally for tally in tallies if tally.scored >= k]
    tasks = sum(tally.tasks for tally in able)
    if tasks == 0:
        return None
    return sum(_chance(tally, k) * tally.tasks for tally in able) / tasks


def _chance(tally: TaskTally, k: int) -> float:
    return 1 - comb(tally.scored - tally.passed, k) / comb(tally.scored, k)


def ks(trials: int) -> Sequence[int]:
    """Which k are shown: the powers of two up to the trials, and the trials themselves."""
    powers = [2**i for i in range(trials.bit_length()) if 2**i <= trials]
    return powers if trials in powers else [*powers, trials]


def factor90(values: Sequence[float], more: int, prior: float = 0.0) -> float | None:
    """The mean of ``more`` further draws lies within this factor of the mean of ``values``, in 90 % of cases.

    Student's interval for a future mean (Hahn and Meeker 1991), on the logarithms: what cells cost and take is skewed
    and never negative. Values under a twentieth of the mean count as that. None for fewer than three values; from the
    sixth on the interval is a little wider than it need be. With ``prior``, as in ``log_spread``, the wider of the
    interval with it and without: a few values that are alike don't say that all are.
    """
    n = len(values)
    if n < 3:
        return None
    if fmean(values) <= 0:
        return 1.0
    reach = sqrt(1 / n + 1 / max(1, more))
    _, spread, _ = log_spread(values, 0.0)
    alone = T90[min(n - 1, len(T90)) - 1] * spread * sqrt((n - 1 + WEIGHT) / (n - 1))
    if prior <= 0:
        return exp(alone * reach)
    _, spread, freedom = log_spread(values, prior)
    return exp(max(alone, student(0.95, freedom) * spread) * reach)


def log_spread(values: Sequence[float], prior: float) -> tuple[float, float, int]:
    """(mean, deviation, degrees of freedom) of the logarithms of ``values`` > 0, where a deviation was expected.

    ``prior`` counts as that deviation seen WEIGHT times: the conjugate scaled inverse chi-squared (Gelman et al.,
    Bayesian Data Analysis, 3rd edition, section 3.3).
    """
    least = fmean(values) / 20
    logs = [log(max(value, least)) for value in values]
    centre, freedom = fmean(logs), WEIGHT + len(logs) - 1
    return centre, sqrt((WEIGHT * prior**2 + fsum((one - centre) ** 2 for one in logs)) / freedom), freedom


def student(p: float, freedom: int) -> float:
    """The point under which Student's t lies with chance ``p``, from three degrees of freedom on, to about 1 %.

    The expansion at the normal distribution's point (Abramowitz and Stegun 1964, 26.7.5).
    """
    z = NormalDist().inv_cdf(p)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + fsum(term / freedom**power for power, term in enumerate(terms, 1))
