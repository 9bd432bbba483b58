"""The audit of extraction: what the second reader finds, what it keeps quiet about, and who may see the rows."""

import json
from typing import Any

import pytest

from kernel import ids
from registry.graders.schema import validate_grader
from registry.models import Impl, Subset, Task
from runs.models import Output, Run, TaskResult
from runs.reporting.audit import auditing, readers
from tests.factories import runs as make

CHOICES = {"question": "Which?", "choices": ["Lyon", "Paris", "Nice", "Lille"]}


def read(grader: dict[str, Any] | None, output: Any, row: dict[str, Any]) -> bool | None:
    reader = readers.of_row(row) if grader is None else readers.of_grader(validate_grader(grader))
    assert reader is not None
    return reader.read(output, row).passed


def row(expected: Any, given: Any = None) -> dict[str, Any]:
    return {"task_id": "a", "input": {"question": "?"} if given is None else given, "expected": expected}


@pytest.mark.parametrize(
    ("grader", "output", "expected", "given", "passed"),
    [
        ({"kind": "exact"}, "The answer is Paris.", "Paris", None, True),
        ({"kind": "exact"}, "It is Lyon.", "Paris", None, False),
        ({"kind": "exact"}, "<think>Paris?</think>Lyon", "Paris", None, False),
        ({"kind": "numeric", "extract": {"after": "####"}}, "So the total is 42.", 42, None, True),
        ({"kind": "numeric"}, "12 and 30 are 42.\nNothing more", 42, None, None),
        ({"kind": "choice", "extract": {"after": "Answer:"}}, "I pick **B**", "B", CHOICES, True),
        ({"kind": "choice", "extract": {"after": "Answer:"}}, "I pick **C**", "B", CHOICES, False),
        ({"kind": "choice"}, "A is tempting.\nThe answer is B", 1, CHOICES, True),
        ({"kind": "contains", "whole_words": False}, "a Parisian", "Paris", None, False),
        (None, "I think it's B.", "B", CHOICES, True),
        (None, "The total is 1,200 dollars", "1200", None, True),
        (None, "Surely Paris", "Paris", None, True),
        (None, "", "Paris", None, None),
        (None, "I'm sorry, I can't help with that.", 7, None, None),
        (
            None,
            '[{"name": "f", "args": {"x": "a b"}}]',
            [{"name": "f", "args": {"x": "ab"}}],
            {"functions": [{"name": "f"}]},
            True,
        ),
    ],
)
def test_the_second_reader(grader, output, expected, given, passed):
    assert read(grader, output, row(expected, given)) is passed


@pytest.mark.parametrize("odd", [row(None), row({"a": 1}), row("x" * 500), {"task_id": "a"}, row(True), row([])])
def test_it_says_nothing_of_rows_that_it_does_not_know(odd):
    assert readers.of_row(odd) is None


def strict(owner, outputs: list[tuple[str, str]], *, grader: dict[str, Any] | None, **fields: Any) -> Run:
    """An ended run whose tasks all expect "Paris"; ``outputs``: (what was said, how it ended)."""
    impl = make.benchmark(owner, tasks=len(outputs))
    Task.objects.filter(subset=impl.subset).update(row=json.dumps(row("Paris")))
    full = None if grader is None else validate_grader(grader)
    own = Impl.objects.create(id=f"imp_{ids.ulid()}", subset=impl.subset, code="#", code_sha256="0" * 64, grader=full)
    run = make.run(owner, own, **fields)
    make.start(run)
    make.results(run, [outcome for _, outcome in outputs], text=lambda at: outputs[at][0])
    make.end(run)
    return run


SAID = [("Paris", "passed")] * 6 + [("It is Paris!", "failed")] * 3 + [("Rome", "failed")] + [("Lyon", "passed")]


@pytest.mark.django_db
@pytest.mark.parametrize("grader", [{"kind": "exact"}, None])
def test_it_lists_what_is_read_otherwise(api, alice, grader):
    run = strict(alice, SAID, grader=grader)
    found = api(alice).get(f"runs/{run.id}/audit").json
    assert {name: found[name] for name in ("looked_at", "agreed", "missed", "lenient", "unread", "differs")} == {
        "looked_at": 11, "agreed": 7, "missed": 3, "lenient": 1, "unread": 0, "differs": 0,
    }  # fmt: skip
    assert (found["applicable"], found["reason"]) == (True, None)
    assert "probably misses 3 right answers" in found["sentence"]
    assert "passes 1 answer that" in found["sentence"]
    assert [each["side"] for each in found["rows"]] == ["missed"] * 3 + ["lenient"]
    assert found["rows"][0]["first"]["answer"] == "It is Paris!"
    assert found["rows"][0]["second"]["passed"]
    assert "extraction_audit" in {flag["code"] for flag in api(alice).get(f"runs/{run.id}").json["review"]}


@pytest.mark.django_db
def test_j20_strangers_get_counts_alone_where_answers_are_closed(api, alice, bob):
    run = strict(alice, SAID, grader={"kind": "exact"}, visibility="public")
    Subset.objects.filter(id=run.subset_id).update(answers="closed")
    found = api(bob).get(f"runs/{run.id}/audit").json
    assert (found["missed"], found["rows"], found["rows_hidden"]) == (3, [], True)
    assert api(alice).get(f"runs/{run.id}/audit").json["rows"]


@pytest.mark.django_db
def test_long_outputs_are_left_out(alice):
    run = strict(alice, SAID, grader={"kind": "exact"})
    first = TaskResult.objects.get(run=run, ordinal=0)
    Output.objects.filter(run=run, ordinal=first.ordinal).update(output=json.dumps("x" * (auditing.MOST_BYTES + 1)))
    assert auditing.audit(run)["looked_at"] == 10


@pytest.mark.django_db
def test_it_looks_at_a_bounded_number_evenly(alice, monkeypatch):
    monkeypatch.setattr(auditing, "MOST_NOT_PASSED", 2)
    monkeypatch.setattr(auditing, "MOST_PASSED", 3)
    run = strict(alice, SAID, grader={"kind": "exact"})
    found = auditing.audit(run)
    assert (found["looked_at"], found["of"]) == (5, 11)
    assert "5 outputs of 11" in found["sentence"]
    assert found == auditing.audit(run)
