"""What a run is doing, in words."""

from typing import Any

from benchwright.cli.watch.displays import remark, remarkable
from benchwright.cli.watch.progress import Progress


def event(kind: str, **data: Any) -> dict[str, Any]:
    return {"seq": 1, "type": kind, "data": data}


def test_it_tells_rate_time_left_spend_and_outcomes() -> None:
    progress = Progress()
    progress.feed(event("PhaseStarted", phase="materialize"))
    for outcome in ("passed", "passed", "failed", "errored"):
        progress.feed(event("MaterializeTaskResult", outcome=outcome, cost=25_000_000))
    progress.feed(event("PhaseProgress", phase="materialize", done=4, total=20, rate_per_s=2.5, eta_s=[6, 9]))
    assert (progress.phase, progress.done, progress.total) == ("materialize", 4, 20)
    assert progress.facts() == "2.5/s · ETA 6 s to 9 s · $1.0000 · 2 pass / 1 fail / 1 errored"


def test_it_says_what_it_waits_for_and_forgets_it_in_time() -> None:
    progress = Progress()
    progress.feed(event("ModelRetry", status=429, provider="openrouter", wait_s=12, try_=1) | {})
    progress.feed({"type": "ModelRetry", "data": {"status": 429, "provider": "openrouter", "wait_s": 12, "try": 3}})
    assert progress.facts() == "waiting on 429 from openrouter, retry in 12 s (3rd)"
    progress.feed({"type": "ModelRetry", "data": {"status": 500, "provider": "x", "wait_s": 0, "try": 11}})
    assert progress.facts() == ""
    assert progress.waiting.endswith("(11th)")
    progress.feed(event("PhaseProgress", phase="m", done=1, total=2, waiting="a slot"))
    assert progress.facts() == "a slot"
    progress.feed(event("PhaseProgress", phase="m", done=1, total=2, waiting=None))
    assert progress.facts() == ""


def test_it_counts_results_when_progress_events_lag() -> None:
    progress = Progress()
    progress.feed(event("PhaseStarted", phase="materialize"))
    progress.feed(event("PhaseProgress", phase="materialize", done=0, total=3))
    progress.feed(event("MaterializeTaskResult", outcome="passed", cost=None))
    assert progress.done == 1
    progress.feed(event("PhaseCompleted", phase="materialize"))
    assert progress.done == 3


def test_unknown_and_odd_events_change_nothing() -> None:
    progress = Progress()
    progress.feed({"type": "New", "data": None})
    progress.feed({"type": "PhaseProgress", "data": {"eta_s": None, "rate_per_s": None}})
    assert progress.facts() == ""


def test_remarks_are_one_safe_line() -> None:
    assert remark(event("HostBlocked", message="evil\n\x1b[2J.com")) == "host blocked: evil .com"
    assert remark(event("PhaseFailed", phase="report", error={"code": "x"})).startswith("report failed: ")


def test_what_the_first_cells_tell_is_a_remark() -> None:
    told = event("PhaseProgress", phase="materialize", done=5, total=50, estimate={"basis": "Measured: about $0.42."})
    assert remarkable(told)
    assert remark(told) == "estimate: Measured: about $0.42."
    assert not remarkable(event("PhaseProgress", phase="materialize", done=5, total=50))
    assert not remarkable(event("PhaseProgress", phase="materialize", done=5, total=50, estimate=None))
