"""What a few cells tell of many, as figures."""

import random

import pytest

from runs import limits
from runs.harnesses.benchwright.probing.duration import CLOSING, Took, left_takes
from runs.harnesses.benchwright.probing.measuring import Seen, SoFar, estimate, exceeds, whole
from runs.statistics import factor90, student


def so_far(**fields: float) -> SoFar:
    given = {"cost": 500, "model_cost": 500, "judge": 0, "tokens": 600, "run_seconds": 12.0, "phase_seconds": 2.0,
             "ended": 5, "planned": 105}  # fmt: skip
    return SoFar(**{**given, **fields})  # type: ignore[arg-type]


SEEN = [Seen(100, 120, 2.0, 2.0)] * 5


def test_like_cells_leave_some_doubt_and_more_of_time() -> None:
    found = whole(SEEN, so_far(), concurrency=10)
    assert found.cost is not None
    assert found.cost.point == 10_500
    assert found.cost.pair(0) == [pytest.approx(8_360, abs=100), pytest.approx(13_200, abs=100)]
    assert found.tokens.point == 12_600
    assert found.seconds.point == pytest.approx(2 + 100 * 2 / 10, rel=0.2)
    low, high = found.seconds.pair(1) or (0, 0)
    assert low < 2 + 100 * 2 / 10 < 2 + 100 * 2 / 5 < high, "nobody saw more than five at once"
    assert found.run_seconds.point == pytest.approx(found.seconds.point + 10)


def test_what_driver_and_judge_cost_belongs_to_it() -> None:
    found = whole(SEEN, so_far(cost=1500, judge=250), concurrency=10)
    assert found.cost is not None
    assert found.model_cost is not None
    assert found.cost.point == 1500 + 100 * (100 + 50), "the driver's 750 once, the judge's 50 for each cell"
    assert found.model_cost.point == 10_500


def test_an_unknown_price_stays_unknown() -> None:
    found = whole([Seen(None, 120, 2.0, 2.0), *SEEN[1:]], so_far(), concurrency=10)
    said = estimate(found, 5, so_far())
    assert (said["cost_micro_cents"], said["range"]["cost_micro_cents"]) == (None, None)
    assert "an unknown cost" in said["basis"]
    assert exceeds(found, limits.parse({"run": {"cost": 0.000001}}), "materialize") == []


def test_two_cells_make_no_interval() -> None:
    said = estimate(whole(SEEN[:2], so_far(), 10), 2, so_far())
    assert said["range"] == {"cost_micro_cents": None, "seconds": None, "tokens": None}
    assert "too few for an interval" in said["basis"]


def test_ceilings_are_named_as_likely_or_possible() -> None:
    seen = [Seen(cost, 120, 2.0, 2.0) for cost in (60, 80, 100, 120, 140)]
    found = whole(seen, so_far(), 10)
    assert found.cost is not None
    assert found.cost.high is not None
    between = (found.cost.point + found.cost.high) / 2 / 1e8
    declared = {"run": {"cost": between, "duration": 5}, "phase": {"materialize": {"tokens": 99_000}}}
    told = {each["limit"]: each["likely"] for each in exceeds(found, limits.parse(declared), "materialize")}
    assert told == {"run.cost": False, "run.duration": True}


def test_the_interval_holds_what_it_says() -> None:
    """Of skewed costs, as answers have them; the first five against the mean of a hundred others."""
    chance = random.Random(7)
    for spread in (0.2, 0.5, 0.8):
        held = 0
        for _ in range(2000):
            draws = [chance.lognormvariate(0, spread) for _ in range(105)]
            first, rest = draws[:5], draws[5:]
            factor = factor90(first, len(rest))
            assert factor is not None
            ratio = (sum(rest) / 100) / (sum(first) / 5)
            held += 1 / factor <= ratio <= factor
        assert 0.86 <= held / 2000 <= 0.95, spread


def ends(seconds: list[float], places: int, begun: float = 0.0) -> list[Took]:
    """How cells of these seconds end on so many places, each starting when one is free."""
    free = [begun] * places
    took = []
    for each in seconds:
        free.sort()
        free[0] += each
        took.append(Took(each, free[0]))
    return took


@pytest.mark.parametrize("deviation", [0.0, 0.3, 0.6, 1.0])
@pytest.mark.parametrize(("cells", "places"), [(6, 16), (40, 1), (100, 16), (400, 16)])
def test_the_time_holds_where_places_make_it_quicker(deviation: float, cells: int, places: int) -> None:
    chance, held = random.Random(f"{deviation} {cells} {places}"), 0
    for _ in range(300):
        draws = [chance.lognormvariate(0, deviation) for _ in range(cells)]
        _, low, high = left_takes(ends(draws[:5], places), cells - 5, places)
        held += low <= max(cell.ended for cell in ends(draws[5:], places)) <= high
    assert held / 300 >= 0.88, held / 300


def test_the_time_holds_where_calls_are_served_one_after_another() -> None:
    first = [Took(float(at), float(at)) for at in range(1, 6)]
    _, low, high = left_takes(first, 100, 16)
    assert low < 100 < high
    assert high < 300


def test_nothing_left_takes_but_a_moment_and_a_straggler_widens_the_end() -> None:
    first = ends([1.0] * 5, 5)
    assert left_takes(first, 0, 16) == (0.0, 0.0, CLOSING)
    assert left_takes([*first, Took(21.0, 21.0)], 50, 16)[2] > 2 * left_takes(first, 50, 16)[2]
    point, low, high = left_takes(first[:1], 10, 16)
    assert 0 < low < point < high


@pytest.mark.parametrize(("p", "freedom", "point"), [(0.95, 4, 2.132), (0.995, 8, 3.355), (0.999, 6, 5.208)])
def test_students_point_is_the_tables(p: float, freedom: int, point: float) -> None:
    assert student(p, freedom) == pytest.approx(point, rel=0.005)


def test_nothing_and_zero_are_told_apart() -> None:
    assert factor90([0, 0, 0], 10) == 1.0
    assert factor90([1, 2], 10) is None
    some = factor90([0, 1, 1, 1, 1], 10)
    assert some is not None
    assert some > 2
