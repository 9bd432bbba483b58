"""Task rows, payloads and event pages."""

import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from accounts.models import User
from runs.models import ModelCall, Output, Run, RunEvent, TaskResult
from tests.conftest import Answer, Api
from tests.factories import launched
from tests.runs.asgi import opened

pytestmark = pytest.mark.django_db
Door = Callable[..., Api]


def problem(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.json["code"]) == (status, code), answer.content


def walk(door: Api, path: str, query: str = "") -> list[dict[str, Any]]:
    """All rows of a list, page by page."""
    rows, token = [], ""
    while True:
        found = door.get(f"{path}?{query}&page_token={token}" if token else f"{path}?{query}").json
        rows += found["data"]
        token = found["next_page_token"]
        if not token:
            return rows


def test_tasks_are_slim_rows_in_task_order_with_the_whole_summary(alice: User, api: Door) -> None:
    run = launched.ended(alice, ["passed", "failed", "unscored", "errored", "skipped"])
    answer = api(alice).get(f"runs/{run.id}/tasks?limit=2")
    assert answer.status == 200
    assert [row["task_id"] for row in answer.json["data"]] == ["t0", "t1"]
    assert answer.json["data"][0] == {
        "object": "task_result",
        "id": answer.json["data"][0]["id"],
        "task_id": "t0",
        "trial": 0,
        "attempt": 1,
        "version": 1,
        "kind": None,
        "score": 1.0,
        "passed": True,
        "outcome": "passed",
        "error_class": None,
        "error_message": None,
        "output_preview": "output 0",
        "duration_ms": 100,
        "model_ms": 0,
        "tokens_in": 0,
        "tokens_out": 0,
        "cost": {"amount_cents": 0, "amount": "0.00000000", "currency": "USD"},
        "unpriced": False,
        "stop_reason": None,
        "reused": False,
    }
    summary = answer.json["summary"]
    assert (summary["total"], summary["passed"], summary["coverage"]) == (5, 1, 0.6)
    outcomes = [(row["outcome"], row["passed"]) for row in walk(api(alice), f"runs/{run.id}/tasks", "limit=2")]
    assert outcomes == [("passed", True), ("failed", False), ("unscored", None), ("errored", None), ("skipped", None)]


def test_tasks_filter(alice: User, api: Door) -> None:
    run = launched.ended(alice, ["passed", "failed", "unscored", "errored", "skipped"])
    TaskResult.objects.filter(run=run, ordinal=1).update(kind="math")
    door = api(alice)

    def found(query: str) -> list[str]:
        return [row["task_id"] for row in door.get(f"runs/{run.id}/tasks?{query}").json["data"]]

    assert found("passed=true") == ["t0"]
    assert found("passed=false") == ["t1"]
    assert found("outcome=errored") == ["t3"]
    assert found("outcome=errored,skipped") == ["t3", "t4"]
    assert found("passed=false&outcome=passed") == []
    assert found("kind=math") == ["t1"]
    assert len(found("version=1")) == 5
    assert found("version=2") == []


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("passed=maybe", "invalid_parameter"),
        ("outcome=bad", "invalid_parameter"),
        ("version=x", "invalid_parameter"),
        ("failed=true", "invalid_filter"),
        ("sort=output", "invalid_sort"),
        ("limit=-1", "invalid_parameter"),
    ],
)
def test_tasks_refuse_what_they_do_not_know(alice: User, api: Door, query: str, code: str) -> None:
    run = launched.ended(alice)
    problem(api(alice).get(f"runs/{run.id}/tasks?{query}"), 400, code)
    problem(api(alice, "artifacts:read").get(f"runs/{run.id}/tasks"), 403, "insufficient_scope")


@pytest.mark.parametrize("sort", ["task", "score", "duration_ms", "cost", "tokens_in", "created_at", "task_id"])
@pytest.mark.parametrize("down", ["", "-"])
@pytest.mark.parametrize("size", [1, 3])
def test_j05_every_sort_pages_through_every_row_once_nulls_last(
    alice: User, api: Door, sort: str, down: str, size: int
) -> None:
    run = launched.ended(alice, ["passed", "errored", "failed", "skipped", "passed", "unscored", "failed"])
    rows = walk(api(alice), f"runs/{run.id}/tasks", f"sort={down}{sort}&limit={size}")
    assert sorted(row["task_id"] for row in rows) == [f"t{at}" for at in range(7)]
    key = "task_id" if sort in {"task", "created_at", "cost"} else sort
    if sort == "score":
        scores = [row["score"] for row in rows]
        assert scores[4:] == [None] * 3, "no score never comes first"
        assert scores[:4] == sorted(scores[:4], reverse=bool(down))
    elif sort in {"task", "duration_ms", "task_id"}:
        assert rows == sorted(rows, key=lambda row: row[key], reverse=bool(down))


