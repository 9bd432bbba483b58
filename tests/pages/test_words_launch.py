"""Launching in words in the browser, and answering what a run asks."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.pages.viewers import signed_in
from runs import finishing, launching, states
from runs.connections import setting_up
from runs.connections.setting_up import Wanted
from runs.forking import making
from runs.models import Phase, Run, RunEvent
from runs.pages.live import draw
from runs.schemas import ForkBody, LaunchBody
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


def test_where_a_model_is_asked_for_another_may_be_named(browser: Client, alice: User) -> None:
    run = asking(alice)
    assert 'name="other"' not in browser.get(f"/runs/{run.id}").content.decode()  # it asks for something else
    Run.objects.filter(id=run.id).update(asked={**run.asked, "code": "unclear_model"})
    assert 'name="other"' in browser.get(f"/runs/{run.id}").content.decode()
    browser.post(f"/runs/{run.id}/approve", {"choice": "c1", "other": " echo@simulated "})
    run.refresh_from_db()
    assert (run.status, run.answers[0]["choice"]) == ("running", "model:echo@simulated")


@pytest.mark.parametrize(("typed", "limit"), [("3", 3), (" 1,000 ", 1000), ("few", "few")])
def test_a_plan_is_approved_with_fewer_tasks(browser: Client, alice: User, typed: str, limit: object) -> None:
    run = asking(alice, {"phase": "analyze", "question": "Shall it go on?", "choices": [], "plan": {"tasks": 12}})
    assert "Waits for you" in text(browser, f"/runs/{run.id}")
    browser.post(f"/runs/{run.id}/approve", {"limit": typed})
    run.refresh_from_db()
    assert run.answers[0]["edits"] == {"limit": limit}, "the plan takes a number, and refuses anything else"


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


CHOICES = [
    {"id": "catalogue:mmlu", "name": "MMLU", "reason": "named"},
    {"id": "catalogue:gsm8k", "name": "<i>GSM8K</i>", "reason": "named"},
]


def html(browser: Client, path: str) -> str:
    answer = browser.get(path)
    assert answer.status_code == 200
    return str(answer.content.decode())


def failed(owner: User, **fields: Any) -> Run:
    """A run in words that ended in Find."""
    said = {
        "request": "Run MMLU and GSM8K <b>now</b>",
        "hints": ["be brief"],
        "limits": {"run": {"tasks": 7, "tokens": 90}},
    }
    run = launching.launch(launched.acting(owner), LaunchBody.model_validate({**said, "trials": 2, **fields}))
    states.move(run.id, "running")
    finishing.fail(
        Run.objects.get(id=run.id), "find", "several_benchmarks", "Which one?", "MMLU (catalogue:mmlu)", CHOICES
    )
    return Run.objects.get(id=run.id)


def test_a_run_that_failed_in_find_leads_back_to_its_words(browser: Client, alice: User) -> None:
    run = failed(alice)
    page = html(browser, f"/runs/{run.id}")
    assert f'href="/runs/new/words?again={run.id}"' in page
    assert f'href="/runs/new/words?again={run.id}&amp;choice=catalogue%3Agsm8k"' in page
    assert "&lt;i&gt;GSM8K&lt;/i&gt;" in page
    assert "(catalogue:mmlu)" not in page, "candidates stand there by name"
    assert "/runs/new?replay=" not in page
    assert f"/runs/{run.id}/fork" not in page
    assert "--replay-from" not in page
    form = html(browser, f"/runs/new/words?again={run.id}&choice=catalogue:gsm8k")
    assert "Run MMLU and GSM8K &lt;b&gt;now&lt;/b&gt;</textarea>" in form
    assert 'value="catalogue:gsm8k" checked' in form
    assert 'value="catalogue:mmlu" checked' not in form


def test_its_command_names_the_model_and_the_connection_beside_the_words(browser: Client, alice: User) -> None:
    wanted = Wanted("ai_model", "vllm", "https://llm.example.com/v1", {}, {}, {})
    box = setting_up.create(signed_in(alice), "box", wanted, None)
    asked = "benchwright run &#x27;Run MMLU and GSM8K &lt;b&gt;now&lt;/b&gt;&#x27;"
    over = failed(alice, sut={"model": "m 1", "connection": "box"})
    assert f"{asked} --model &#x27;m 1&#x27; --connection {box.pk}<" in html(browser, f"/runs/{over.id}")
    plain = failed(alice, sut="echo@simulated")
    assert f"{asked} --model echo@simulated<" in html(browser, f"/runs/{plain.id}")
    assert f"{asked}<" in html(browser, f"/runs/{failed(alice).id}")


def test_the_filled_form_asks_for_the_chosen_one_and_keeps_the_rest(browser: Client, alice: User) -> None:
    run = failed(alice)
    sent = {
        "request": run.request,
        "hints": "be brief",
        "choice": "catalogue:gsm8k",
        "again": str(run.id),
        "limit": "5",
    }
    made = Run.objects.get(id=browser.post(PAGE, {**sent, "mark": "m"})["Location"].rpartition("/")[2])
    assert made.hints == ["be brief", "choice:catalogue:gsm8k"]
    assert (made.trials, made.limits) == (2, {"run": {"tasks": 5, "tokens": 90}})
    again = html(browser, f"/runs/new/words?again={made.id}")
    assert 'name="choice" value="catalogue:gsm8k" checked' in again, "what was chosen before is not forgotten"
    assert "GSM8K" in again


def test_nobody_elses_words_fill_the_form(browser: Client, alice: User, bob: User) -> None:
    run = failed(bob, visibility="public")
    form = html(browser, f"/runs/new/words?again={run.id}")
    assert "Run MMLU and GSM8K" not in form
    page = html(browser, f"/runs/{run.id}")
    for private in ("Run MMLU and GSM8K", "What may be meant", "catalogue", "/runs/new/words?again"):
        assert private not in page
    assert "A run in words" in page


def test_only_what_can_be_replayed_or_forked_has_a_form_for_it(browser: Client, alice: User) -> None:
    run = failed(alice)
    page = html(browser, f"/runs/new?replay={run.id}")
    assert "before it had a scorer and a task list" in page
    assert ">Run it again<span" not in page
    assert "Its scorer can" in html(browser, f"/runs/{run.id}/fork")
    assert 'name="description"' not in html(browser, f"/runs/{run.id}/fork")


def test_a_fork_that_could_not_be_applied_leads_back_to_its_form(browser: Client, alice: User) -> None:
    parent = launched.ended(alice)
    body = ForkBody(description="Be kinder <b>")
    fork = making.fork(launched.acting(alice), str(parent.id), body)
    states.move(fork.id, "running")
    finishing.fail(Run.objects.get(id=fork.id), "atomize", "cannot_apply", "It can't be told in fields.", "Say it so.")
    page = html(browser, f"/runs/{fork.id}")
    assert f'href="/runs/{parent.id}/fork?again={fork.id}"' in page
    assert "/runs/new?replay=" not in page
    assert "only_errored" not in page
    assert "Be kinder &lt;b&gt;</textarea>" in html(browser, f"/runs/{parent.id}/fork?again={fork.id}")


def test_a_run_is_called_by_its_words_until_more_is_known(browser: Client, alice: User) -> None:
    said = "Run " + "MMLU <i> and more " * 20
    run = launching.launch(launched.acting(alice), LaunchBody(request=said))
    for path in ("/runs", f"/runs/{run.id}"):
        page = html(browser, path)
        assert "“Run MMLU &lt;i&gt; and more" in page
        assert said.replace("<", "&lt;") not in page, "a long request is cut"
        assert "no model" not in page
        assert ">A run<" not in page
        assert "None" not in page
    assert "f-title" in draw(run.id, mine=True).parts
    assert "MMLU" not in draw(run.id, mine=False).parts["f-title"]
    scorer = launched.catalogue(alice, name="Capitals")
    Run.objects.filter(id=run.id).update(benchmark=scorer.subset.benchmark, sut={"model": "m-1", "provider": "local"})
    assert "Capitals on m-1" in draw(run.id, mine=True).parts["f-title"].replace("<bdi>", "").replace("</bdi>", "")


def test_the_plan_tells_the_measured_estimate_instead_of_the_guess(browser: Client, alice: User) -> None:
    run = launched.launch(alice, launched.catalogue(alice))
    guess = {"estimate": {"basis": "A guess: 50 calls."}, "risks": [{"words": "Two rows repeat."}]}
    Run.objects.filter(id=run.id).update(request="Run MMLU", findings={"find": {}, "analyze": guess})
    assert "A guess: 50 calls." in text(browser, f"/runs/{run.id}")
    measured = {"estimate": {"basis": "Measured: about $0.42."}, "exceeds": [{"words": "It may come to run.cost."}]}
    Run.objects.filter(id=run.id).update(findings={"find": {}, "analyze": guess, "materialize": measured})
    page = text(browser, f"/runs/{run.id}")
    assert "Measured: about $0.42." in page
    assert "A guess" not in page
    assert page.index("It may come to run.cost.") < page.index("Two rows repeat.")
