"""Lists page by themselves, and only as far as they are read."""

from typing import Any

import pytest

from benchwright import Benchwright


@pytest.fixture
def paged(twin: Any, reply: Any) -> Any:
    """GET /runs/r/tasks: 7 rows in pages of ``limit`` (default 3)."""

    def answer(request: Any) -> Any:
        size = int(request.query.get("limit", 3))
        start = int(request.query.get("page_token", "0").removeprefix("t"))
        rows = [{"id": f"tsk_{n}", "task_id": f"t{n}", "score": None if n == 4 else 1.0} for n in range(7)]
        token = f"t{start + size}" if start + size < 7 else None
        body = {"object": "list", "data": rows[start : start + size], "next_page_token": token}
        return reply({**body, "summary": {"total": 7, "passed": 6, "pass_rate": None}})

    twin.on("GET", "/runs/r/tasks", answer)
    twin.on(
        "GET", "/runs/r/tasks/tsk_0", reply({"id": "tsk_0", "input": {"q": 1}, "output": "y" * 300, "expected": "y"})
    )
    return twin


def test_iterating_reads_every_page_once(paged: Any, bw: Benchwright) -> None:
    found = bw.runs.tasks("r", passed=False)
    assert [row.task_id for row in found.data] == [f"t{n}" for n in range(7)]
    assert [row.task_id for row in found] == [f"t{n}" for n in range(7)]
    assert len(paged.calls) == 3
    assert all(call.query["passed"] == "false" for call in paged.calls)


def test_a_slice_reads_as_far_as_it_needs(paged: Any, bw: Benchwright) -> None:
    found = bw.runs.tasks("r")
    assert [row.task_id for row in found.data[:2]] == ["t0", "t1"]
    assert len(paged.calls) == 1
    assert [row.task_id for row in found.data[:5]] == ["t0", "t1", "t2", "t3", "t4"]
    assert len(paged.calls) == 2
    assert found.data[3].task_id == "t3"
    assert len(paged.calls) == 2
    assert [row.task_id for row in found.data[5:]] == ["t5", "t6"]
    assert len(paged.calls) == 3


@pytest.mark.parametrize(
    "cut", [slice(None), slice(-2, None), slice(1, -1), slice(None, None, -1), slice(2, 6, 2), slice(9)]
)
def test_slices_are_those_of_a_list(cut: slice, paged: Any, bw: Benchwright) -> None:
    names = [f"t{n}" for n in range(7)]
    assert [row.task_id for row in bw.runs.tasks("r").data[cut]] == names[cut]


def test_length_and_the_last_row_need_every_page(paged: Any, bw: Benchwright) -> None:
    assert len(bw.runs.tasks("r").data) == 7
    assert bw.runs.tasks("r").data[-1].task_id == "t6"
    with pytest.raises(IndexError):
        bw.runs.tasks("r").data[7]


def test_truth_needs_one_page(paged: Any, bw: Benchwright) -> None:
    assert bw.runs.tasks("r")
    assert len(paged.calls) == 1


def test_an_empty_list_is_false(twin: Any, reply: Any, bw: Benchwright) -> None:
    twin.on("GET", "/runs", reply({"object": "list", "data": [], "next_page_token": None}))
    assert not bw.runs.list()
    assert bw.runs.list().data == []


def test_an_empty_page_in_the_middle_is_no_end(twin: Any, reply: Any, bw: Benchwright) -> None:
    pages = [([{"id": "a"}], "x"), ([], "y"), ([{"id": "b"}], None)]
    twin.on("GET", "/runs", *(reply({"object": "list", "data": d, "next_page_token": t}) for d, t in pages))
    assert [run.id for run in bw.runs.list()] == ["a", "b"]


def test_it_shows_summary_payload_and_its_own_token(paged: Any, bw: Benchwright) -> None:
    found = bw.runs.tasks("r", limit=5)
    assert found.summary.total == found["summary"]["total"] == 7
    assert f"{found.summary.pass_rate:.1%}" == "n/a"
    assert found.next_page_token == "t5"
    full = found.payload(found.data[0].id)
    assert full.output[:120] == "y" * 120
    assert full["input"] == {"q": 1}
    assert sum(1 for row in found.data if row.score >= 1.0) == 6
    assert repr(bw.runs.tasks("r", limit=1)).count("task_id") == 1


def test_it_goes_on_from_a_given_token(paged: Any, bw: Benchwright) -> None:
    assert [row.task_id for row in bw.runs.tasks("r", page_token="t3")] == ["t3", "t4", "t5", "t6"]


def test_a_token_that_is_refused_is_told(twin: Any, reply: Any, refusal: Any, bw: Benchwright) -> None:
    first = reply({"object": "list", "data": [{"id": "a"}], "next_page_token": "x"})
    twin.on("GET", "/runs", first, refusal(400, "invalid_page_token"))
    rows = bw.runs.list().data
    assert rows[0].id == "a"
    with pytest.raises(Exception, match="invalid_page_token"):
        list(rows)


def test_find_searches_the_first_hundred(twin: Any, reply: Any, bw: Benchwright) -> None:
    rows = [{"id": f"bm_{n}", "name": name} for n, name in enumerate(["BFCL v3", "BFCL v4", "MMLU Pro"])]
    twin.on("GET", "/registry/benchmarks", reply({"object": "list", "data": rows, "next_page_token": None}))
    assert bw.registry.benchmarks.find(name="bfcl V4").id == "bm_1"
    assert bw.registry.benchmarks.find(name="mmlu").id == "bm_2"
    assert bw.registry.benchmarks.find(name="BFCL") is None
    assert twin.calls[0].query["limit"] == "100"
