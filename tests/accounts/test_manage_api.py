"""/manage/api: the session's JSON door."""

import json
import time
from datetime import timedelta

import pytest
from django.test import Client

from accounts import tokens
from accounts.models import PersonalAccessToken, User
from kernel import clock

pytestmark = pytest.mark.django_db
BODY = {"name": "ci", "scopes": ["runs:read"]}
PATH = "/manage/api/tokens"


@pytest.fixture
def signed_in(alice):
    """A browser that gave its password just now, with CSRF checks on."""

    class Browser(Client):
        def send(self, method, path, body=None, csrf=True, **headers):
            sent = {"X-CSRFToken": self.cookies["csrftoken"].value} if csrf else {}
            data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
            return self.generic(method, path, data, content_type="application/json", headers={**sent, **headers})

    browser = Browser(enforce_csrf_checks=True)
    browser.get("/accounts/login/")
    form = {"login": alice.email, "password": "correct horse battery"}
    csrf = browser.cookies["csrftoken"].value
    assert browser.post("/accounts/login/", {**form, "csrfmiddlewaretoken": csrf}).status_code == 302
    return browser


def age(browser, seconds):
    User.objects.update(created_at=clock.now() - timedelta(days=30))  # long after sign-up, which counts as a sign-in
    session = browser.session
    for record in session["account_authentication_methods"]:
        record["at"] = time.time() - seconds
    session.save()


def test_it_mints_lists_rotates_and_revokes(signed_in):
    made = signed_in.send("POST", PATH, {**BODY, "expires_at": "2099-01-01T00:00:00Z"})
    assert made.status_code == 201
    assert made["Cache-Control"] == "no-store"
    text = made.json()["token"]
    assert tokens.verify(text).token_name == "ci"
    (listed,) = signed_in.get(PATH).json()["data"]
    assert listed["last4"] == text[-4:]
    assert text not in str(listed)
    turned = signed_in.send("POST", f"{PATH}/{listed['id']}/rotate").json()["token"]
    assert turned != text
    assert signed_in.send("DELETE", f"{PATH}/{listed['id']}").status_code == 204
    assert signed_in.get(PATH).json()["data"] == []


def test_c13_without_the_csrf_token_or_from_elsewhere_it_refuses(signed_in):
    for answer in (
        signed_in.send("POST", PATH, BODY, csrf=False),
        signed_in.send("POST", PATH, BODY, Origin="https://evil.example"),
    ):
        assert answer.status_code == 403
        assert answer.json()["code"] == "csrf_failed"
        assert answer["Content-Type"] == "application/problem+json"
    assert not PersonalAccessToken.objects.exists()


def test_c02_it_understands_no_bearer(token, alice):
    text = token(alice)
    for method in ("get", "post"):
        answer = getattr(Client(), method)(PATH, headers={"authorization": f"Bearer {text}"})
        assert (answer.status_code, answer.json()["code"]) == (403, "session_required")


def test_c23_minting_and_rotating_ask_for_a_fresh_login(signed_in):
    made = signed_in.send("POST", PATH, BODY).json()
    age(signed_in, 16 * 60)
    for path in (PATH, f"{PATH}/{made['id']}/rotate"):
        answer = signed_in.send("POST", path, BODY)
        assert (answer.status_code, answer.json()["code"]) == (403, "reauthentication_required")
    assert signed_in.get(PATH).status_code == 200
    assert signed_in.send("DELETE", f"{PATH}/{made['id']}").status_code == 204


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({**BODY, "scopes": ["tokens:write"]}, 422, "validation_failed"),
        ({**BODY, "name": ""}, 422, "validation_failed"),
        ({**BODY, "nmae": "x"}, 422, "unknown_field"),
        ({**BODY, "expires_at": "tomorrow"}, 422, "validation_failed"),
        ({**BODY, "expires_at": "2099-01-01"}, 422, "validation_failed"),
        ([], 422, "validation_failed"),
        (b'{"name":NaN}', 400, "malformed_json"),
        (b'{"name":"\\u0000"}', 422, "validation_failed"),
        (b'{"a":1,"a":2}', 400, "malformed_json"),
        (b"[" + b" " * (1 << 20) + b"]", 413, "payload_too_large"),
    ],
)
def test_it_is_as_strict_as_the_other_door(signed_in, body, status, code):
    answer = signed_in.send("POST", PATH, body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["request_id"] == answer["X-Request-Id"]
    assert not PersonalAccessToken.objects.exists()


def test_other_peoples_tokens_are_not_found(signed_in, bob):
    from accounts.principal import BrowserSession  # noqa: PLC0415

    row, text = tokens.mint(BrowserSession(bob), "theirs", ["runs:read"])
    for method, path in (("DELETE", f"{PATH}/{row.id}"), ("POST", f"{PATH}/{row.id}/rotate")):
        theirs = signed_in.send(method, path)
        nobodys = signed_in.send(method, path.replace(row.id, "pat_01J0000000000000000000000"))
        assert theirs.status_code == nobodys.status_code == 404
        assert theirs.json()["detail"] == nobodys.json()["detail"]
    assert tokens.verify(text)


def test_other_methods_and_media_types_are_problems(signed_in):
    answer = signed_in.send("PUT", PATH, BODY)
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert "POST" in answer["Allow"]
    csrf = signed_in.cookies["csrftoken"].value
    answer = signed_in.post(PATH, "x", content_type="text/plain", headers={"X-CSRFToken": csrf})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
