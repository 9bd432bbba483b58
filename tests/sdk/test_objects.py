"""Objects: attribute and key, and measures that do not exist."""

import copy
import json
import pickle

import pytest

from benchwright import Object
from benchwright._objects import Missing, plain


@pytest.fixture
def row() -> Object:
    return Object(
        {"object": "task", "task_id": "t1", "score": None, "model": {"identifier": "m"}, "calls": [{"ms": 1}]}
    )


def test_it_reads_by_attribute_and_by_key(row: Object) -> None:
    assert row.task_id == row["task_id"] == "t1"
    assert row.model.identifier == row["model"]["identifier"] == "m"
    assert row.calls[0].ms == 1
    assert row.get("subset_id") is None
    assert row.get("nothing", 7) == 7


def test_it_prints_and_dumps_like_a_dict(row: Object) -> None:
    assert repr(row).startswith("{'object': 'task', 'task_id': 't1', 'score': None")
    assert json.loads(json.dumps(row)) == plain(row)


def test_it_names_what_is_known_when_an_attribute_is_missing(row: Object) -> None:
    with pytest.raises(
        AttributeError, match=r"This task has no 'taskid'. Did you mean 'task_id'\? It has: calls, model"
    ):
        _ = row.taskid


def test_it_refuses_to_be_set(row: Object) -> None:
    with pytest.raises(AttributeError, match="snapshot"):
        row.task_id = "t2"


def test_it_keeps_a_benchmarks_own_data_plain() -> None:
    payload = Object({"input": {"score": None, "items": [1]}, "output": "x" * 300, "expected": {"keys": 1}})
    assert type(payload.input) is dict
    assert payload["input"]["score"] is None
    assert payload.expected["keys"] == 1
    assert payload.output[:120] == "x" * 120


def test_it_survives_copies_and_pickles(row: Object) -> None:
    assert copy.deepcopy(row).model.identifier == "m"
    assert pickle.loads(pickle.dumps(row)) == row


def test_a_missing_score_passes_no_comparison_and_raises_none(row: Object) -> None:
    assert isinstance(row.score, Missing)
    assert row["score"] is None
    for holds in (row.score >= 1.0, row.score > 0, row.score <= 1.0, row.score < 1, row.score >= 1.0, bool(row.score)):
        assert holds is False
    assert row.score == None  # noqa: E711  # what a user writes
    assert row.score != 0.0


def test_a_missing_rate_formats_and_computes_without_an_exception() -> None:
    summary = Object({"pass_rate": None, "bounds": {"worst": None}})
    assert f"{summary.pass_rate:.1%}" == "n/a"
    assert f"{summary.pass_rate:>6.1%}|" == "   n/a|"
    assert f"{summary.pass_rate:6.1%}|" == "   n/a|"
    assert f"{summary.pass_rate:<6.1%}|" == "n/a   |"
    assert f"{summary.pass_rate}" == "None"
    assert f"{summary.pass_rate - 0.5:.1%}" == "n/a"
    assert not abs(0.9 - summary.bounds.worst) > 0.1
    assert f"{round(summary.pass_rate, 2):+.1f}" == "n/a"


def test_rows_without_a_rate_sort_last_when_the_best_come_first() -> None:
    rows = [("a", Object({"pass_rate": 0.5}).pass_rate), ("b", Object({"pass_rate": None}).pass_rate), ("c", 0.9)]
    rows.sort(key=lambda row: -row[1])
    assert [name for name, _ in rows] == ["c", "a", "b"]


def test_zero_and_real_scores_stay_numbers() -> None:
    assert Object({"score": 0.0}).score == 0.0
    assert Object({"score": 1.0}).score >= 1.0
