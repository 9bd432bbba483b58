"""Rows on their way in: nothing lost, nothing twice, every fault named."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel import strict_json
from registry import queries, rows
from registry.models import Subset, Task


def upload(author, body: bytes | dict, benchmark: str | None = None):
    mark = benchmark or author.benchmark()["id"]
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return author.client.post(f"benchmarks/{mark}/subsets", raw=raw)


def test_it_keeps_rows_as_they_were_written(author):
    row = (
        b'{ "zeta": 1,\n "task_id": "a", "input": {"question": "\\u00e9\xc3\xa9 \\n", "n": 12345678901234567890123},\n'
        b'\t"expected": 0.10000000000000000555, "source": {"b": null, "a": [1.0, 1e2]}, "": true }'
    )
    made = upload(author, b'{"note":0,"tasks":[' + row + b'],"slug":"s"}'.replace(b'"note":0,', b""))
    assert made.status == 422  # "note" is no field; the next has none
    made = upload(author, b'{"tasks" : [ ' + row + b' , {"task_id":"b","input":[]} ] , "slug":"s"}')
    assert made.status == 201, made.content
    kept = queries.task_rows(made.json["id"], 1)
    assert kept[0].row_text == row.decode().replace("\n", " ")
    assert kept[1].row_text == '{"task_id":"b","input":[]}'
    assert "\n" not in kept[0].row_text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abé\"\\", max_size=3), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


@given(st.dictionaries(st.text("abt", max_size=2), JSON, max_size=3), st.lists(JSON, max_size=4), st.booleans())
def test_it_cuts_a_body_into_its_rows(others, tasks, indented):
    others.pop("tasks", None)
    body = {**others, "tasks": tasks, "z": [1]}
    text = json.dumps(body, indent=2 if indented else None)
    found = rows.texts_of(text.encode())
    assert [json.loads(one) for one in found] == tasks
    assert not any("\n" in one for one in found)
    assert rows.texts_of(json.dumps(others).encode()) == []


@pytest.mark.parametrize(
    ("bad", "place", "word"),
    [
        ({"input": 1}, "task_id", "missing"),
        ({"task_id": 5, "input": 1}, "task_id", "text"),
        ({"task_id": " ", "input": 1}, "task_id", "empty"),
        ({"task_id": "x" * 301, "input": 1}, "task_id", "longer"),
        ({"task_id": "a\nb", "input": 1}, "task_id", "control"),
        ({"task_id": "a\u2028b", "input": 1}, "task_id", "control"),
        ({"task_id": "ok"}, "input", "missing"),
        ({"task_id": "ok", "input": None}, "input", "missing"),
        ("text", None, "object"),
    ],
)
def test_an_upload_with_a_bad_row_names_the_row_and_stores_nothing(author, make_rows, bad, place, word):
    tasks = [*make_rows(2), bad, *make_rows(2, 2)]
    refused = upload(author, {"slug": "s", "tasks": tasks})
    assert (refused.status, refused.json["code"]) == (422, "validation_failed")
    assert refused.json["errors"] == [{"loc": ["body", "tasks", 2, *([place] if place else [])],
                                       "msg": refused.json["errors"][0]["msg"]}]  # fmt: skip
    assert "Row 2" in refused.json["detail"]
    assert word in refused.json["errors"][0]["msg"]
    if isinstance(bad, dict) and bad.get("task_id") == "ok":
        assert "'ok'" in refused.json["errors"][0]["msg"]
    assert not Task.objects.exists()
    assert not Subset.objects.exists()


def test_it_names_every_bad_row(author, make_rows):
    tasks = [{"task_id": "a"}, *make_rows(1), {"input": 1}]
    refused = upload(author, {"slug": "s", "tasks": tasks})
    assert [one["loc"][2:] for one in refused.json["errors"]] == [[0, "input"], [2, "task_id"]]


def test_a_bad_row_in_a_later_piece_stores_nothing_of_the_piece(author, make_rows):
    sub = author.subset(author.benchmark()["id"], rolling=True)
    refused = author.client.post(f"subsets/{sub['id']}/tasks", {"tasks": [*make_rows(5, 5), {"task_id": "z"}]})
    assert refused.status == 422
    assert Task.objects.count() == 3
    assert author.client.get(f"registry/subsets/{sub['id']}").json["revision"] == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [("a", "a"), ("Task", "tASK"), ("caf\u00e9", "cafe\u0301"), ("STRASSE", "stra\u00dfe"), ("\u03a3", "\u03c2")],
)
def test_d28_ids_that_repeat_are_refused_and_listed(author, first, second):
    tasks = [{"task_id": "x", "input": 1}, {"task_id": first, "input": 1}, {"task_id": second, "input": 2}]
    refused = upload(author, {"slug": "s", "tasks": [*tasks, {"task_id": "X", "input": 1}]})
    assert (refused.status, refused.json["code"]) == (422, "duplicate_task_id")
    assert [one["loc"] for one in refused.json["errors"]] == [["body", "tasks", 2, "task_id"],
                                                              ["body", "tasks", 3, "task_id"]]  # fmt: skip
    assert not Task.objects.exists()
    sub = author.subset(author.benchmark()["id"], rolling=True, tasks=[{"task_id": first, "input": 1}])
    later = author.client.post(
        f"subsets/{sub['id']}/tasks", {"tasks": [{"task_id": "new", "input": 1}, {"task_id": second, "input": 3}]}
    )
    assert (later.status, later.json["code"]) == (422, "duplicate_task_id")
    assert later.json["errors"][0]["loc"] == ["body", "tasks", 1, "task_id"]
    assert repr(first) in later.json["errors"][0]["msg"]
    assert Task.objects.count() == 1


def test_d28_a_staged_upload_can_not_repeat_an_id_across_pieces(author, make_rows):
    staged = author.subset(author.benchmark()["id"], tasks=make_rows(3), staged=True)
    later = author.client.post(f"subsets/{staged['id']}/tasks", {"tasks": make_rows(2, 2), "complete": True})
    assert later.json["code"] == "duplicate_task_id"
    assert [one["loc"][2] for one in later.json["errors"]] == [0]
    assert Task.objects.count() == 3


def test_j09_equal_rows_under_two_ids_are_two_tasks_and_one_id_is_one(author):
    same = {"input": {"q": 1}, "expected": "1"}
    made = upload(author, {"slug": "s", "tasks": [{"task_id": "a", **same}, {"task_id": "b", **same}]})
    assert made.json["task_count"] == 2
    assert upload(author, {"slug": "t", "tasks": [{"task_id": "a", **same}, {"task_id": "a", **same}]}).status == 422


def test_d29_too_many_rows_are_refused_whole(author, make_rows):
    refused = upload(author, {"slug": "s", "tasks": make_rows(1001)})
    assert (refused.status, refused.json["code"]) == (422, "too_many_rows")
    sub = author.subset(author.benchmark()["id"], rolling=True)
    refused = author.client.post(f"subsets/{sub['id']}/tasks", {"tasks": make_rows(1001, 10)})
    assert (refused.status, refused.json["code"]) == (422, "too_many_rows")
    assert Task.objects.count() == 3


def test_d29_a_body_beyond_the_limit_is_too_large(author, settings):
    body = b'{"slug":"s","tasks":[{"task_id":"a","input":"' + b"x" * settings.ROWS_BODY_LIMIT_BYTES + b'"}]}'
    refused = upload(author, body)
    assert (refused.status, refused.json["code"]) == (413, "payload_too_large")
    big = b'{"slug":"s","tasks":[{"task_id":"a","input":"' + b"x" * (3 << 20) + b'"}]}'
    assert upload(author, big).status == 201


def test_a02_a_repeated_key_in_a_row_is_refused(author):
    refused = upload(author, b'{"slug":"s","tasks":[{"task_id":"a","input":1,"input":2}]}')
    assert (refused.status, refused.json["code"]) == (400, "malformed_json")
    assert not Subset.objects.exists()


@pytest.mark.parametrize("text", [b'"a\\u0000"', b'"\\ud800"', b'{"\\udfff":1}'])
def test_a04_what_no_database_keeps_is_refused(author, text):
    refused = upload(author, b'{"slug":"s","tasks":[{"task_id":"a","input":' + text + b"}]}")
    assert (refused.status, refused.json["code"]) == (422, "validation_failed")
    assert not Task.objects.exists()


def test_it_knows_the_kinds_of_rows(author):
    tasks = [
        {"task_id": "a", "input": {"kind": "math", "question": "1"}},
        {"task_id": "b", "input": "x", "kind": "code"},
        {"task_id": "c", "input": {"kind": 5}},
    ]
    made = upload(author, {"slug": "s", "tasks": tasks})
    assert made.json["kinds"] == ["code", "math"]
    assert [queries.kind_of(row) for row in tasks] == ["math", "code", ""]


def test_it_reads_positions_and_slices(author, make_rows):
    sub = author.subset(author.benchmark()["id"], tasks=make_rows(10))
    assert [row.task_id for row in queries.task_rows(sub["id"], 1, positions=[7, 2])] == ["t2", "t7"]
    assert [row.task_id for row in queries.task_rows(sub["id"], 1, start=8)] == ["t8", "t9"]
    assert [row.position for row in queries.task_rows(sub["id"], 1, start=2, stop=4)] == [2, 3]
    assert queries.positions_of(sub["id"], 1, ["t3", "none"]) == {"t3": 3}


def test_it_stores_a_thousand_rows_well_under_a_second(author):
    tasks = [
        {"task_id": f"t{index}", "input": {"question": "q" * 500, "functions": [{"name": "f", "parameters": {}}] * 3},
         "expected": [{"f": {"a": [index, ""]}}]}
        for index in range(1000)
    ]  # fmt: skip
    raw = strict_json.dumps({"slug": "s", "tasks": tasks})
    mark = author.benchmark()["id"]
    began = time.process_time()
    assert upload(author, raw, mark).status == 201
    assert time.process_time() - began < 1.0


@given(st.text(max_size=40))
def test_it_folds_ids_to_a_fixed_point(task_id):
    folded = rows.fold(task_id)
    assert rows.fold(folded) == folded
    assert len(rows.fold(task_id * 7)) <= 900 or len(task_id * 7) > 300
