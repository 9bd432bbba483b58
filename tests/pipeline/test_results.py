"""Outcomes: an infrastructure fault is never a wrong answer, and never a right one."""

import pytest

from runs import results

CLEAN = {"known": True, "calls": 1, "unresolved": False, "stop_reason": "stop"}
FAULTY = {"known": True, "calls": 1, "unresolved": True, "error_class": "rate_limited", "error_message": "429"}


def test_it_lets_a_clean_output_be_scored() -> None:
    assert results.after_solve(None, CLEAN) is None


@pytest.mark.parametrize("fault", [None, {"class": "HTTPError", "message": "429"}])
def test_it_errs_after_a_call_that_never_succeeded_whatever_the_scorer_made_of_it(fault: dict[str, str] | None) -> None:
    ending = results.after_solve(fault, FAULTY)
    assert ending is not None
    assert (ending.outcome, ending.error_class, ending.retry) == ("errored", "rate_limited", True)


def test_it_counts_a_scorers_own_exception_as_unscored_not_as_wrong() -> None:
    ending = results.after_solve({"class": "KeyError", "message": "'choices'"}, CLEAN)
    assert ending is not None
    assert (ending.outcome, ending.error_class, ending.retry) == ("unscored", "scorer_exception", False)


def test_it_scores_a_solve_that_asked_no_model() -> None:
    assert results.after_solve(None, {"known": False, "calls": 0}) is None


def test_it_blames_the_sandbox_for_what_the_sandbox_did() -> None:
    ending = results.after_solve({"infra": "resource_exhausted:memory", "message": "killed"}, CLEAN)
    assert ending is not None
    assert (ending.outcome, ending.error_class) == ("errored", "resource_exhausted:memory")


@pytest.mark.parametrize(
    ("score", "threshold", "outcome"),
    [(1.0, 1.0, "passed"), (0.99, 1.0, "failed"), (0.5, 0.5, "passed"), (0.0, 0.0, "passed"), (0.0, 0.5, "failed")],
)
def test_it_passes_at_the_threshold(score: float, threshold: float, outcome: str) -> None:
    ending = results.after_score({"op": "scored", "score": score}, "x", CLEAN, threshold)
    assert (ending.outcome, ending.score) == (outcome, score)


@pytest.mark.parametrize(
    ("output", "facts", "metrics", "error_class"),
    [
        ("B", CLEAN, None, "wrong"),
        ("  ", CLEAN, None, "no_answer"),
        (None, CLEAN, None, "no_answer"),
        ("B", {**CLEAN, "stop_reason": "length"}, {"class": "wrong"}, "truncated"),
        ("?", CLEAN, {"class": "format_miss"}, "format_miss"),
        ("?", CLEAN, {"class": "made up"}, "wrong"),
        ("", {**CLEAN, "stop_reason": "content_filter"}, {"class": "no_answer"}, "refused"),
    ],
)
def test_it_names_why_an_answer_failed(
    output: object, facts: dict[str, object], metrics: dict[str, str] | None, error_class: str
) -> None:
    ending = results.after_score({"op": "scored", "score": 0, "metrics": metrics}, output, facts, 1.0)
    assert (ending.outcome, ending.error_class) == ("failed", error_class)


def test_j05_it_never_makes_a_number_of_what_is_none() -> None:
    verdict = {"op": "unscored", "error": {"class": "invalid_score", "message": "score() returned nan"}}
    ending = results.after_score(verdict, "x", CLEAN, 1.0)
    assert (ending.outcome, ending.score, ending.error_class) == ("unscored", None, "invalid_score")


def test_it_keeps_text_that_a_database_takes() -> None:
    assert results.clean("a\x00b\ud800c", 10) == "a\ufffdb\ufffdc" or "\x00" not in results.clean("a\x00b\ud800c", 10)
    results.clean("a\x00b\ud800c", 10).encode()


def test_what_looks_like_a_secret_is_taken_out_of_all_that_is_told() -> None:
    key = "gsk" + "_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3kL5m"
    reply = {"op": "scored", "score": 0.0, "explanation": f"sent {key}", "metrics": {"header": key, "n": 1}}
    ending = results.after_score(reply, "x", CLEAN, 1.0)
    assert ending.explanation == "sent gsk_[redacted]"
    assert ending.metrics == {"header": "gsk_[redacted]", "n": 1}
    assert key[:20] not in results.preview("." * 180 + " " + key), "nor a part of it, at the cut"
    assert key not in results.told({"class": "HTTPError", "message": f"401 for {key}"})
    ending = results.after_solve({"infra": "provider_error", "message": f"the provider said {key}"}, CLEAN)
    assert ending is not None
    assert key not in str(ending)
