"""Launching, waiting, stopping."""

from typing import Any

import pytest

from benchwright import Benchwright, NeedsInput, WaitTimeout, errors


def test_a_launch_sends_what_was_said_and_nothing_else(twin: Any, reply: Any, bw: Benchwright) -> None:
    twin.on("POST", "/runs", reply({"object": "run", "id": "r", "status": "queued"}, 201))
    said = {
        "benchmark": "bm_1",
        "subset": "sub_1",
        "impl": "latest:official",
        "sut": {"model": "m", "provider": "openrouter", "params": {"temperature": 0}},
        "limits": {"run": {"cost": 15.0, "tasks": 50}, "task": {"attempts": 1}},
        "trials": 3,
        "concurrency": 64,
        "hints": ["h"],
        "secrets": ["S"],
        "metadata": {"sweep": "x"},
        "visibility": "private",
        "driver": "builtin",
        "harness": "benchwright",
        "compute": "local",
        "phase_models": {"report": {"model": "m", "provider": "p"}},
    }
    run = bw.runs.launch(**said, timeout=300)
    assert run.id == "r"
    assert twin.calls[0].json == said


def test_wait_returns_the_run_whatever_its_end(twin: Any, reply: Any, bw: Benchwright) -> None:
    states = ("queued", "running", "running", "failed")
    twin.on("GET", "/runs/r", *(reply({"object": "run", "id": "r", "status": status}) for status in states))
    assert bw.runs.wait("r").status == "failed"


def test_wait_asks_sooner_at_first_and_then_at_its_pace(
    twin: Any, reply: Any, bw: Benchwright, naps: list[float]
) -> None:
    states = ["running"] * 10 + ["ok"]
    twin.on("GET", "/runs/r", *(reply({"id": "r", "status": status}) for status in states))
    bw.runs.wait("r", poll_interval=0.5)
    assert naps[0] == pytest.approx(0.1)
    assert naps[-1] == 0.5
    assert naps == sorted(naps)


def test_wait_raises_when_it_is_asked_something(twin: Any, reply: Any, bw: Benchwright) -> None:
    asked = {"phase": "find", "question": "Which split?", "choices": [{"id": "c1"}, {"id": "c2"}]}
    twin.on("GET", "/runs/r", reply({"id": "r", "status": "needs_input", "asked": asked}))
    with pytest.raises(NeedsInput, match="Which split") as caught:
        bw.runs.wait("r")
    assert caught.value.asked == asked
    assert "c1, c2" in str(caught.value)


def test_wait_ends_with_its_timeout_and_the_run_goes_on(twin: Any, reply: Any, bw: Benchwright) -> None:
    twin.on("GET", "/runs/r", reply({"id": "r", "status": "running"}))
    with pytest.raises(WaitTimeout, match="It goes on") as caught:
        bw.runs.wait("r", timeout=0)
    assert caught.value.run.status == "running"


def test_wait_outlasts_a_server_that_is_away(twin: Any, reply: Any, refusal: Any, bw: Benchwright) -> None:
    down = [refusal(503, "unavailable")] * 9
    twin.on("GET", "/runs/r", *down, reply({"id": "r", "status": "ok"}))
    assert bw.runs.wait("r").status == "ok"


def test_wait_tells_that_the_run_is_not_there(twin: Any, refusal: Any, bw: Benchwright) -> None:
    twin.on("GET", "/runs/r", refusal(410, "gone"))
    with pytest.raises(errors.GoneError):
        bw.runs.wait("r")


def test_halt_stops_and_kill_destroys(twin: Any, reply: Any, bw: Benchwright) -> None:
    twin.on("POST", "/runs/r/halt", reply({"id": "r", "status": "running"}))
    twin.on("DELETE", "/runs/r", reply(status=204))
    bw.runs.halt("r", reason="enough")
    bw.runs.kill("r")
    assert twin.paths() == ["POST /runs/r/halt", "DELETE /runs/r"]
    assert twin.calls[0].json == {"reason": "enough"}


def test_a_runs_etag_guards_its_change(twin: Any, reply: Any, refusal: Any, bw: Benchwright) -> None:
    twin.on("GET", "/runs/r", reply({"id": "r"}, headers={"ETag": '"1-ab"'}))
    twin.on("PATCH", "/runs/r", refusal(412, "precondition_failed"))
    run = bw.runs.get("r", expand=["benchmark"], fields=["status"])
    with pytest.raises(errors.PreconditionFailedError, match="new etag"):
        bw.runs.update("r", metadata={}, if_match=run.etag)
    assert twin.calls[0].query == {"expand": "benchmark", "fields": "status"}
    assert twin.calls[1].headers["if-match"] == '"1-ab"'
