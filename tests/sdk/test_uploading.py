"""Many rows go up in pieces, once, and a refusal leaves nothing behind."""

from typing import Any

import pytest

from benchwright import Benchwright, errors
from benchwright._uploading import in_pieces


def rows(count: int) -> list[dict[str, Any]]:
    return [{"task_id": f"t{n}", "input": {"q": "é", "n": n}, "expected": 10**20 + n} for n in range(count)]


@pytest.fixture
def registry(twin: Any, reply: Any) -> Any:
    twin.on(
        "POST",
        "/benchmarks/bm_1/subsets",
        lambda request: reply({"id": "sub_up", "rolling": request.json["rolling"]}, 201),
    )
    twin.on(
        "POST",
        "/subsets/sub_up/tasks",
        lambda request: reply({"id": "sub_hash" if request.json.get("complete") else "sub_up"}),
    )
    twin.on("DELETE", "/subsets/sub_up", reply(status=204))
    return twin


def test_a_thousand_rows_go_in_one_request(registry: Any, bw: Benchwright) -> None:
    made = bw.benchmarks.subsets.create(
        benchmark="bm_1", slug="s", name="S", tasks=rows(1000), grader={"kind": "exact"}
    )
    assert made.id == "sub_up"
    assert registry.paths() == ["POST /benchmarks/bm_1/subsets"]
    body = registry.calls[0].json
    assert body == {"slug": "s", "name": "S", "grader": {"kind": "exact"}, "rolling": False, "tasks": rows(1000)}


def test_more_are_staged_and_the_last_piece_freezes(registry: Any, bw: Benchwright) -> None:
    made = bw.benchmarks.subsets.create(benchmark="bm_1", slug="s", tasks=iter(rows(2500)))
    assert made.id == "sub_hash"
    bodies = [call.json for call in registry.calls]
    assert [len(body["tasks"]) for body in bodies] == [1000, 1000, 500]
    assert [row for body in bodies for row in body["tasks"]] == rows(2500)
    assert bodies[0]["staged"] is True
    assert [body.get("complete") for body in bodies] == [None, None, True]
    assert len({call.headers["idempotency-key"] for call in registry.calls}) == 3


def test_the_same_upload_has_the_same_keys(registry: Any, bw: Benchwright) -> None:
    for _ in range(2):
        bw.benchmarks.subsets.create(benchmark="bm_1", slug="s", tasks=rows(1500), idempotency_key="k" * 255)
    keys = [call.headers["idempotency-key"] for call in registry.calls]
    assert keys[:2] == keys[2:]
    assert keys[0] == "k" * 255
    assert len(keys[1]) <= 255


def test_a_rolling_subset_gets_the_rest_appended(registry: Any, bw: Benchwright) -> None:
    bw.benchmarks.subsets.create(benchmark="bm_1", slug="s", rolling=True, tasks=rows(1200))
    bodies = [call.json for call in registry.calls]
    assert [len(body["tasks"]) for body in bodies] == [1000, 200]
    assert all("staged" not in body and "complete" not in body for body in bodies)
    bw.benchmarks.subsets.create(benchmark="bm_1", slug="s", rolling=True)
    assert registry.calls[-1].json == {"slug": "s", "rolling": True, "tasks": []}


def test_appending_goes_in_pieces_too(registry: Any, bw: Benchwright) -> None:
    bw.benchmarks.subsets.append_tasks("sub_up", tasks=rows(2001), idempotency_key="day-1")
    assert [len(call.json["tasks"]) for call in registry.calls] == [1000, 1000, 1]
    assert [call.headers["idempotency-key"] for call in registry.calls] == ["day-1", "day-1:1", "day-1:2"]


def test_pieces_stay_below_the_size_limit() -> None:
    big = [{"task_id": str(n), "input": "x" * 400} for n in range(10)]
    pieces = list(in_pieces(big, size=1000))
    assert [len(piece.rows) for piece in pieces] == [2, 2, 2, 2, 2]
    assert [piece.start for piece in pieces] == [0, 2, 4, 6, 8]
    assert [piece.last for piece in pieces] == [False, False, False, False, True]
    assert len(list(in_pieces([{"input": "x" * 5000}], size=1000))) == 1


def test_a_refused_piece_removes_the_upload_and_counts_from_the_start(
    registry: Any, refusal: Any, bw: Benchwright
) -> None:
    fields = [{"loc": ["body", "tasks", 17, "task_id"], "msg": "Row 17: repeats t3"}]
    registry.on(
        "POST",
        "/subsets/sub_up/tasks",
        refusal(422, "duplicate_task_id", "Row 17: task_id 't3' repeats.", errors=fields),
    )
    with pytest.raises(errors.ValidationError) as caught:
        bw.benchmarks.subsets.create(benchmark="bm_1", slug="s", tasks=rows(1500))
    assert caught.value.errors[0]["loc"] == ["body", "tasks", 1017, "task_id"]
    assert "tasks.1017.task_id: Row 1017: repeats t3" in str(caught.value)
    assert "Row 1017: task_id 't3' repeats." in str(caught.value)
    assert registry.paths()[-1] == "DELETE /subsets/sub_up"


def test_a_row_that_is_not_json_is_named(registry: Any, bw: Benchwright) -> None:
    bad = rows(1200)
    bad[1100]["input"] = {"when": object()}
    with pytest.raises(ValueError, match=r"Row 1100 \(task_id 't1100'\)"):
        bw.benchmarks.subsets.create(benchmark="bm_1", slug="s", tasks=bad)
    assert registry.paths()[-1] == "DELETE /subsets/sub_up"
    bad[3]["input"] = float("nan")
    with pytest.raises(ValueError, match="Row 3"):
        bw.benchmarks.subsets.create(benchmark="bm_1", slug="s", tasks=bad)


def test_an_upload_that_was_cut_off_goes_on_under_its_key(
    registry: Any, reply: Any, refusal: Any, bw: Benchwright
) -> None:
    down, done = refusal(503, "unavailable"), reply({"id": "sub_hash"})
    registry.on("POST", "/subsets/sub_up/tasks", *[down] * 4, done)
    with pytest.raises(errors.ServerError):
        bw.benchmarks.subsets.create(benchmark="bm_1", slug="s", tasks=rows(1500), idempotency_key="k")
    assert "DELETE /subsets/sub_up" not in registry.paths()
    made = bw.benchmarks.subsets.create(benchmark="bm_1", slug="s", tasks=rows(1500), idempotency_key="k")
    assert made.id == "sub_hash"
    registry.on("POST", "/subsets/sub_up/tasks", down)
    with pytest.raises(errors.ServerError):
        bw.benchmarks.subsets.create(benchmark="bm_1", slug="s", tasks=rows(1500))
    assert registry.paths()[-1] == "DELETE /subsets/sub_up"
