"""``benchwright run show`` and ``run tasks``: a sheet for people, whole objects for programs."""

import json
from typing import Any

import pytest

CENTS = {"amount_cents": 0, "amount": "0.00000000", "currency": "USD"}
SPENT = {**CENTS, "amount_cents": 21, "amount": "0.21000000"}
SUMMARY = {
    **{"total": 200, "passed": 164, "failed": 36, "errored": 0, "unscored": 0, "skipped": 0},
    **{"coverage": 1.0, "ci95": [0.761, 0.867], "bounds": {"worst": 0.82, "best": 0.82}},
    **{"tokens": {"in": 12345, "out": 678, "total": 13023}, "duration_ms_p50": 812, "duration_ms_p95": 2100},
}
RUN = {
    **{"object": "run", "id": "run-1", "status": "ok", "request": None, "mode": "replay", "relation": "replay"},
    **{"benchmark": {"id": "bm_1", "name": "MMLU\x1b[2J"}, "benchmark_name": "MMLU\x1b[2J"},
    **{"subset_id": "sub_1", "subset_revision": 3, "impl": {"id": "imp_1", "label": "strict"}},
    **{"parent_run": "run-0", "completes": None, "trials": 1, "concurrency": 16, "harness": "benchwright"},
    "scope": {"tasks": 200, "of": 1319, "partial": True, "words": "200 of 1,319 tasks (the first 200)"},
    **{"backend": "local", "unsandboxed": False, "visibility": "private", "hints": [], "metadata": {"sweep": "a"}},
    "model": {
        **{"identifier": "qwen/qwen3-32b", "provider": "openrouter", "params": {"temperature": 0}},
        "sampling": {"temperature": 0, "max_tokens": 32},
        "served": {"qwen3-32b-0428 via x": 3, "qwen3-32b via y": 197},
    },
    "limits": {"run": {"cost": 15, "tasks": 200}, "phase": {"report": {"duration": 60.5}}},
    "secrets": {"sut_key": "K", "leased": ["GITHUB_TOKEN"], "foreign_impl": False, "notice": None},
    "phases": [
        {
            **{"name": "materialize", "status": "ok", "attempt": 2, "cost": SPENT},
            **{"started_at": "2026-04-01T10:00:00Z", "finished_at": "2026-04-01T10:03:00Z"},
        },
        {"name": "report", "status": "ok", "attempt": 1, "cost": CENTS, "started_at": None, "finished_at": None},
    ],
    **{"summary": SUMMARY, "cost": {"billed": CENTS, "model": SPENT}},
    **{"halt_reason": None, "error": None, "review": [], "links": {"dashboard": "http://host/runs/run-1"}},
    **{"created_at": "2026-04-01T09:59:58Z", "started_at": "2026-04-01T10:00:00Z"},
    "finished_at": "2026-04-01T10:03:20Z",
}
SHEET = [
    "run run-1 ok",
    "benchmark MMLU (bm_1)",
    "subset sub_1, revision 3",
    "tasks 200 of 1,319 tasks (the first 200)",
    "scorer strict (imp_1)",
    "made from run-0, replay",
    "model qwen/qwen3-32b at openrouter",
    "answered by qwen3-32b via y (197), qwen3-32b-0428 via x (3)",
    'sampling {"temperature": 0, "max_tokens": 32}',
    "side by side up to 16 tasks",
    "run by benchwright, local",
    "limits run.cost 15, run.tasks 200, phase.report.duration 60.5",
    "secrets K pays the model; leased: GITHUB_TOKEN",
    "created 2026-04-01T09:59:58Z",
    "took 3 min",
    "phases materialize ok in 3 min, $0.21 (attempt 2) · report ok",
    "a task 812 ms at the median, 2,100 ms at 95%",
    "tokens 12,345 in, 678 out",
    'metadata {"sweep": "a"}',
    "visibility private",
    "page http://host/runs/run-1",
    "score 82.0% [76.1, 86.7] · only 200 of 1,319 tasks (the first 200) · "
    "200 tasks = 164 pass / 36 fail / 0 errored / 0 unscored / 0 skipped · coverage 100%",
    "cost: $0.21 at the provider, $0.00 billed by Benchwright",
]


def flat(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_run_is_shown_as_a_sheet(twin: Any, reply: Any, call: Any) -> None:
    twin.on("GET", "/runs/run-1", reply(RUN))
    out = call("run", "show", "run-1", "--output", "table").out
    assert flat(out) == SHEET
    assert json.loads(call("run", "show", "run-1", "--output", "json").out) == RUN
    assert json.loads(call("run", "show", "run-1").out) == RUN


@pytest.mark.parametrize(
    ("fields", "first"),
    [
        ({"status": "halted", "halt_reason": "balance"}, ["run run-1 halted: balance"]),
        (
            {"status": "failed", "error": {"message": "no host", "hint": "Try again."}},
            ["run run-1 failed: no host", "Try again."],
        ),
        (
            {"status": "needs_input", "asked": {"question": "Which subset?"}},
            [
                "run run-1 needs_input",
                "asks: Which subset?",
                "benchwright run plan run-1 shows the choices; benchwright run approve run-1 answers.",
            ],
        ),
    ],
)
def test_the_sheet_begins_with_what_matters(
    fields: dict[str, Any], first: list[str], twin: Any, reply: Any, call: Any
) -> None:
    twin.on("GET", "/runs/run-1", reply({"id": "run-1", "summary": None, **fields}))
    assert flat(call("run", "show", "run-1", "--output", "table").out) == first


def test_changing_a_run_shows_the_sheet_too(twin: Any, reply: Any, call: Any) -> None:
    twin.on("PATCH", "/runs/run-1", reply(RUN))
    assert flat(call("run", "update", "run-1", "--metadata", "sweep=a", "--output", "table").out) == SHEET


def test_tasks_as_json_hold_the_summary(twin: Any, reply: Any, call: Any) -> None:
    rows = [{"object": "task_result", "id": f"tsk_{n}", "task_id": f"t{n}", "outcome": "failed"} for n in range(2)]
    body = {"object": "list", "data": rows, "next_page_token": "more", "summary": SUMMARY}
    twin.on("GET", "/runs/run-1/tasks", reply(body))
    words = ("run", "tasks", "run-1", "--limit", "2")
    told = json.loads(call(*words, "--output", "json").out)
    assert told == body
    assert call(*words, "--output", "yaml").out.startswith("object: list\nsummary:\n  total: 200\n")
    assert [json.loads(line) for line in call(*words).out.splitlines()] == rows
    table = call(*words, "--output", "table")
    assert table.out.splitlines()[-1].startswith("score 82.0%")
    assert "--page-token more goes on" in table.err
