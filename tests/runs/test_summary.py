"""The summary: what is counted, what is undefined, and what always holds."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import User
from runs import queries
from runs.models import Run, TaskResult
from runs.statistics import TaskTally
from runs.summary import OUTCOMES, Figures, assemble
from tests.factories import launched

COUNTS = st.fixed_dictionaries({name: st.integers(0, 50) for name in OUTCOMES})


@given(COUNTS, st.integers(0, 30))
def test_j06_the_denominators_always_add_up(counts: dict[str, int], pending: int) -> None:
    total = sum(counts.values()) + pending
    found = assemble(Figures(total=total, trials=1, counts=counts))
    assert sum(found[name] for name in OUTCOMES) + found["pending"] == found["total"] == total
    json.dumps(found, allow_nan=False)
    scored = counts["passed"] + counts["failed"] + counts["unscored"]
    if total == 0:
        assert (found["coverage"], found["bounds"]) == (None, {"worst": None, "best": None})
        return
    assert found["coverage"] == scored / total
    worst, best = found["bounds"]["worst"], found["bounds"]["best"]
    assert 0 <= worst <= best <= 1
    if scored == 0:
        assert (found["pass_rate"], found["ci95"]) == (None, None)
        return
    low, high = found["ci95"]
    assert 0 <= low <= found["pass_rate"] <= high <= 1
    # An unscored output is no right one, so only infrastructure and pending cells widen the bounds downwards.
    assert worst <= found["pass_rate"] <= best + 1e-12


def test_an_infrastructure_fault_is_no_wrong_answer_and_an_unscored_one_no_right_one() -> None:
    found = assemble(Figures(total=10, trials=1, counts={"passed": 4, "failed": 2, "unscored": 2, "errored": 2}))
    assert found["pass_rate"] == 0.5
    assert found["coverage"] == 0.8
    assert found["bounds"] == {"worst": 0.4, "best": 0.8}


def test_it_has_pass_at_k_for_several_trials_only() -> None:
    assert assemble(Figures(total=1, trials=1, counts={"passed": 1}))["pass_at_k"] is None
    tallies = [TaskTally(2, 1, 3), TaskTally(1, 1)]
    found = assemble(Figures(total=8, trials=2, counts={"passed": 4, "failed": 3, "errored": 1}, tallies=tallies))
    assert found["pass_at_k"] == {"1": pytest.approx((0.5 * 3 + 1) / 4), "2": 1.0}


@pytest.mark.django_db
def test_it_counts_the_whole_run_from_its_results(alice: User) -> None:
    run = launched.ended(alice, ["passed", "failed", "unscored", "errored", "skipped", "passed"])
    TaskResult.objects.filter(run=run, ordinal__in=[0, 1]).update(kind="math")
    Run.objects.filter(id=run.id).update(cost_model=213_400, tokens_in=5, tokens_out=7, unpriced_calls=1)
    found = queries.live_summary(run)
    assert {name: found[name] for name in ("total", *OUTCOMES, "pending")} == {
        "total": 6,
        "passed": 2,
        "failed": 1,
        "errored": 1,
        "unscored": 1,
        "skipped": 1,
        "pending": 0,
    }
    assert (found["pass_rate"], found["coverage"], found["mean_score"]) == (0.5, 4 / 6, pytest.approx(2 / 4))
    assert (found["duration_ms_p50"], found["duration_ms_p95"]) == (102, 105)
    assert found["tokens"] == {"in": 5, "out": 7, "total": 12}
    assert found["cost"] == {"amount_cents": 0, "amount": "0.00213400", "currency": "USD"}
    assert found["by_kind"]["math"] == {
        "total": 2,
        "passed": 1,
        "failed": 1,
        "errored": 0,
        "unscored": 0,
        "skipped": 0,
        "pass_rate": 0.5,
        "ci95": pytest.approx([0.0945, 0.9055], abs=1e-3),
    }


@pytest.mark.django_db
def test_j05_a_missing_score_counts_as_not_passed(alice: User) -> None:
    found = queries.live_summary(launched.ended(alice, ["unscored", "unscored"]))
    assert (found["pass_rate"], found["mean_score"], found["coverage"]) == (0.0, 0.0, 1.0)


@pytest.mark.django_db
def test_a_running_run_counts_only_what_has_ended(alice: User) -> None:
    run = launched.launch(alice, launched.catalogue(alice, 5))
    assert queries.summary(run)["pass_rate"] is None
    launched.end_cells(run, {3: "passed"})
    found = queries.summary(run)
    assert (found["total"], found["passed"], found["pending"]) == (5, 1, 4)
    assert (found["pass_rate"], found["coverage"]) == (1.0, 0.2)
    assert found["bounds"] == {"worst": 0.2, "best": 1.0}


@pytest.mark.django_db
def test_j09_a_cell_counts_once_whatever_its_versions(alice: User) -> None:
    run = launched.ended(alice, ["failed", "passed"], trials=2)
    old = TaskResult.objects.get(run=run, ordinal=0)
    TaskResult.objects.filter(id=old.id).update(live=False)
    old.pk, old.version, old.outcome, old.score = "tsk_new", 2, "passed", 1.0
    old.save(force_insert=True)
    found = queries.live_summary(run)
    assert (found["total"], found["passed"], found["failed"]) == (2, 2, 0)
    assert found["pass_at_k"] == {"1": 1.0, "2": 1.0}


@pytest.mark.django_db
def test_a_completion_shows_the_completed_whole(alice: User) -> None:
    parent = launched.ended(alice, ["passed", "failed", "errored", "skipped"], to="halted")
    child = launched.launch(alice, replay={"from_run": str(parent.id), "only_errored": True})
    assert (child.completes, child.task_positions, child.planned) == (True, [2, 3], 2)
    launched.end_cells(child, {0: "passed", 1: "failed"})
    launched.finish(child)
    found = queries.live_summary(child)
    assert (found["total"], found["coverage"]) == (2, 1.0)
    assert (found["completed"]["total"], found["completed"]["passed"], found["completed"]["coverage"]) == (4, 2, 1.0)


@pytest.mark.django_db
def test_a_completion_may_be_completed_in_turn(alice: User) -> None:
    first = launched.ended(alice, ["passed", "failed", "errored", "errored"])
    second = launched.launch(alice, replay={"from_run": str(first.id), "only_errored": True})
    launched.end_cells(second, {0: "passed", 1: "errored"})
    launched.finish(second)
    third = launched.launch(alice, replay={"from_run": str(second.id), "only_errored": True})
    assert (third.completes, third.task_positions) == (True, [3])
    launched.end_cells(third, {0: "unscored"})
    launched.finish(third)
    whole = queries.live_summary(third)["completed"]
    assert [whole[name] for name in ("total", "passed", "failed", "unscored", "errored")] == [4, 2, 1, 1, 0]
    assert (whole["coverage"], whole["pass_rate"]) == (1.0, 0.5)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "other",
    [{"sut": "else@local"}, {"trials": 2}, {"metadata": {"limit": 1}}, {"sut": {**launched.LOCAL, "params": {"a": 1}}}],
)
def test_j17_only_the_same_question_asked_the_same_way_completes(alice: User, other: dict[str, object]) -> None:
    parent = launched.ended(alice, ["passed", "errored", "skipped"], to="halted")
    child = launched.launch(alice, replay={"from_run": str(parent.id), "only_errored": True}, **other)
    assert (child.completes, child.relation) == (False, "replay")


@pytest.mark.django_db
def test_nobody_completes_somebody_elses_run(alice: User, bob: User) -> None:
    parent = launched.ended(alice, ["passed", "errored"], visibility="public")
    assert not launched.launch(bob, replay={"from_run": str(parent.id), "only_errored": True}).completes


@pytest.mark.django_db
def test_a_summary_that_takes_long_is_reused_while_the_run_goes_on(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launched.launch(alice)
    launched.end_cells(run, {0: "passed"})
    assert queries.recent_summary(run)["passed"] == 1
    launched.end_cells(run, {1: "passed"})
    assert queries.recent_summary(run)["passed"] == 2, "a quick one is always fresh"
    monkeypatch.setattr(queries, "_QUICK_SECONDS", 0.0)
    monkeypatch.setattr(queries, "_REUSED_FOR", 1e6)
    queries.recent_summary(run)
    launched.end_cells(run, {2: "passed"})
    assert queries.recent_summary(run)["passed"] == 2
    launched.finish(run)
    assert queries.recent_summary(run)["passed"] == 3, "the end is exact"
