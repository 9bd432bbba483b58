"""Which of a benchmark's tasks a run covers, and that it is said wherever its score stands."""

from typing import Any

import pytest

from accounts.models import User
from registry.models import Subset
from runs.asked import scope
from runs.models import Run
from tests.factories import launched
from tests.factories import runs as make

pytestmark = pytest.mark.django_db


def scoped(owner: User, of: int = 40, source: dict[str, Any] | None = None, **fields: Any) -> scope.Scope:
    """Of a run whose subset has ``of`` tasks and was made from ``source``."""
    run = Run.objects.get(id=make.done(owner).id)
    Subset.objects.filter(id=run.subset_id).update(task_count=of, source=source)
    Run.objects.filter(id=run.id).update(**fields)
    found = scope.of(Run.objects.get(id=run.id))
    assert found is not None
    return found


def test_all_of_them_need_no_word(alice: User) -> None:
    found = scoped(alice, 200, task_count=200)
    assert (found.partial, found.words, found.sentence) == (False, "all 200 tasks", "")


def test_the_first_ones(alice: User) -> None:
    found = scoped(alice, 1319, task_count=50)
    assert found.sentence == "It covers only 50 of 1,319 tasks (the first 50)."
    assert found.document()["of"] == 1319


@pytest.mark.parametrize(
    ("asked", "how"), [({"task_ids": ["t0"]}, "chosen by task id"), ({"only_failed": True}, "chosen by outcome")]
)
def test_a_slice_says_by_what_it_was_chosen(alice: User, asked: dict[str, Any], how: str) -> None:
    parent = launched.ended(alice, ["failed", "passed", "passed"])
    made = launched.launch(alice, replay={"from_run": str(parent.id), **asked})
    found = scope.of(made)
    assert found is not None
    assert found.words == f"1 of 3 tasks ({how})"


@pytest.mark.parametrize(
    ("source", "fields", "sentence"),
    [
        ({"ref": "gsm8k"}, {"of": 100, "task_count": 100}, "only 100 of 1,319 tasks (all that its source gave)."),
        ({"ref": "gsm8k"}, {"of": 100, "task_count": 50},
         "only 50 of 1,319 tasks (the first 50 of 100 that its source gave)."),
        ({"ref": "gsm8k"}, {"of": 1319, "task_count": 1319}, ""),
        ({"ref": "mmlu", "part": "abstract_algebra"}, {"of": 100, "task_count": 100},
         "only 100 of 14,042 tasks (the part Abstract Algebra)."),
        ({"ref": "mmlu", "part": "abstract_algebra"}, {"of": 100, "task_count": 20},
         "only 20 of 14,042 tasks (the first 20 of the part Abstract Algebra)."),
        ({"ref": "gone", "part": "x"}, {"of": 9, "task_count": 9}, "only the part x: 9 tasks."),
    ],
)  # fmt: skip
def test_a_part_and_a_partial_mirror_are_told_from_the_whole(
    alice: User, source: dict[str, Any], fields: dict[str, Any], sentence: str
) -> None:
    found = scoped(alice, source={"kind": "catalogue", **source}, **fields)
    assert found.sentence == (f"It covers {sentence}" if sentence else "")


def test_an_earlier_revision_has_its_own_size(alice: User) -> None:
    on = launched.subset(launched.benchmark(alice), 4, rolling=True)
    run = launched.launch(alice, launched.impl(on))
    launched.append(on, 3, start=4, revision=2)
    Subset.objects.filter(id=on.id).update(revision=2, task_count=7)
    found = scope.of(Run.objects.get(id=run.id))
    assert found is not None
    assert found.words == "all 4 tasks"
