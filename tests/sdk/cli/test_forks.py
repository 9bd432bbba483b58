"""``benchwright run fork``, ``flips`` and ``children``: what they send and what they print."""

import json
from typing import Any

VERDICT = "3 fixed, 1 broken; can't tell these apart (exact sign test, p = 0.62)."
FORK = {"object": "run", "id": "run-9", "status": "ok", "parent_run": "run-1", "relation": "fork"}
FLIPS = {
    "object": "list", "run": "run-9", "parent_run": "run-1", "next_page_token": None,
    "summary": {"fixed": 3, "broken": 1, "verdict": VERDICT},
    "data": [
        {
            "object": "flip", "id": "tsk_1", "task_id": "q\x1b[2J1", "trial": 0, "kind": "fixed",
            "before": {"outcome": "failed", "score": 0.0}, "after": {"outcome": "passed", "score": 1.0},
        }
    ],
}  # fmt: skip


def test_it_forks_with_words_and_remembers_the_fork(twin: Any, reply: Any, call: Any) -> None:
    twin.on("POST", "/runs/run-1/fork", reply(FORK, 201))
    done = call("run", "fork", "run-1", "-m", "tighter scoring", "--no-wait", "--idempotency-key", "fix-1")
    assert (done.code, done.out) == (0, "run-9\n")
    assert twin.calls[0].json == {"description": "tighter scoring"}
    assert twin.calls[0].headers["idempotency-key"] == "fix-1"
    twin.on("POST", "/runs/run-9/fork", reply({**FORK, "id": "run-10"}, 201))
    assert call("run", "fork", "@last", "--impl", "imp_1", "--mode", "rescore", "--no-wait").out == "run-10\n"
    assert twin.calls[-1].json == {"impl": "imp_1", "mode": "rescore"}


def test_it_sends_phase_and_model(twin: Any, reply: Any, call: Any) -> None:
    twin.on("POST", "/runs/run-1/fork", reply(FORK, 201))
    call("run", "fork", "run-1", "--from-phase", "find", "--model", "a/b@openrouter", "--no-wait")
    assert twin.calls[0].json == {"from_phase": "find", "sut": {"model": "a/b", "provider": "openrouter"}}


def test_it_names_another_judge(twin: Any, reply: Any, call: Any) -> None:
    twin.on("POST", "/runs/run-1/fork", reply(FORK, 201))
    call("run", "fork", "run-1", "--mode", "rescore", "--from-phase", "materialize", "--judge", "j@openai", "--no-wait")
    judge = {"judge": {"model": "j", "provider": "openai"}}
    assert twin.calls[0].json == {"mode": "rescore", "from_phase": "materialize", "phase_models": judge}
    assert "--judge 'j': name the" in call("run", "fork", "run-1", "-m", "x", "--judge", "j").err


def test_it_wants_to_know_what_to_change(twin: Any, call: Any) -> None:
    done = call("run", "fork", "run-1")
    assert done.code == 2
    assert "Say what to change" in done.err
    assert call("run", "fork", "run-1", "-m", "x", "--from-phase", "report").code == 2
    assert not twin.calls


def test_flips_are_a_table_and_a_verdict(twin: Any, reply: Any, call: Any) -> None:
    twin.on("GET", "/runs/run-9/flips", reply(FLIPS))
    done = call("run", "flips", "run-9", "--kind", "fixed", "--output", "table")
    assert twin.calls[0].query == {"kind": "fixed", "limit": "100"}
    assert "\x1b[2J" not in done.out
    assert "failed" in done.out
    assert f"flips: {VERDICT}" in done.out
    whole = json.loads(call("run", "flips", "run-9", "--output", "json").out)
    assert whole["summary"]["fixed"] == 3
    assert [row["id"] for row in whole["data"]] == ["tsk_1"]
    assert json.loads(call("run", "flips", "run-9").out)["id"] == "tsk_1"


def test_show_tells_what_a_fork_changed(twin: Any, reply: Any, call: Any) -> None:
    fork = {**FORK, "fork": {"description": "tighter", "from_phase": "materialize", "mode": "rescore"}}
    twin.on("GET", "/runs/run-9", reply(fork))
    twin.on("GET", "/runs/run-9/flips", reply(FLIPS))
    flat = " ".join(call("run", "show", "run-9", "--output", "table").out.split())
    assert "made from run-1, fork changes tighter graded anew the outputs of run-1; no model was asked" in flat
    assert f"flips: {VERDICT}" in flat
    twin.on("GET", "/runs/run-9/flips", reply({"code": "not_comparable", "status": 409, "detail": "no"}, 409))
    assert "flips" not in call("run", "show", "run-9", "--output", "table").out


def test_children_are_listed(twin: Any, reply: Any, call: Any) -> None:
    body = {"object": "list", "data": [{**FORK, "fork": {"description": "tighter"}}], "next_page_token": None}
    twin.on("GET", "/runs/run-1/children", reply(body))
    out = call("run", "children", "run-1", "--relation", "fork", "--output", "table").out
    assert twin.calls[0].query == {"relation": "fork", "limit": "20"}
    assert "run-9" in out
    assert "tighter" in out
