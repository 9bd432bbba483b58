"""C-11: an account that is disabled is out at once, and its runs end."""

import pytest
from django.test import Client

from runs import sweeping
from runs.models import Run
from tests.factories.launched import LOCAL, catalogue

pytestmark = pytest.mark.django_db


def test_c11_a_disabled_accounts_tokens_sessions_and_runs_end(api, alice, bob):
    runs = {}
    for user in (alice, bob):
        scorer = catalogue(user)
        body = {"benchmark": scorer.subset.benchmark_id, "subset": scorer.subset_id, "sut": LOCAL}
        runs[user.pk] = api(user).post("runs", body).json["id"]
    caller, browser = api(alice), Client()
    browser.force_login(alice)
    assert browser.get("/manage/tokens").status_code == 200
    alice.is_active = False
    alice.save()
    assert caller.get("me").status == 401
    assert browser.get("/manage/tokens").status_code == 302
    assert browser.get("/v1/me").status_code == 401
    sweeping.sweep()
    assert Run.objects.get(id=runs[alice.pk]).halt_requested == "user"
    assert Run.objects.get(id=runs[bob.pk]).halt_requested is None
    assert (
        Client().post("/accounts/login/", {"login": alice.email, "password": "correct horse battery"}).status_code
        != 500
    )
