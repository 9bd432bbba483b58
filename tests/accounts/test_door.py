"""The bearer door on real routes."""

import pytest
from django.test import Client

from accounts import tokens
from accounts.principal import BrowserSession

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Basic YTpi", "Token x", "bw_live_pat_x", "Bearer a b"]
)
def test_it_wants_a_bearer_token(header):
    sent = {} if header is None else {"authorization": header}
    answer = Client().get("/v1/me", headers=sent)
    assert answer.status_code == 401
    assert answer.json()["code"] == "unauthenticated"
    assert answer["WWW-Authenticate"].startswith("Bearer ")


def test_the_scheme_may_be_written_in_any_case(alice, token):
    assert Client().get("/v1/me", headers={"authorization": f"bearer {token(alice)}"}).status_code == 200


def test_c10_a_token_elsewhere_is_ignored(alice, token):
    text = token(alice)
    assert Client().get(f"/v1/me?access_token={text}").status_code == 401
    client = Client()
    client.cookies["Authorization"] = f"Bearer {text}"
    assert client.get("/v1/me").status_code == 401


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["tokens", "tokens/pat_1", "tokens/pat_1/rotate"])
def test_c02_a_token_never_touches_tokens(api, alice, method, path):
    answer = api(alice).call(method, path, {"name": "x", "scopes": ["runs:read"]} if method != "GET" else None)
    assert (answer.status, answer.json["code"]) == (403, "session_required")
    assert api(None).call(method, path).status == 401


def test_c03_a_missing_scope_is_named(api, alice):
    answer = api(alice, "runs:read").post("runs", {})
    assert (answer.status, answer.json["code"]) == (403, "insufficient_scope")
    assert (
        answer.headers["WWW-Authenticate"]
        == 'Bearer realm="benchwright", error="insufficient_scope", scope="runs:write"'
    )
    assert answer.headers["X-Accepted-Scopes"] == "runs:write"
    assert answer.headers["X-Token-Scopes"] == "runs:read"
    assert "runs:write" in answer.json["detail"]


def test_c09_a_revoked_token_is_refused_on_the_next_request(api, alice):
    row, text = tokens.mint(BrowserSession(alice), "t", ["runs:read"])
    caller = api(text)
    assert caller.get("me").status == 200
    tokens.revoke(BrowserSession(alice), row.id)
    answer = caller.get("me")
    assert (answer.status, answer.json["code"]) == (401, "token_revoked")


def test_c13_cookies_neither_open_nor_widen(alice, bob, token):
    client = Client()
    client.force_login(bob)
    assert client.get("/v1/me").status_code == 401
    both = client.get("/v1/me", headers={"authorization": f"Bearer {token(alice, 'runs:read')}"})
    assert both.json()["email"] == "alice@example.org"
    assert both.json()["token"]["scopes"] == ["runs:read"]
    wrong = client.post(
        "/v1/runs",
        {},
        content_type="application/json",
        headers={"authorization": f"Bearer {token(alice, 'runs:read')}"},
    )
    assert wrong.status_code == 403


def test_me_tells_the_account_and_the_token(api, alice):
    shown = api(alice, "runs:read", "billing:read").get("me").json
    assert {name: shown[name] for name in ("object", "email", "name")} == {
        "object": "account", "email": "alice@example.org", "name": "Alice",
    }  # fmt: skip
    assert shown["id"] == str(alice.id)
    assert shown["token"]["scopes"] == ["billing:read", "runs:read"]
    assert shown["token"]["expires_at"] is None
    assert "digest" not in str(shown)
