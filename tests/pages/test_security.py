"""Signing in with a second step, and the list of sessions."""

import re
import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client

from accounts import second_step
from accounts.models import PersonalAccessToken, User
from accounts.pages.sessions import browser as browser_name
from tests.pages.test_views import text

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
PAGE = "/manage/security"


@pytest.fixture(autouse=True)
def fresh_cache(settings: Any) -> None:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "security"}}
    cache.clear()


def signed_in(user: User, agent: str = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0") -> Client:
    client = Client(headers={"user-agent": agent})
    answer = client.post("/accounts/login/", {"login": user.email, "password": PASSWORD})
    assert answer.status_code == 302
    return client


def code_of(secret: str) -> str:
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30))


def confirm(client: Client) -> None:
    assert client.get("/accounts/2fa/totp/activate/")["Location"].startswith("/accounts/reauthenticate/")
    assert client.post("/accounts/reauthenticate/", {"password": PASSWORD}).status_code == 302


def turn_on(client: Client) -> tuple[str, list[str]]:
    """(the secret, the recovery codes). The password is asked for once more first."""
    confirm(client)
    page = client.get("/accounts/2fa/totp/activate/").content.decode()
    secret = re.search(r"<code>([A-Z2-7]{32})</code>", page)[1]  # type: ignore[index]
    answer = client.post("/accounts/2fa/totp/activate/", {"code": code_of(secret)}, follow=True)
    codes = re.findall(r"\b[0-9]{8}\b", answer.content.decode().split("Keep these codes now")[1])
    assert len(codes) == 10
    return secret, codes


# --- the second step ---
def test_it_is_turned_on_with_a_code_and_asked_for_from_then_on(alice: User) -> None:
    client = signed_in(alice)
    assert "Set up an authenticator app" in text(client, PAGE)
    confirm(client)
    wrong = client.post("/accounts/2fa/totp/activate/", {"code": "000000"})
    assert "err" in wrong.content.decode()
    assert not Authenticator.objects.exists()
    client = signed_in(alice)
    secret, codes = turn_on(client)
    assert "✓ on" in text(client, PAGE)
    assert "They were shown once" in text(client, "/accounts/2fa/recovery-codes/")
    kept = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in kept
    assert not any(code in kept for code in codes)
    newcomer = Client()
    answer = newcomer.post("/accounts/login/", {"login": alice.email, "password": PASSWORD})
    assert answer["Location"] == "/accounts/2fa/authenticate/"
    assert "Second step" in text(newcomer, "/accounts/2fa/authenticate/")
    assert newcomer.get(PAGE).status_code == 302
    cache.clear()  # the code that turned it on is used up for its window
    assert newcomer.post("/accounts/2fa/authenticate/", {"code": code_of(secret)})["Location"] == "/manage"
    assert newcomer.get(PAGE).status_code == 200


def half_way(user: User) -> Client:
    client = Client()
    client.post("/accounts/login/", {"login": user.email, "password": PASSWORD})
    return client


def test_c16_a_code_is_good_once_in_its_window(alice: User) -> None:
    secret, _ = turn_on(signed_in(alice))
    cache.clear()
    code = code_of(secret)
    assert half_way(alice).post("/accounts/2fa/authenticate/", {"code": code}).status_code == 302
    again = half_way(alice)
    assert again.post("/accounts/2fa/authenticate/", {"code": code}).status_code == 200
    assert again.get(PAGE).status_code == 302


def test_c16_a_recovery_code_is_good_once(alice: User) -> None:
    _, codes = turn_on(signed_in(alice))
    assert half_way(alice).post("/accounts/2fa/authenticate/", {"code": codes[0]})["Location"] == "/manage"
    assert half_way(alice).post("/accounts/2fa/authenticate/", {"code": codes[0]}).status_code == 200
    assert half_way(alice).post("/accounts/2fa/authenticate/", {"code": codes[1]}).status_code == 302


def test_c16_a_reset_password_is_no_way_around_it(alice: User, mailoutbox: list[Any]) -> None:
    turn_on(signed_in(alice))
    client = Client()
    client.post("/accounts/password/reset/", {"email": alice.email})
    link = re.search(r"http://[^\s]+(/accounts/password/reset/key/[^\s]+)", mailoutbox[-1].body)[1]  # type: ignore[index]
    path = client.get(link, follow=True).redirect_chain[-1][0]
    client.post(path, {"password1": "staple battery horse", "password2": "staple battery horse"})
    assert client.get(PAGE).status_code == 302
    answer = client.post("/accounts/login/", {"login": alice.email, "password": "staple battery horse"})
    assert answer["Location"] == "/accounts/2fa/authenticate/"


def test_c15_codes_can_not_be_guessed_at_leisure(alice: User) -> None:
    secret, _ = turn_on(signed_in(alice))
    client = half_way(alice)
    for number in range(5):
        client.post("/accounts/2fa/authenticate/", {"code": f"{number:06}"})
    cache_free = client.post("/accounts/2fa/authenticate/", {"code": code_of(secret)})
    assert cache_free.status_code != 302
    assert client.get(PAGE).status_code == 302


def test_it_is_turned_off_again(alice: User) -> None:
    client = signed_in(alice)
    turn_on(client)
    assert "Turn the second step off?" in text(client, "/accounts/2fa/totp/deactivate/")
    client.post("/accounts/2fa/totp/deactivate/")
    assert not second_step.has_one(alice)


