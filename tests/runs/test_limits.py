"""Ceilings: the whole matrix, strictly, and which one is reached."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import DomainError
from runs import limits
from runs.limits import MATRIX, Level

CELLS = [(level, quantity) for level, quantities in MATRIX.items() for quantity in quantities]
ALL = sorted({quantity for quantities in MATRIX.values() for quantity in quantities})


@pytest.mark.parametrize(("level", "quantity"), CELLS)
def test_it_takes_every_cell_of_the_matrix(level: str, quantity: str) -> None:
    found = limits.parse({level: {quantity: 2}})
    ceilings = found.phase("materialize") if level == "phase" else getattr(found, level)
    assert getattr(ceilings, quantity) == (200_000_000 if quantity in limits.MONEY else 2)
    assert ceilings != Level()


@pytest.mark.parametrize(("level", "quantity"), [(a, b) for a in MATRIX for b in ALL if (a, b) not in CELLS])
def test_it_refuses_what_the_matrix_lacks(level: str, quantity: str) -> None:
    with pytest.raises(DomainError, match=f"{level}.{quantity}") as caught:
        limits.parse({level: {quantity: 2}})
    assert caught.value.errors[0]["loc"] == ["body", "limits", level, quantity]


@pytest.mark.parametrize("value", [True, "500", None, [], 0, -1, 10**30, float("nan"), float("inf"), 2**63])
@pytest.mark.parametrize("quantity", MATRIX["run"])
def test_a05_it_is_strict_about_figures(quantity: str, value: Any) -> None:
    with pytest.raises(DomainError) as caught:
        limits.parse({"run": {quantity: value}})
    assert caught.value.code == "validation_failed"


@pytest.mark.parametrize("quantity", ["tokens", "tasks"])
def test_a05_counts_are_integers(quantity: str) -> None:
    with pytest.raises(DomainError, match="whole number"):
        limits.parse({"run": {quantity: 500.0}})


def test_it_reads_dollars_exactly() -> None:
    assert limits.parse({"run": {"cost": 0.1}}).run.cost == 10_000_000
    assert limits.parse({"run": {"cost": 15}}).run.cost == 1_500_000_000
    with pytest.raises(DomainError, match="smallest"):
        limits.parse({"run": {"cost": 1e-12}})


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"runs": {}}, 'did you mean "run"'),
        ({"run": {"costs": 1}}, 'did you mean "cost"'),
        ({"run": 5}, "must be an object"),
        ({"phase": {"materialise": {}, "report": {}}}, 'did you mean "materialize"'),
        ({"phase": {"materialize": {"tasks": 5}}}, "run"),
        ({"phase": []}, "must be an object"),
    ],
)
def test_it_names_the_nearest(declared: dict[str, Any], said: str) -> None:
    with pytest.raises(DomainError, match=said):
        limits.parse(declared)


def test_phase_takes_one_for_all_or_one_per_name() -> None:
    assert limits.parse({"phase": {"duration": 60}}).phase("report").duration == 60
    found = limits.parse({"phase": {"materialize": {"duration": 60}}})
    assert (found.phase("materialize").duration, found.phase("report").duration) == (60, None)


def test_d24_it_names_the_ceiling_that_is_reached() -> None:
    found = limits.parse({"run": {"cost": 1, "duration": 10}, "phase": {"tokens": 5}, "attempt": {"duration": 2}})
    assert found.breach("run", {"cost": 99_999_999, "duration": 9.99}) is None
    assert found.breach("run", {"cost": 100_000_000, "duration": 9.99}) == "run.cost"
    assert found.breach("run", {"cost": None, "duration": 10.0}) == "run.duration"
    assert found.breach("phase", {"tokens": 5}, "materialize") == "phase.tokens"
    assert found.breach("attempt", {"duration": 2.5}) == "attempt.duration"
    assert found.breach("task", {"cost": 10**12}) is None


@given(st.dictionaries(st.sampled_from(limits.CHECKED), st.integers(0, 10**12)))
def test_nothing_declared_is_never_reached(figures: dict[str, int]) -> None:
    assert all(limits.parse({}).breach(level, figures, "report") is None for level in MATRIX)


@pytest.mark.parametrize("cents", [True, "5", 5.0, 0, -5, 2**60])
def test_a05_constraints_are_whole_numbers(cents: Any) -> None:
    with pytest.raises(DomainError):
        limits.from_constraints({"max_cost_cents": cents}, {})


def test_constraints_mean_the_same_ceilings() -> None:
    old = {"max_cost_cents": 501, "max_duration_ms": 600_500, "max_tasks": 50}
    made = limits.from_constraints(old, {"task": {"attempts": 1}})
    assert made == {"task": {"attempts": 1}, "run": {"cost": 5.01, "duration": 600.5, "tasks": 50}}
    assert limits.parse(made).run.cost == 501_000_000