def test_a17_paging_is_stable_while_rows_arrive(alice: User, api: Door) -> None:
    run = launched.launch(alice, launched.catalogue(alice, 8))
    launched.end_cells(run, {0: "passed", 2: "passed", 5: "failed"})
    door = api(alice)
    first = door.get(f"runs/{run.id}/tasks?limit=2").json
    launched.end_cells(run, {1: "passed", 3: "passed", 7: "passed"})
    rest = door.get(f"runs/{run.id}/tasks?limit=100&page_token={first['next_page_token']}").json
    assert [row["task_id"] for row in first["data"]] == ["t0", "t2"]
    assert [row["task_id"] for row in rest["data"]] == ["t3", "t5", "t7"]


def test_payload_shows_the_whole_task(alice: User, api: Door) -> None:
    run = launched.ended(alice, ["passed"])
    row = TaskResult.objects.get(run=run)
    TaskResult.objects.filter(id=row.id).update(explanation="equal", metrics={"f1": 0.5})
    request, response = {"messages": [{"role": "user", "content": "0?"}]}, {"choices": [1]}
    call = {"run": run, "ordinal": 0, "attempt": 1, "request_hash": "0" * 64, "cost": 25, "status": "settled"}
    ModelCall.objects.create(
        occurrence=0,
        http_status=200,
        request=zlib.compress(json.dumps(request).encode()),
        response=json.dumps(response).encode(),
        **call,
    )
    ModelCall.objects.create(occurrence=1, response=b"data: {\x00\xff}\n\n", streamed=True, **call)
    answer = api(alice).get(f"runs/{run.id}/tasks/{row.id}")
    assert answer.status == 200
    found = answer.json
    assert (found["id"], found["task_id"], found["outcome"], found["score"]) == (row.id, "t0", "passed", 1.0)
    assert (found["input"], found["expected"], found["output"]) == ({"question": "0?"}, "0", "output 0")
    assert (found["explanation"], found["metrics"]) == ("equal", {"f1": 0.5})
    assert [(one["request"], one["response"]) for one in found["calls"]] == [
        (request, response),
        (None, "data: {��}\n\n"),
    ]
    assert found["calls"][0]["cost"]["amount"] == "0.00000025"


def test_payload_and_fingerprint_give_only_the_fields_that_are_asked_for(alice: User, api: Door) -> None:
    run = launched.ended(alice, ["passed"])
    row, door = TaskResult.objects.get(run=run), api(alice)
    found = door.get(f"runs/{run.id}/tasks/{row.id}?fields=input,output").json
    assert found == {"object": "task_result", "id": row.id, "input": {"question": "0?"}, "output": "output 0"}
    assert set(door.get(f"runs/{run.id}/fingerprint?fields=sha256").json) == {"object", "sha256"}
    problem(door.get(f"runs/{run.id}/tasks/{row.id}?fields=answer"), 400, "invalid_parameter")
    problem(door.get(f"runs/{run.id}/tasks/{row.id}?field=input"), 400, "invalid_parameter")


def test_payload_keeps_the_types_of_an_output(alice: User, api: Door) -> None:
    run = launched.ended(alice, ["passed"])
    row = TaskResult.objects.get(run=run)
    Output.objects.filter(run=run).update(output=json.dumps({"a": [1, 2.5, None, True], "long": "x" * 5000}))
    found = api(alice).get(f"runs/{run.id}/tasks/{row.id}").json["output"]
    assert found == {"a": [1, 2.5, None, True], "long": "x" * 5000}
    Output.objects.filter(run=run).update(output=None, fault={"class": "ValueError"})
    assert api(alice).get(f"runs/{run.id}/tasks/{row.id}").json["output"] is None


def test_c06_a_task_through_another_run_is_not_there(alice: User, bob: User, api: Door) -> None:
    mine, theirs = launched.ended(alice), launched.ended(bob, visibility="public")
    row = TaskResult.objects.filter(run=theirs).first()
    assert row is not None
    problem(api(alice).get(f"runs/{mine.id}/tasks/{row.id}"), 404, "not_found")
    assert api(alice).get(f"runs/{theirs.id}/tasks/{row.id}").status == 200
    problem(api(alice).get(f"runs/{mine.id}/tasks/tsk_none"), 404, "not_found")
    problem(api(alice).get(f"runs/{mine.id}/tasks/%00"), 404, "not_found")