def test_a_changed_key_of_the_installation_lets_no_code_pass(alice: User, settings: Any) -> None:
    secret, codes = turn_on(signed_in(alice))
    settings.SECRET_KEY = "another-" + settings.SECRET_KEY
    cache.clear()
    for code in (code_of(secret), codes[0]):
        assert half_way(alice).post("/accounts/2fa/authenticate/", {"code": code}).status_code == 200
    assert second_step.remove(alice)
    assert half_way(alice).get(PAGE).status_code == 200


# --- sessions ---
def test_it_lists_every_browser_and_ends_one(alice: User) -> None:
    here = signed_in(alice)
    there = signed_in(alice, "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0) Version/19 Safari/604.1")
    page = here.get(PAGE).content.decode()
    assert "Firefox on Linux" in page
    assert "Safari on iPhone" in page
    assert page.count("this one") == 1
    assert there.session.session_key not in page
    target = re.search(r"/manage/security/\d+/end(?!-)", page)[0]  # type: ignore[index]
    assert here.get(target).status_code == 405
    assert "Ended." in here.post(target, follow=True).content.decode()
    assert there.get(PAGE).status_code == 302
    assert here.get(PAGE).status_code == 200
    assert "Safari on iPhone" not in here.get(PAGE).content.decode()


def test_it_ends_all_others(alice: User, bob: User) -> None:
    here, others, stranger = signed_in(alice), [signed_in(alice) for _ in range(3)], signed_in(bob)
    assert "Ended 3 other sessions." in here.post(f"{PAGE}/end-others", follow=True).content.decode()
    assert [client.get(PAGE).status_code for client in others] == [302] * 3
    assert here.get(PAGE).status_code == 200
    assert stranger.get(PAGE).status_code == 200


def test_nobody_ends_a_strangers_session(alice: User, bob: User) -> None:
    mine, theirs = signed_in(alice), signed_in(bob)
    target = re.search(r"/manage/security/\d+/end(?!-)", _with_two(bob, theirs))[0]  # type: ignore[index]
    assert mine.post(target).status_code == 404
    assert Client().post(target)["Location"].startswith("/accounts/login/")
    assert theirs.get(PAGE).status_code == 200


def _with_two(user: User, client: Client) -> str:
    signed_in(user)
    return client.get(PAGE).content.decode()


def test_a_session_that_ran_out_is_not_listed(alice: User) -> None:
    here, there = signed_in(alice), signed_in(alice, "curl/8.5")
    assert "curl" in here.get(PAGE).content.decode()
    Session.objects.filter(session_key=there.session.session_key).delete()
    assert "curl" not in here.get(PAGE).content.decode()


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Version/19 Safari/605", "Safari on macOS"),
        ("python-httpx/0.28", "python-httpx"),
        ("", "Unknown browser"),
    ],
)
def test_it_names_a_browser(agent: str, words: str) -> None:
    assert browser_name(agent) == words


def test_k01_a_browsers_own_words_are_inert(alice: User) -> None:
    page = signed_in(alice, "<script>alert(1)</script>").get(PAGE).content.decode()
    assert "<script>alert" not in page


# --- letters ---
def test_c23_a_new_token_is_told_by_letter_without_its_text(
    alice: User, mailoutbox: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    client = signed_in(alice)
    nonce = re.search(rb'name="form" value="([^"]+)"><h2', client.get("/manage/tokens").content)[1].decode()  # type: ignore[index]
    form = {"form": nonce, "name": "night job", "expires": "90", "scopes": ["runs:read"]}
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post("/manage/tokens", form)
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "no-store"
    letter = mailoutbox[-1]
    assert letter.to == [alice.email]
    assert "night job" in letter.body
    assert "runs:read" in letter.body
    assert not re.search(r"bw_live_pat_[0-9A-Za-z]{10}", letter.body)
    assert PersonalAccessToken.objects.count() == 1


# --- the admin's door ---
@pytest.mark.parametrize("asked", [True, False])
def test_c15_the_admin_asks_staff_for_a_second_step(carol: User, settings: Any, asked: bool) -> None:
    settings.STAFF_SECOND_STEP = asked
    client = signed_in(carol)
    answer = client.get("/admin/")
    if not asked:
        assert answer.status_code == 200
        return
    assert answer["Location"].startswith("/admin/login/")
    assert client.get(answer["Location"])["Location"] == "/accounts/2fa/totp/activate/"
    assert client.get("/admin/accounts/user/").status_code == 302
    turn_on(client)
    assert client.get("/admin/").status_code == 200


def test_c15_the_admins_own_form_lets_nobody_in(carol: User) -> None:
    client = Client()
    answer = client.post("/admin/login/?next=/admin/", {"username": carol.email, "password": PASSWORD})
    assert answer["Location"].startswith("/accounts/login/")
    assert client.get("/admin/").status_code == 302


@pytest.mark.parametrize("evil", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_c18_the_admins_door_leads_nowhere_else(carol: User, evil: str) -> None:
    client = Client()
    there = client.get("/admin/login/", {"next": evil})["Location"]
    answer = client.post(there, {"login": carol.email, "password": PASSWORD, "next": evil})
    assert "evil" not in answer["Location"]
    assert not answer["Location"].startswith("javascript")
