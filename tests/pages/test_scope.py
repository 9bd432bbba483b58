"""Of which of a benchmark's tasks a score is stands beside it wherever it is shown."""

import pytest
from django.test import Client

from accounts.models import User
from registry.models import Subset
from runs import objects
from runs.models import Run
from runs.reporting import narrating
from tests.factories import launched
from tests.factories import runs as make
from tests.pages.test_views import text

pytestmark = pytest.mark.django_db
FIRST = "It covers only 15 of 40 tasks (the first 15)."


def test_it_stands_beside_the_score_everywhere(browser: Client, alice: User) -> None:
    run = make.run(alice, make.benchmark(alice, tasks=15))
    Subset.objects.filter(id=run.subset_id).update(task_count=40)
    make.start(run)
    assert FIRST in text(browser, f"/runs/{run.id}"), "while it goes"
    make.results(run, make.mixed(10, 5))
    make.end(run)
    run = Run.objects.get(id=run.id)
    for path in (f"/runs/{run.id}", f"/runs/{run.id}/report", f"/runs/{run.id}/visibility"):
        assert FIRST in text(browser, path), path
    assert "15 of 40 tasks (the first 15)" in text(browser, "/runs")
    assert "15 of 40 tasks (the first 15)" in narrating.narrate(run, "recent", mine=True, answers=True)["text"]
    assert objects.run_object(run, launched.acting(alice))["scope"]["sentence"] == FIRST
