"""What the pages tell of forks: where a run comes from, what came of it, what changed."""

import re
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from runs.forking import making
from runs.models import Run, TaskResult
from runs.schemas import ForkBody
from tests.factories import launched
from tests.pages.test_views import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def parent(alice: User) -> Run:
    return launched.ended(alice, ["failed", "failed", "passed", "passed"])


def forked(parent: Run, outcomes: list[str], **body: Any) -> Run:
    """A fork with another scorer that has ended so."""
    asked = {"impl": launched.impl(parent.subset).id, **body}  # type: ignore[arg-type]
    made = making.fork(launched.acting(parent.owner), str(parent.id), ForkBody.model_validate(asked))
    launched.end_cells(made, dict(enumerate(outcomes)))
    TaskResult.objects.filter(run=made).update(reused=body.get("mode") == "rescore")
    launched.finish(made)
    return made


def test_a_fork_says_what_it_changed_and_of_what(browser: Client, parent: Run) -> None:
    fork = forked(parent, ["passed", "failed", "failed", "passed"], description="<b>Compare sets</b>", mode="rescore")
    page = text(browser, f"/runs/{fork.id}")
    assert "rescored" in page
    assert "1 fixed, 1 broken; can't tell these apart" in page.replace("&#x27;", "'")
    assert "Changes &lt;b&gt;Compare sets&lt;/b&gt;" in page
    assert "Outputs its parent's, graded anew; no model was asked" in page
    assert "Fixed: 1" in page
    html = browser.get(f"/runs/{fork.id}").content.decode()
    row = TaskResult.objects.get(run=parent, ordinal=0)
    assert f'href="/runs/{parent.id}/tasks/{row.id}"' in html
    task = text(browser, f"/runs/{fork.id}/tasks/{TaskResult.objects.get(run=fork, ordinal=0).id}")
    assert "taken from an earlier run" in task


def test_a_parent_names_what_was_made_of_it(browser: Client, client: Client, parent: Run) -> None:
    fork = forked(parent, ["passed"] * 4, description="tighter")
    page = text(browser, f"/runs/{parent.id}")
    assert "Forks and replays of this run" in page
    assert "fork, ok" in page
    assert "tighter" in page
    Run.objects.filter(id=parent.id).update(visibility="public")
    assert "Forks and replays" not in text(client, f"/runs/{parent.id}")
    Run.objects.filter(id=parent.id).update(visibility="private")
    Run.objects.filter(id=fork.id).update(visibility="public")
    strangers = text(client, f"/runs/{fork.id}")
    assert "a run that was destroyed, or that you may not see" in strangers
    assert "What changed" not in strangers


def test_the_page_of_flips_goes_on_and_keeps_a_kind(browser: Client, client: Client, alice: User) -> None:
    parent = launched.ended(alice, ["failed"] * 60)
    fork = forked(parent, ["passed"] * 58 + ["errored", "failed"])
    path = f"/runs/{fork.id}/flips"
    page = browser.get(path).content.decode()
    assert page.count('<th scope="row">') == 50
    older = re.findall(r'href="(\?[^"]*after=[^"]*)"', page)
    assert browser.get(path + older[0].replace("&amp;", "&")).content.decode().count('<th scope="row">') == 9
    assert browser.get(f"{path}?kind=changed").content.decode().count('<th scope="row">') == 1
    assert "No task ended otherwise in this way" in text(browser, f"{path}?kind=broken")
    assert "58 fixed, 0 broken, 1 changed otherwise; more tasks pass now" in text(browser, f"{path}?kind=odd&after=x")
    assert client.get(path).status_code == 404
    assert browser.get(f"/runs/{parent.id}/flips").status_code == 404


def test_a_scorer_names_the_one_that_it_was_derived_from(browser: Client, client: Client, parent: Run) -> None:
    fork = forked(parent, ["passed"] * 4, description="tighter")
    page = browser.get(f"/registry/scorers/{fork.impl_id}").content.decode()
    assert f'href="/registry/scorers/{parent.impl_id}"' in page
    assert f'href="/runs/{fork.id}"' in page
    assert "Derived from" not in text(browser, f"/registry/scorers/{parent.impl_id}")
    assert client.get(f"/registry/scorers/{fork.impl_id}").status_code == 404


# --- the form ---
def mark_of(browser: Client, path: str) -> str:
    found = re.search(r'name="mark" value="([^"]+)"', browser.get(path).content.decode())
    assert found
    return found[1]


def test_it_forks_by_form_once(browser: Client, parent: Run) -> None:
    path = f"/runs/{parent.id}/fork"
    assert path in browser.get(f"/runs/{parent.id}").content.decode()
    sent = {"mark": mark_of(browser, path), "description": "Ignore the order", "mode": "rescore"}
    first, second = browser.post(path, sent), browser.post(path, sent)
    fork = parent.children.get()
    assert first["Location"] == second["Location"] == f"/runs/{fork.id}"
    assert (fork.description, fork.fork_mode, fork.plan[0]) == ("Ignore the order", "rescore", "atomize")
    other = launched.impl(parent.subset)  # type: ignore[arg-type]
    assert other.id in browser.get(path).content.decode()
    browser.post(path, {"mark": mark_of(browser, path), "impl": other.id, "mode": "rerun"})
    assert parent.children.filter(impl=other, fork_mode="rerun").count() == 1


def test_a_refused_form_keeps_what_was_typed(browser: Client, client: Client, parent: Run) -> None:
    path = f"/runs/{parent.id}/fork"
    answer = browser.post(path, {"mark": mark_of(browser, path), "mode": "rerun"})
    assert answer.status_code == 422
    assert "Say what to change in the scorer" in answer.content.decode()
    key = "sk-or-v1-" + "0123456789abcdef" * 4
    answer = browser.post(path, {"mark": mark_of(browser, path), "description": f"<i>Use {key}", "mode": "rerun"})
    assert answer.status_code == 422
    assert "&lt;i&gt;Use" in answer.content.decode()
    assert not parent.children.exists()
    assert client.get(path).status_code == 302
    going = launched.launch(parent.owner)
    assert "Wait for its end" in browser.post(
        f"/runs/{going.id}/fork", {"mark": mark_of(browser, path), "description": "x", "mode": "rerun"}
    ).content.decode()  # fmt: skip


def test_a_strangers_private_run_has_no_form(browser: Client, bob: User) -> None:
    assert browser.get(f"/runs/{launched.ended(bob).id}/fork").status_code == 404
