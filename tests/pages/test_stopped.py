"""Cells that were under way when a run was stopped are told apart from those that had not begun."""

import pytest
from django.test import Client

from accounts.models import User
from runs.models import Run, TaskResult
from runs.reporting import narrating, remedies
from tests.factories import runs as make
from tests.pages.test_views import text

pytestmark = pytest.mark.django_db
SOME = "The run was stopped while 2 of these tasks were under way, before the other 3 began."


def stopped(owner: User, asked: int, kind: str = "halted") -> tuple[Run, list[TaskResult]]:
    run = make.run(owner, make.benchmark(owner, tasks=8), planned=8)
    make.start(run)
    rows = make.results(run, ["passed"] * 3 + ["skipped"] * 5)
    run.results.filter(outcome="skipped").update(error_class=kind, attempt=0)
    for row in [*rows[:3], *rows[3 : 3 + asked]]:
        make.call(run, row.ordinal)
    run.refresh_from_db()
    make.end(run, "halted", halt_reason="user")
    return run, rows


def test_page_remedies_report_and_narration_tell_how_many_had_been_asked(browser: Client, alice: User) -> None:
    run, rows = stopped(alice, 2)
    assert SOME in text(browser, f"/runs/{run.id}")
    assert SOME in text(browser, f"/runs/{run.id}/report")
    assert SOME in narrating.narrate(run, "failures", mine=True, answers=True)["text"]
    assert SOME in str(remedies.document(run, mine=True, answers=True))
    assert "while this task was under way." in text(browser, f"/runs/{run.id}/tasks/{rows[3].id}")
    assert "before this task began." in text(browser, f"/runs/{run.id}/tasks/{rows[7].id}")


def test_a_cell_that_began_and_asked_no_model_was_under_way(browser: Client, alice: User) -> None:
    run, rows = stopped(alice, 1)
    run.results.filter(pk=rows[4].pk).update(attempt=1)
    assert SOME in text(browser, f"/runs/{run.id}")
    assert "while this task was under way." in text(browser, f"/runs/{run.id}/tasks/{rows[4].id}")


@pytest.mark.parametrize(
    ("asked", "kind", "said"),
    [
        (0, "halted", "The run was stopped before this task began."),
        (5, "halted", "The run was stopped while these tasks were under way."),
        (5, "budget", "A ceiling was reached while these tasks were under way."),
        (1, "budget", "A ceiling was reached while 1 of these tasks was under way, before the other 4 began."),
    ],
)
def test_a_class_says_what_is_true_of_all_its_cells(
    browser: Client, alice: User, asked: int, kind: str, said: str
) -> None:
    run, _ = stopped(alice, asked, kind)
    assert said in text(browser, f"/runs/{run.id}")
