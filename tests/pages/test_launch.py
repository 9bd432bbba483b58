"""The launch page: what it says before, what it does, and what it tells of mistakes."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from accounts.pages.viewers import signed_in
from registry import authoring, scorers
from registry.models import Subset
from runs.models import Run
from secrets_vault import sealing, vault
from tests.factories import runs as make
from tests.pages.conftest import DOOR
from tests.pages.test_views import text

PAGE = "/runs/new"
pytestmark = pytest.mark.django_db


@pytest.fixture
def subset(alice: User) -> Subset:
    """Twelve sums with their own grader."""
    return authored(alice)


def authored(owner: User, slug: str = "sums", tasks: int = 12) -> Subset:
    principal = signed_in(owner)
    above = authoring.create_benchmark(principal, "Sums")
    rows = [{"task_id": f"t{n}", "input": f"{n} + 1", "expected": str(n + 1)} for n in range(tasks)]
    return authoring.create_subset(principal, above.pk, slug, tasks=rows, grader={"kind": "numeric"})


def filled(subset: Subset, **more: str) -> dict[str, str]:
    return {"benchmark": subset.benchmark_id, "subset": subset.pk, "model": "echo", "provider": "simulated",
            "trials": "1", "concurrency": "4", "mark": "m1", **more}  # fmt: skip


def test_it_leads_a_newcomer_to_the_first_benchmark(browser: Client) -> None:
    page = text(browser, PAGE)
    assert "There is nothing to run yet" in page
    assert 'href="/registry/new"' in browser.get(PAGE).content.decode()


def test_it_is_for_those_who_signed_in() -> None:
    assert Client().get(PAGE)["Location"] == "/accounts/login/?next=/runs/new"


def test_it_launches_what_was_picked(browser: Client, alice: User, subset: Subset) -> None:
    answer = browser.post(PAGE, filled(subset, limit="5", trials="3", cost="0.5", params='{"temperature": 0}'))
    run = Run.objects.get()
    assert answer["Location"] == f"/runs/{run.id}"
    assert (run.owner, run.subset_id, run.status) == (alice, subset.pk, "queued")
    assert (run.task_count, run.trials, run.planned, run.concurrency) == (5, 3, 15, 4)
    assert run.limits == {"run": {"cost": 0.5, "tasks": 5}}
    assert run.sut["params"] == {"temperature": 0}
    assert run.impl == scorers.queries.impl(signed_in(alice), None, subset)


def test_a_double_click_launches_once(browser: Client, subset: Subset) -> None:
    first, second = (browser.post(PAGE, filled(subset)) for _ in range(2))
    assert first["Location"] == second["Location"]
    assert Run.objects.count() == 1
    browser.post(PAGE, filled(subset, mark="m2"))
    assert Run.objects.count() == 2


def test_it_shows_the_plan_and_writes_nothing(browser: Client, subset: Subset) -> None:
    page = browser.post(PAGE, {**filled(subset, trials="3", limit="4"), "plan": "1"})
    said = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.content.decode()))
    assert page.status_code == 200
    assert "12 planned trials: 4 tasks × 3 trials" in said
    assert "free" in said
    assert not Run.objects.exists()


MISTAKES = [
    ({"model": ""}, "model", "Name the model"),
    ({"benchmark": "bm_none"}, "", "There is no such benchmark"),
    ({"trials": "0"}, "trials", "greater than or equal to 1"),
    ({"trials": "two"}, "trials", "Write a whole number"),
    ({"limit": "-1"}, "limit", "Write a whole number"),
    ({"cost": "a lot"}, "cost", "Write dollars"),
    ({"cost": "0"}, "cost", "must be more than 0"),
    ({"concurrency": "5000"}, "concurrency", "less than or equal to 1000"),
    ({"params": "{temperature: 0}"}, "params", "Write a JSON object"),
    ({"params": "[1]"}, "params", "Write a JSON object"),
    ({"provider": "nowhere"}, "provider", "There is no provider"),
    ({"provider": "openrouter"}, "provider", "You have no secret for openrouter.ai"),
    ({"subset": "sub_none"}, "", "There is no such subset"),
]


@pytest.mark.parametrize(("wrong", "field", "says"), MISTAKES)
def test_mistakes_are_told_in_place_and_nothing_typed_is_lost(
    browser: Client, subset: Subset, wrong: dict[str, str], field: str, says: str
) -> None:
    typed = filled(subset, limit="7", cost="1.25", params='{"seed": 4711}') | wrong
    answer = browser.post(PAGE, typed)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert not Run.objects.exists()
    assert says in page.replace("&#x27;", "'")
    if field:
        assert re.search(rf'id="{field}-err">[^<]*{re.escape(says)}', page)
        assert re.search(rf'id="{field}"[^>]*aria-invalid="true"', page, re.S)
    for name in {"limit", "cost", "model", "trials", "concurrency"} - {field}:
        assert f'name="{name}" value="{typed[name]}"' in page or f'value="{typed[name]}"' in page
    assert "4711" in page or field == "params"
    mark = re.search(r'name="mark" value="([^"]+)"', page)
    assert mark is not None
    if field:
        again = browser.post(PAGE, filled(subset, mark=mark[1]))
        assert again.status_code == 302


def test_it_says_whose_key_pays(browser: Client, alice: User, subset: Subset, tmp_path: Path, settings: Any) -> None:
    settings.KEYS_DIR = tmp_path
    sealing.ensure_keys(tmp_path)
    asked = f"{PAGE}?benchmark={subset.benchmark_id}&provider=openrouter&model=qwen/qwen3-32b"
    page = text(browser, asked)
    assert "You have no key for openrouter.ai." in page
    assert "benchwright secrets add openrouter KEY --rule openrouter.ai:bearer:Authorization" in page
    assert "12 planned tasks" in page
    vault.create(signed_in(alice), "my-router", "sk-or-canary-f3Qa", [{"host_pattern": "openrouter.ai"}])
    page = text(browser, asked)
    assert "Your secret my-router ••••f3Qa pays at openrouter.ai" in page
    assert "canary" not in page
    assert "Needs no key" in text(browser, f"{PAGE}?provider=ollama")
    assert "can't be reached here" in text(browser, f"{PAGE}?provider=azure")


def test_other_peoples_things_are_not_there(browser: Client, bob: User) -> None:
    theirs = authored(bob)
    page = browser.get(f"{PAGE}?benchmark={theirs.benchmark_id}").content.decode()
    assert theirs.benchmark_id not in page.split("<form")[1]
    assert browser.post(PAGE, filled(theirs)).status_code == 422
    run = make.done(bob)
    assert "There is no such run" in browser.get(f"{PAGE}?replay={run.id}").content.decode()
    assert browser.post(PAGE, {"replay": str(run.id), "model": "echo", "provider": "simulated"}).status_code == 422
    assert Run.objects.filter(owner__email="alice@example.org").count() == 0


def test_c13_a_form_without_its_token_is_refused(alice: User, subset: Subset) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice, backend=DOOR)
    assert strict.post(PAGE, filled(subset)).status_code == 403
    assert not Run.objects.exists()


# --- replays ---
def finished(owner: User) -> Run:
    """100 cells: 60 passed, 30 failed, 2 unscored, 6 errored, 2 skipped."""
    sut = {"model": "echo", "provider": "simulated", "params": {}}
    run = make.run(owner, make.benchmark(owner, tasks=100), sut=sut, limits={"run": {"cost": 2.0, "duration": 60}})
    make.start(run)
    make.results(run, make.mixed(60, 30, 6, 2, 2))
    make.end(run)
    return run


def test_a_replay_starts_from_what_its_parent_was(browser: Client, alice: User) -> None:
    run = finished(alice)
    page = text(browser, f"{PAGE}?replay={run.id}&only=only_errored")
    assert "All 100 The same tasks once more" in page
    assert "The 32 that did not pass 30 failed, 2 unscored." in page
    assert "The 8 without a result 6 errored, 2 skipped." in page
    assert "8 planned tasks" in page
    first = browser.get(f"{PAGE}?replay={run.id}&only=only_errored").content.decode()
    assert 'value="only_errored" data-replan checked' in first
    assert 'name="cost" value="2.00"' in browser.get(f"{PAGE}?replay={run.id}").content.decode()


@pytest.mark.parametrize(("only", "cells"), [("", 100), ("only_failed", 32), ("only_errored", 8)])
def test_it_replays_a_slice(browser: Client, alice: User, only: str, cells: int) -> None:
    run = finished(alice)
    form = {"replay": str(run.id), "only": only, "model": "echo", "provider": "simulated", "mark": "x"}
    answer = browser.post(PAGE, form)
    made = Run.objects.exclude(id=run.id).get()
    assert answer["Location"] == f"/runs/{made.id}"
    assert (made.parent_id, made.planned, made.completes) == (run.id, cells, only == "only_errored")
    assert made.limits == {"run": {"duration": 60}}  # the cost ceiling was emptied, the other one stays


def test_an_empty_slice_is_refused_in_place(browser: Client, alice: User) -> None:
    run = make.run(alice, planned=4, sut={"model": "echo", "provider": "simulated"})
    make.start(run)
    make.results(run, ["passed"] * 4)
    make.end(run)
    form = {"replay": str(run.id), "only": "only_failed", "model": "echo", "provider": "simulated"}
    answer = browser.post(PAGE, form)
    assert answer.status_code == 422
    assert re.search(r'id="only-err">[^<]*nothing to run', answer.content.decode())


def test_a_public_run_can_be_replayed_by_anybody(browser: Client, bob: User) -> None:
    run = finished(bob)
    Run.objects.filter(id=run.id).update(visibility="public")
    run.benchmark.visibility = "public"
    run.benchmark.save()
    page = browser.get(f"{PAGE}?replay={run.id}").content.decode()
    assert "2.00" not in re.search(r'name="cost"[^>]*', page)[0]  # somebody else's ceilings are theirs
    answer = browser.post(PAGE, {"replay": str(run.id), "model": "echo", "provider": "simulated"})
    assert answer.status_code == 302


def test_it_tells_the_likely_cost_from_the_last_run(browser: Client, alice: User) -> None:
    run = finished(alice)
    assert run.cost_model > 0
    assert re.search(r"Likely cost ≈ \$0\.\d\d, as its last run", text(browser, f"{PAGE}?replay={run.id}"))


def test_it_asks_the_database_the_same_number_of_times(browser: Client, alice: User, subset: Subset) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert browser.get(f"{PAGE}?benchmark={subset.benchmark_id}&model=echo").status_code == 200
        return len(seen)

    few = asked()
    for _ in range(5):
        authored(alice)
        finished(alice)
    assert asked() == few < 30
