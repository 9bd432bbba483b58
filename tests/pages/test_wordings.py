"""Sentences that must be true of what they tell: nothing compared yet, tiny sums, outputs that could not be read."""

import pytest

from accounts.models import User
from runs.forking import flips
from runs.pages import now, words
from runs.reporting.audit.auditing import sentence
from tests.factories import runs as make

NONE = {"fixed": 0, "broken": 0, "changed": 0}


def test_cells_that_nobody_compared_are_not_told_as_alike() -> None:
    assert flips.verdict(NONE, 0, 0, 1.0, rescored=False, shared=0) == "No cell has ended in both."
    assert flips.verdict(NONE, 0, 0, 1.0, rescored=False, shared=3) == "Every cell that both have ended alike."


def test_a_tiny_sum_is_not_shown_as_nothing() -> None:
    assert words.per_task(2_000) == "$0.00002"
    assert words.per_task(30_000) == "$0.0003"
    assert words.per_task(0) == "$0.0000"


def test_the_audit_says_what_it_could_not_read() -> None:
    counts = {"looked_at": 10, "unread": 4, "missed": 0, "lenient": 0, "differs": 0}
    said = "A second reader looked at 10 outputs and could not read 4 of them"
    assert sentence(counts, 10) == f"{said} and read of the others none otherwise than the scorer."
    assert sentence({**counts, "missed": 1}, 10) == f"{said}: your scorer probably misses 1 right answer."


@pytest.mark.django_db
def test_what_a_run_waits_for_is_a_sentence(alice: User) -> None:
    run = make.run(alice, planned=4)
    make.start(run)
    make.tell(run, [("PhaseProgress", {"done": 0, "total": 4, "waiting": "vllm (k1) doesn't answer, next try in 4 s"})])
    run.refresh_from_db()
    assert now.read(run).line == "Waiting: vllm (k1) doesn't answer, next try in 4 s"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("phase", "line"),
    [
        ("find", "Working out what the request asks for."),
        ("analyze", "Reading the benchmark's tasks."),
        ("atomize", "Choosing the scorer and trying it on answers that are known."),
        ("materialize", "Starting the sandbox and sending the first tasks."),
    ],
)
def test_each_phase_says_what_it_does(alice: User, phase: str, line: str) -> None:
    run = make.run(alice, planned=4)
    make.start(run)
    make.tell(run, [("PhaseProgress", {"phase": "find", "done": 0, "total": 1, "waiting": "of another phase"})])
    make.tell(run, [("PhaseStarted", {"phase": phase})])
    run.refresh_from_db()
    assert now.read(run).line == line
