"""``benchwright run``: launch, re-attach, watch, gate, exit code."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

PINNED = ("run", "--benchmark", "bm_1", "--model", "m@local")


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_in_a_pipe_it_prints_events_and_the_result_last(runs: Any, process: Any) -> None:
    done = process(*PINNED)
    assert done.code == 0
    printed = lines(done.out)
    assert [line.get("type") for line in printed[:-1]] == [kind for kind, _ in runs.events("run-1")]
    assert printed[-1]["object"] == "run_result"
    assert printed[-1]["id"] == "run-1"
    assert printed[-1]["summary"]["passed"] == 164
    assert printed[-1]["score_line"].startswith("score 82.0% [76.1, 86.7] · 200 tasks = 164 pass")
    assert printed[-1]["exit_code"] == 0
    assert "run run-1" in done.err
    assert "\x1b" not in done.out + done.err


def test_as_a_table_it_prints_the_honest_line_cost_and_link(runs: Any, call: Any) -> None:
    done = call(*PINNED, "--output", "table")
    assert done.code == 0
    assert done.out.splitlines() == [
        "score 82.0% [76.1, 86.7] · 200 tasks = 164 pass / 36 fail / 0 errored / 0 unscored / 0 skipped"
        " · coverage 100%",
        "cost: $0.002134 at the provider, $0.00 billed by Benchwright",
        "http://host/runs/run-1",
    ]
    assert "materialize started" in done.err


def test_calls_that_were_cut_off_are_told_beside_the_cost(runs: Any, call: Any, tally: Any) -> None:
    runs.summary = {**tally(164, 36), "unknown_calls": 1}
    nothing = {"amount_cents": 0, "amount": "0.00000000", "currency": "USD"}
    runs.extra = {"cost": {"billed": nothing, "model": {**nothing, "amount": "0.00213400"}}}
    cut = "(1 call cut off there: what that cost is unknown and not in the sum)"
    call(*PINNED, "--output", "table")
    assert cut in call("run", "show", "run-1", "--output", "table").out


@pytest.mark.parametrize(("amount", "told"), [("0.00000000", "price unknown"), ("0.00213400", "at least $0.002134")])
def test_a_call_without_a_known_price_is_not_told_as_free(
    amount: str, told: str, runs: Any, call: Any, tally: Any, twin: Any, reply: Any
) -> None:
    runs.summary = {**tally(164, 36), "unpriced_calls": 12}
    billed = {"amount_cents": 0, "amount": "0.00000000", "currency": "USD"}
    runs.extra = {"cost": {"billed": billed, "model": {**billed, "amount": amount}}}
    line = f"cost: {told} at the provider (12 calls without a known price), $0.00 billed by Benchwright"
    assert line in call(*PINNED, "--output", "table").out.splitlines()
    assert line in call("run", "show", "run-1", "--output", "table").out.splitlines()
    twin.on("GET", "/runs", reply({"object": "list", "data": [runs.runs["run-1"]], "next_page_token": None}))
    listed = call("run", "ls", "--output", "table").out
    assert told in listed
    assert "$0.00 " not in listed


def test_it_tells_the_words_of_a_halt(runs: Any, call: Any) -> None:
    runs.status, runs.extra = "halted", {"halt_reason": "user", "halt_note": "wrong\x1b[2J model"}
    assert "run run-1 halted: user (“wrong model”)" in call(*PINNED, "--output", "table").out.splitlines()
    assert json.loads(call("run", "wait", "run-1", "--output", "json").out)["halt_note"].startswith("wrong")
    shown = call("run", "show", "run-1", "--output", "table").out
    assert "run run-1 halted: user (“wrong model”)" in shown.splitlines()


def test_the_table_of_tasks_tells_what_went_wrong(runs: Any, call: Any, twin: Any, reply: Any) -> None:
    row: dict[str, Any] = {
        "id": "tsk_1",
        "task_id": "t1",
        "trial": 0,
        "outcome": "errored",
        "score": None,
        "output_preview": "",
        "error_class": "provider_error",
        "error_message": "the key was rejected (401)\x1b[2J",
        "duration_ms": 9,
    }
    page = {"object": "list", "data": [row], "next_page_token": None, "summary": runs.summary}
    twin.on("GET", "/runs/run-1/tasks", reply(page))
    out = call("run", "tasks", "run-1", "--output", "table").out
    assert re.search(r"provider_error +the key was rejected \(401\) ", out)


def test_as_json_it_prints_one_document(runs: Any, call: Any) -> None:
    done = call("--output", "json", *PINNED)
    assert json.loads(done.out)["status"] == "ok"
    yaml_text = call("run", "--output=yaml", *PINNED[1:]).out
    assert yaml_text.startswith("object: run_result\nid: run-1\n")


@pytest.mark.parametrize(
    ("counts", "code", "word"),
    [
        ((190, 10, 0), 0, "passed"),
        ((150, 50, 0), 1, "failed"),
        ((170, 0, 30), 4, "inconclusive"),
        ((0, 0, 0), 1, "failed"),
    ],
)
def test_j27_the_gate_decides_the_exit_code(
    counts: Any, code: int, word: str, runs: Any, call: Any, tally: Any
) -> None:
    runs.summary = tally(*counts)
    done = call(*PINNED, "--gate", "pass_rate=0.90", "--output", "table")
    assert done.code == code
    assert f"gate pass_rate>=0.9: {word}" in done.out


@pytest.mark.parametrize("status", ["failed", "halted"])
def test_j27_a_broken_run_is_3_whatever_its_rate(status: str, runs: Any, call: Any, tally: Any) -> None:
    runs.status, runs.summary = status, tally(200, 0)
    runs.extra = (
        {"halt_reason": "limit_exceeded:run.cost"} if status == "halted" else {"error": {"message": "broken\x07"}}
    )
    done = call(*PINNED, "--gate", "pass_rate=0.5", "--output", "table")
    assert done.code == 3
    assert f"run run-1 {status}: {'limit_exceeded:run.cost' if status == 'halted' else 'broken'}" in done.out
    assert "not judged" in done.out
    assert call("run", "wait", "run-1").code == 3


def test_the_same_command_re_attaches(runs: Any, call: Any) -> None:
    assert call(*PINNED).code == 0
    again = call(*PINNED, "--gate", "pass_rate=0.5")
    assert again.code == 0
    assert "re-attached to run-1; --new starts another" in again.err
    assert list(runs.runs) == ["run-1"]
    assert "re-attached" not in call(*PINNED, "--trials", "2").err
    assert list(runs.runs) == ["run-1", "run-2"]


def test_another_folder_or_commit_is_another_launch(runs: Any, call: Any, tmp_path: Path, monkeypatch: Any) -> None:
    call(*PINNED)
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path / "else")
    call(*PINNED)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    call(*PINNED)
    call(*PINNED)
    assert len(runs.runs) == 3


def test_new_starts_another_and_later_ones_re_attach_to_it(runs: Any, call: Any) -> None:
    call(*PINNED)
    assert "re-attached" not in call(*PINNED, "--new").err
    assert "re-attached to run-2" in call(*PINNED).err
    call(*PINNED, "--new")
    assert list(runs.runs) == ["run-1", "run-2", "run-3"]


def test_new_works_where_the_memory_is_lost(runs: Any, call: Any, home: Path) -> None:
    call(*PINNED)
    (home / ".cache/benchwright/cli.json").unlink()
    call(*PINNED, "--new")
    assert list(runs.runs) == ["run-1", "run-2"]


def test_after_a_failed_or_destroyed_run_it_starts_anew(runs: Any, call: Any) -> None:
    runs.status = "failed"
    assert call(*PINNED).code == 3
    runs.status = "ok"
    assert call(*PINNED).code == 0
    runs.gone.add("run-2")
    assert call(*PINNED).code == 0
    assert "re-attached to run-3" in call(*PINNED).err


def test_a_given_key_is_the_only_key(runs: Any, call: Any) -> None:
    call(*PINNED, "--idempotency-key", "gha-1")
    done = call(*PINNED, "--idempotency-key", "gha-1")
    assert "re-attached to run-1; another --idempotency-key starts another" in done.err
    assert list(runs.keys) == ["gha-1"]
    assert call(*PINNED, "--new", "--idempotency-key", "x").code == 2


def test_no_wait_prints_the_id_alone(runs: Any, call: Any) -> None:
    assert call(*PINNED, "--no-wait").out == "run-1\n"
    assert json.loads(call(*PINNED, "--no-wait", "--output", "ndjson").out)["id"] == "run-1"


def test_last_is_the_run_launched_last(runs: Any, call: Any, twin: Any) -> None:
    assert "no run was launched from here" in call("run", "show", "@last").err
    call(*PINNED, "--no-wait")
    assert json.loads(call("run", "show", "@last").out)["id"] == "run-1"
    call("run", "--replay-from", "@last", "--no-wait")
    launches = [call.json for call in twin.calls if call.method == "POST"]
    assert launches[-1] == {"replay": {"from_run": "run-1"}}
    assert json.loads(call("run", "show", "@last").out)["id"] == "run-2"


def test_the_request_is_the_default_command(runs: Any, call: Any, twin: Any) -> None:
    call("run", "Run MMLU on m", "--no-wait")
    call("run", "launch", "show me", "--limit-to", "run.tasks=5", "--no-wait", "--debug")
    call("run", "log in", "--no-wait")
    bodies = [call.json for call in twin.calls if call.method == "POST"]
    assert bodies.pop() == {"request": "log in"}
    assert bodies == [{"request": "Run MMLU on m"}, {"request": "show me", "limits": {"run": {"tasks": 5}}}]


def test_a_refused_launch_is_a_usage_error_and_debug_shows_the_document(twin: Any, refusal: Any, call: Any) -> None:
    twin.on("POST", "/runs", refusal(422, "missing_secret", "No key for openrouter.\x1b[31m Add one."))
    done = call(*PINNED, "--debug")
    assert done.code == 2
    assert "Error: No key for openrouter. Add one." in done.err
    assert '"code": "missing_secret"' in done.err


@pytest.mark.parametrize(
    ("status", "code"), [(401, "unauthenticated"), (403, "insufficient_scope"), (503, "unavailable")]
)
def test_not_let_in_or_not_reached_is_5(status: int, code: str, twin: Any, refusal: Any, call: Any) -> None:
    twin.on("POST", "/runs", refusal(status, code))
    assert call(*PINNED).code == 5


def test_no_server_and_no_token_are_5(call: Any, process: Any) -> None:
    assert call("me", "--base-url", "http://127.0.0.1:9").code == 5
    assert process("me", BW_PAT="").code == 5


def test_when_it_is_asked_and_nobody_is_there_it_says_so(runs: Any, call: Any, twin: Any) -> None:
    runs.status, runs.extra = "needs_input", {"review": [{"question": "Which split?"}]}
    call(*PINNED, "--no-wait")
    events = [("RunQueued", {}), ("InputNeeded", {"message": "Which split?"})]
    twin.on("GET", "/runs/run-1/stream", runs.stream(events))
    done = call("run", "wait", "run-1", "--output", "table")
    assert done.code == 3
    assert "needs input: Which split?" in done.err


def test_ctrl_c_leaves_the_run_and_says_how_to_go_on(runs: Any, twin: Any, reply: Any) -> None:
    def slow(request: Any) -> Any:
        time.sleep(20)
        return reply(status=204)

    runs.launch(type("R", (), {"headers": {"idempotency-key": "k"}}))
    twin.on("GET", "/runs/run-1/stream", slow)
    source = Path(__file__).resolve().parents[3] / "sdk" / "src"
    command = [sys.executable, "-m", "benchwright", "run", "wait", "run-1"]
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background inherits deafness
    started = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(source)}
    )
    signal.signal(signal.SIGINT, heard)
    with started:
        for _ in range(200):
            if any(path.endswith("/stream") for path in twin.paths()):
                break
            time.sleep(0.05)
        started.send_signal(signal.SIGINT)
        try:
            _, said = started.communicate(timeout=20)
        finally:
            started.kill()
    assert started.returncode == 130
    assert "The run goes on" in said
    assert "benchwright run kill run-1" in said
