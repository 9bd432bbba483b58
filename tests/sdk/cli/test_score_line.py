"""The honest score line."""

from typing import Any

from benchwright.cli.watch.score_line import score_line

WHOLE = {
    **{"total": 200, "passed": 164, "failed": 36, "errored": 0, "unscored": 0, "skipped": 0},
    **{"coverage": 1.0, "pass_rate": 0.82, "ci95": [0.761, 0.867], "bounds": {"worst": 0.82, "best": 0.82}},
}


def changed(**values: Any) -> dict[str, Any]:
    return {**WHOLE, **values}


def test_a_whole_run() -> None:
    assert score_line(WHOLE) == (
        "score 82.0% [76.1, 86.7] · 200 tasks = 164 pass / 36 fail / 0 errored / 0 unscored / 0 skipped · coverage 100%"
    )


def test_bounds_stand_beside_a_rate_that_is_not_whole() -> None:
    partial = changed(failed=16, errored=20, coverage=0.9, bounds={"worst": 0.82, "best": 0.92}, ci95=[0.86, 0.94])
    assert score_line(partial) == (
        "score 91.1% [86.0, 94.0] · 200 tasks = 164 pass / 16 fail / 20 errored / 0 unscored / 0 skipped"
        " · coverage 90.0% · worst 82.0%, best 92.0%"
    )
    unscored = changed(failed=35, unscored=1, bounds={"worst": 0.82, "best": 0.825})
    assert score_line(unscored).endswith("coverage 100% · worst 82.0%, best 82.5%")


def test_few_tasks_make_no_rate() -> None:
    few = changed(total=4, passed=3, failed=1, ci95=[0.3, 0.95])
    assert score_line(few).startswith("3 of 4, too few for a rate · 4 tasks = 3 pass / 1 fail")


def test_nothing_scored_is_no_score() -> None:
    assert score_line(changed(passed=0, failed=0, errored=200, coverage=0.0)).startswith("no score · 200 tasks")
    assert score_line({"total": 0}) == "no tasks, no score"


def test_nearly_whole_is_not_shown_as_whole() -> None:
    nearly = changed(total=100_000, passed=99_999, failed=0, errored=1, coverage=0.99999)
    assert "coverage 99.9%" in score_line(nearly)


def test_what_has_not_run_is_pending_and_trials_are_told() -> None:
    assert "36 fail / 0 errored / 0 unscored / 0 skipped / 100 pending" in score_line(changed(total=300, coverage=0.66))
    assert "200 samples (100 tasks × 2 trials) = 164 pass" in score_line(WHOLE, trials=2)


def test_a_part_of_a_benchmark_is_called_so() -> None:
    scope = {"partial": True, "words": "200 of 1,319 tasks (the first 200)"}
    assert " · only 200 of 1,319 tasks (the first 200) · 200 tasks = " in score_line(WHOLE, scope=scope)
    assert "only" not in score_line(WHOLE, scope={"partial": False, "words": "all 200 tasks"})
