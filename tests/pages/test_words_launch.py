"""Launching in words in the browser, and answering what a run asks."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from runs import states
from runs.models import Phase, Run, RunEvent
from tests.factories import launched
from tests.kernel.test_secret_signs import KEYS
from tests.pages.test_views import text

PAGE = "/runs/new/words"
pytestmark = pytest.mark.django_db
ASKED = {
    "phase": "find",
    "code": "ambiguous_request",
    "question": "Which of these is meant?",
    "choices": [
        {"id": "c1", "name": "MMLU", "reason": "its name"},
        {"id": "c2", "name": "<b>MMLU Pro</b>", "reason": "its <i>name</i>"},
    ],
}


def asking(owner: User, asked: Any = ASKED) -> Run:
    run = launched.launch(owner, launched.catalogue(owner))
    Run.objects.filter(id=run.id).update(mode="request", request="Run MMLU", metadata={"autonomous": False})
    Phase.objects.filter(run=run, position=0).update(status="running")
    states.move(run.id, "running")
    states.move(
        run.id,
        "needs_input",
        events_after=[("InputNeeded", {"phase": "find", "code": "ambiguous_request"})],
        asked=asked,
    )
    return Run.objects.get(id=run.id)


def test_it_launches_what_was_said(browser: Client, alice: User) -> None:
    assert "Say what you want measured" in text(browser, PAGE)
    said = {"request": "Run MMLU on gpt-4o-mini", "cost": "1.50", "limit": "20", "approve": "1", "mark": "m1"}
    answer = browser.post(PAGE, said)
    run = Run.objects.get()
    assert answer["Location"] == f"/runs/{run.id}"
    assert (run.owner, run.mode, run.request) == (alice, "request", said["request"])
    assert run.limits == {"run": {"cost": 1.5, "tasks": 20}}
    assert run.metadata == {"autonomous": False}
    browser.post(PAGE, said)
    assert Run.objects.count() == 1, "the same form launches once"
    page = text(browser, f"/runs/{run.id}")
    assert "Run" in page


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"request": ""}, "Say what you want measured"),
        ({"request": "Run MMLU", "limit": "many"}, "whole number"),
        ({"request": "Run MMLU", "cost": "-1"}, "Write dollars"),
        ({"request": "Run MMLU", "model": "m"}, "Choose where"),
        ({"request": f"Run MMLU with key {KEYS['groq']}"}, "vault"),
    ],
)
def test_what_cannot_be_launched_is_told_beside_its_field(browser: Client, said: dict[str, str], words: str) -> None:
    answer = browser.post(PAGE, {**said, "mark": "m"})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert words in page
    assert "Nothing was launched" in page
    assert not Run.objects.exists()


def test_a_question_is_answered_on_the_page(browser: Client, alice: User) -> None:
    run = asking(alice)
    page = browser.get(f"/runs/{run.id}").content.decode()
    assert "Which of these is meant?" in page
    assert "&lt;b&gt;MMLU Pro&lt;/b&gt;" in page
    assert "<b>MMLU Pro</b>" not in page
    answer = browser.post(f"/runs/{run.id}/approve", {"choice": "c2"})
    assert answer["Location"] == f"/runs/{run.id}"
    run.refresh_from_db()
    assert (run.status, run.asked) == ("running", None)
    assert (run.answers[0]["phase"], run.answers[0]["choice"]) == ("find", "c2")


def test_a_wrong_choice_changes_nothing(browser: Client, alice: User) -> None:
    run = asking(alice)
    page = browser.post(f"/runs/{run.id}/approve", {"choice": "c9"}, follow=True).content.decode()
    assert "Choose one of c1, c2" in page
    run.refresh_from_db()
    assert run.status == "needs_input"


def test_nobody_else_sees_or_answers_it(browser: Client, bob: User) -> None:
    run = asking(bob)
    Run.objects.filter(id=run.id).update(visibility="public")
    assert "Which of these" not in browser.get(f"/runs/{run.id}").content.decode()
    assert browser.post(f"/runs/{run.id}/approve", {"choice": "c1"}).status_code == 404
    assert RunEvent.objects.filter(run=run, type="InputNeeded").count() == 1
