"""The tokens page, without JavaScript."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections
from django.test import Client

from accounts import tokens
from accounts.models import PersonalAccessToken, User
from accounts.principal import BrowserSession
from kernel import clock

pytestmark = pytest.mark.django_db
PAGE = "/manage/tokens"
PASSWORD = "correct horse battery"


@pytest.fixture
def browser(alice):
    made = Client()
    assert made.post("/accounts/login/", {"login": alice.email, "password": PASSWORD}).status_code == 302
    return made


def nonce(browser) -> str:
    return re.search(rb'name="form" value="([^"]+)"><h2', browser.get(PAGE).content)[1].decode()


def form(browser, **fields):
    return {
        "form": nonce(browser),
        "name": "notebook",
        "expires": "90",
        "scopes": ["runs:read", "runs:write"],
        **fields,
    }


def test_nobody_in_particular_is_sent_to_sign_in():
    assert Client().get(PAGE)["Location"] == "/accounts/login/?next=/manage/tokens"
    assert Client().get("/manage")["Location"] == "/accounts/login/?next=/manage"


def test_manage_leads_to_the_tokens(browser):
    assert browser.get("/manage")["Location"] == PAGE


def test_a_new_token_is_shown_once(browser, alice):
    answer = browser.post(PAGE, form(browser))
    assert answer.status_code == 201
    assert "no-store" in answer["Cache-Control"]
    text = re.search(rb"bw_live_pat_[0-9A-Za-z]{38}", answer.content)[0].decode()
    found = tokens.verify(text)
    assert (found.account, found.token_name, found.scopes) == (alice, "notebook", {"runs:read", "runs:write"})
    assert 89 <= (found.expires_at - PersonalAccessToken.objects.get().created_at).days <= 90
    later = browser.get(PAGE)
    assert text not in later.content.decode()
    assert f"…{text[-4:]}" in later.content.decode()
    assert "no-store" in later["Cache-Control"]


def test_a_reload_makes_no_second_token(browser):
    fields = form(browser)
    browser.post(PAGE, fields)
    again = browser.post(PAGE, fields, follow=True)
    assert "was sent before" in again.content.decode()
    assert PersonalAccessToken.objects.count() == 1


def test_mistakes_are_told_beside_their_field_and_nothing_is_lost(browser):
    answer = browser.post(PAGE, form(browser, name=" ", scopes=["registry:publish"], expires="never"))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in page
    assert 'value="registry:publish" checked' in page
    assert '<option value="never" selected>' in page
    assert browser.post(PAGE, form(browser, scopes=[])).status_code == 422
    assert browser.post(PAGE, form(browser, expires="sometime")).status_code == 422
    assert not PersonalAccessToken.objects.exists()


def test_rotate_and_revoke_are_forms_too(browser, alice):
    row, old = tokens.mint(BrowserSession(alice), "ci", ["runs:read"])
    answer = browser.post(f"{PAGE}/{row.id}/rotate", {"form": "n1"})
    new = re.search(rb"bw_live_pat_[0-9A-Za-z]{38}", answer.content)[0].decode()
    assert new != old
    assert browser.post(f"{PAGE}/{row.id}/rotate", {"form": "n1"})["Location"] == PAGE
    assert tokens.verify(new)
    assert browser.get(f"{PAGE}/{row.id}/revoke").status_code == 405
    assert "Revoked" in browser.post(f"{PAGE}/{row.id}/revoke", follow=True).content.decode()
    assert PersonalAccessToken.objects.get().revoked_at is not None


def test_other_peoples_tokens_stay_as_they_are(browser, bob):
    row, text = tokens.mint(BrowserSession(bob), "theirs", ["runs:read"])
    for act in ("rotate", "revoke"):
        assert browser.post(f"{PAGE}/{row.id}/{act}", {"form": act}).status_code == 404
    assert tokens.verify(text)
    assert "theirs" not in browser.get(PAGE).content.decode()


def test_k01_names_are_inert(browser, alice):
    tokens.mint(BrowserSession(alice), "<script>alert(1)</script>{{7*7}}", ["runs:read"])
    page = browser.get(PAGE).content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;{{7*7}}" in page


def test_c23_an_old_login_is_asked_for_the_password_and_then_goes_on(browser):
    fields = form(browser)
    User.objects.update(created_at=clock.now() - timedelta(days=30))
    session = browser.session
    session["account_authentication_methods"][0]["at"] = time.time() - 16 * 60
    session.save()
    answer = browser.post(PAGE, fields)
    assert answer["Location"].startswith("/accounts/reauthenticate/")
    assert not PersonalAccessToken.objects.exists()
    assert "Confirm it is you" in browser.get(answer["Location"]).content.decode()
    done = browser.post(answer["Location"], {"password": PASSWORD}, follow=True)
    assert b"Copy your new token now" in done.content
    assert PersonalAccessToken.objects.count() == 1


def test_c13_a_form_without_its_token_is_refused(alice):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    answer = strict.post(PAGE, {"name": "x", "expires": "90", "scopes": ["runs:read"], "form": "1"})
    assert answer.status_code == 403
    assert answer["Content-Type"].startswith("text/html")
    assert not PersonalAccessToken.objects.exists()


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_c18_sign_in_leads_nowhere_else(alice, target):
    answer = Client().post(
        f"/accounts/login/?next={target}", {"login": alice.email, "password": PASSWORD, "next": target}
    )
    assert answer["Location"] == "/manage"


def test_c15_failed_logins_are_limited(alice, settings):
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "c15"}}
    client = Client()
    for _ in range(5):
        answer = client.post("/accounts/login/", {"login": alice.email, "password": "wrong wrong wrong"})
        assert answer.status_code == 200
    answer = client.post("/accounts/login/", {"login": alice.email, "password": PASSWORD})
    assert (answer.status_code, answer["Retry-After"]) == (429, "300")
    assert "Too many" in answer.content.decode()
    assert client.post("/admin/login/", {"username": alice.email, "password": PASSWORD}).status_code == 302
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize(
    "page", ["login", "signup", "password/reset", "password/reset/done", "password/reset/key/done"]
)
def test_pages_of_the_door_have_our_look(client, page):
    answer = client.get(f"/accounts/{page}/")
    assert answer.status_code == 200
    assert 'class="door"' in answer.content.decode()
    assert "style=" not in answer.content.decode()


def test_a_forgotten_password_is_set_anew(alice, mailoutbox):
    client = Client()
    assert client.post("/accounts/password/reset/", {"email": alice.email}).status_code == 302
    link = re.search(r"http://[^\s]+(/accounts/password/reset/key/[^\s]+)", mailoutbox[0].body)[1]
    page = client.get(link, follow=True)
    path = page.redirect_chain[-1][0]
    done = client.post(path, {"password1": "staple battery horse", "password2": "staple battery horse"})
    assert done.status_code == 302
    alice.refresh_from_db()
    assert alice.check_password("staple battery horse")


def test_signing_up_counts_as_signing_in(db):
    browser = Client()
    browser.post("/accounts/signup/", {"email": "new@example.org", "password1": PASSWORD, "password2": PASSWORD})
    answer = browser.post(PAGE, form(browser), follow=True)
    assert b"Copy your new token now" in answer.content


def test_c15_one_address_tries_ten_times_a_minute_whatever_the_accounts(settings, alice):
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "c15ip"}}
    found = [
        Client().post("/accounts/login/", {"login": f"u{n}@example.org", "password": "wrong wrong wrong"}).status_code
        for n in range(11)
    ]
    assert found == [200] * 10 + [429]
    form = {"login": alice.email, "password": PASSWORD}
    assert Client().post("/accounts/login/", form).status_code == 429
    assert Client().post("/accounts/login/", form, REMOTE_ADDR="198.51.100.7").status_code == 302


@pytest.mark.django_db(transaction=True)
def test_c15_guesses_at_the_same_time_are_counted_too(alice, settings):
    """Twenty at once: no more than five are looked at."""
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "c15at"}}
    settings.ACCOUNT_RATE_LIMITS = {"login_failed": "5/300s/key"}

    def guess(number):
        try:
            form = {"login": alice.email, "password": f"wrong wrong {number}"}
            return Client().post("/accounts/login/", form).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(guess, range(20)))
    assert found.count(200) <= 5
    assert set(found) == {200, 429}