def test_payload_wants_artifacts_read(alice: User, api: Door) -> None:
    run = launched.ended(alice)
    row = TaskResult.objects.filter(run=run).first()
    assert row is not None
    problem(api(alice, "runs:read").get(f"runs/{run.id}/tasks/{row.id}"), 403, "insufficient_scope")


def test_j20_closed_answers_are_the_benchmark_owners_alone(alice: User, bob: User, api: Door) -> None:
    run = launched.ended(alice, ["passed"], visibility="public")
    row = TaskResult.objects.get(run=run)
    TaskResult.objects.filter(id=row.id).update(explanation="the answer is 0", metrics={"answer": "0"})
    assert run.subset is not None
    run.subset.answers = "closed"
    run.subset.save()
    hidden = api(bob).get(f"runs/{run.id}/tasks/{row.id}").json
    assert (hidden["expected"], hidden["explanation"], hidden["metrics"], hidden["expected_hidden"]) == (
        None,
        None,
        None,
        True,
    )
    assert api(alice).get(f"runs/{run.id}/tasks/{row.id}").json["expected"] == "0"


# --- events ---
def test_events_page_in_order(alice: User, api: Door) -> None:
    run = launched.ended(alice, ["passed", "failed", "passed"])
    rows = walk(api(alice), f"runs/{run.id}/events", "limit=2")
    assert [(row["seq"], row["type"]) for row in rows] == [
        (1, "RunQueued"),
        (2, "RunStarted"),
        (3, "MaterializeTaskResult"),
        (4, "MaterializeTaskResult"),
        (5, "MaterializeTaskResult"),
        (6, "RunCompleted"),
    ]
    door = api(alice)
    later = door.get(f"runs/{run.id}/events?after_seq=4").json["data"]
    assert [row["seq"] for row in later] == [5, 6]
    some = door.get(f"runs/{run.id}/events?types=RunQueued,RunCompleted").json["data"]
    assert [row["seq"] for row in some] == [1, 6]
    assert some[0]["data"] == {}
    assert some[0]["created_at"].endswith("Z")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("after_seq=-1", "invalid_parameter"),
        ("after_seq=x", "invalid_parameter"),
        ("types=RunQueue", "invalid_filter"),
        ("type=RunQueued", "invalid_filter"),
        ("sort=type", "invalid_sort"),
    ],
)
def test_events_refuse_what_they_do_not_know(alice: User, api: Door, query: str, code: str) -> None:
    run = launched.launch(alice)
    problem(api(alice).get(f"runs/{run.id}/events?{query}"), 400, code)
    problem(api(alice, "runs:write").get(f"runs/{run.id}/events"), 403, "insufficient_scope")


@pytest.mark.django_db(transaction=True)
def test_e12_pages_and_stream_agree_event_for_event(alice: User, api: Door, token: Callable[..., str]) -> None:
    run = launched.ended(alice, ["passed", "failed", "errored"])
    paged = [
        {name: value for name, value in row.items() if name != "object"}
        for row in walk(api(alice), f"runs/{run.id}/events", "limit=2")
    ]

    async def streamed() -> list[dict[str, Any]]:
        async with opened(f"/v1/runs/{run.id}/stream", token_text) as stream:
            await stream.end()
            return stream.events

    token_text = token(alice)
    assert async_to_sync(streamed)() == paged
    assert len(paged) == Run.objects.get().last_seq == RunEvent.objects.count()


def test_a_result_is_found_by_its_tasks_own_id(alice: User, api: Door) -> None:
    run = launched.ended(alice, ["passed", "failed"])
    TaskResult.objects.filter(run=run, ordinal=1).update(task_id="HumanEval/1")
    door = api(alice)
    assert door.get(f"runs/{run.id}/tasks/t0").json["task_id"] == "t0"
    assert door.get(f"runs/{run.id}/tasks/HumanEval%2F1").json["outcome"] == "failed"
    unknown = door.get(f"runs/{run.id}/tasks/t9")
    problem(unknown, 404, "not_found")
    assert "none of a task with that id" in unknown.json["detail"]


def test_of_several_trials_the_results_are_named(alice: User, api: Door) -> None:
    run = launched.ended(alice, ["passed", "failed"], trials=2)
    rows = list(TaskResult.objects.filter(run=run, task_id="t0").order_by("ordinal"))
    several = api(alice).get(f"runs/{run.id}/tasks/t0")
    problem(several, 404, "not_found")
    assert f"{rows[0].id} (trial 1), {rows[1].id} (trial 2)" in several.json["detail"]
    assert api(alice).get(f"runs/{run.id}/tasks/{rows[1].id}").json["trial"] == 1
