"""Launching over a connection from the page: it stands beside the providers, and a replay keeps it."""

import re
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.pages.viewers import signed_in
from runs.connections import setting_up
from runs.connections.setting_up import Wanted
from runs.models import Run
from secrets_vault.connections import acts
from secrets_vault.models import Connection
from tests.pages.test_launch import PAGE, authored, filled
from tests.pages.test_views import text

pytestmark = pytest.mark.django_db
URL = "https://llm.example.com/v1"


@pytest.fixture
def box(alice: User) -> Connection:
    wanted = Wanted("ai_model", "vllm", URL, {}, {}, {})
    setting_up.create(signed_in(alice), "sand", Wanted("compute", "e2b", "", {}, {}, {}), None)
    return setting_up.create(signed_in(alice), "inference-box", wanted, None)


def chosen(answer: Any) -> str:
    """The value of the provider's field."""
    found = re.findall(r'<option value="([^"]*)" selected>', re.split("<select", answer.content.decode())[-1])
    assert len(found) == 1
    return str(found[0])


def test_it_launches_over_a_connection(browser: Client, alice: User, box: Connection) -> None:
    subset = authored(alice)
    page = browser.get(f"{PAGE}?benchmark={subset.benchmark_id}&provider={box.pk}&model=qwen")
    assert chosen(page) == box.pk
    shown = page.content.decode()
    assert '<optgroup label="Your connections">' in shown
    assert ">sand</option>" not in shown
    assert "Needs no key. llm.example.com is asked directly." in text(browser, page.wsgi_request.get_full_path())
    assert browser.post(PAGE, filled(subset, provider=box.pk, model="qwen")).status_code == 302
    run = Run.objects.get()
    assert (run.sut["connection"], run.sut["base_url"], run.sut["provider"]) == (box.pk, URL, "vllm")
    about = browser.get(f"/runs/{run.id}").content.decode()
    assert f'href="/manage/connections/{box.pk}"' in about
    assert "inference-box" in about


def test_a_replay_keeps_it_or_says_that_it_is_gone(browser: Client, alice: User, bob: User, box: Connection) -> None:
    browser.post(PAGE, filled(authored(alice), provider=box.pk, model="qwen"))
    run = Run.objects.get()
    Run.objects.filter(id=run.id).update(status="ok", visibility="public")
    path = f"{PAGE}?replay={run.id}"
    assert chosen(browser.get(path)) == box.pk
    stranger = Client()
    stranger.force_login(bob, backend="allauth.account.auth_backends.AuthenticationBackend")
    assert box.pk not in stranger.get(path).content.decode()
    assert box.pk not in stranger.get(f"/runs/{run.id}").content.decode()
    acts.delete(signed_in(alice), box)
    gone = browser.get(path)
    assert chosen(gone) == "vllm"
    assert "The connection that it went over is gone" in gone.content.decode()


def test_somebody_elses_connection_is_refused_in_place(browser: Client, alice: User, bob: User) -> None:
    theirs = setting_up.create(signed_in(bob), "box", Wanted("ai_model", "vllm", URL, {}, {}, {}), None)
    answer = browser.post(PAGE, filled(authored(alice), provider=theirs.pk))
    assert answer.status_code == 422
    assert re.search(r'id="provider-err">[^<]*You have no connection', answer.content.decode())
    assert not Run.objects.exists()
