"""Request ids, log lines and the headers that browsers obey."""

import json
import logging

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("given", ["abc", "req_01J", "a" * 128, "trace:1/2@x.y=z"])
def test_a26_a_sane_request_id_is_kept(client, given):
    answer = client.get("/v1/me", headers={"X-Request-Id": given})
    assert answer["X-Request-Id"] == answer.json()["request_id"] == given


@pytest.mark.parametrize(
    "given", ["", "a b", "a\r\nSet-Cookie: x=1", "a\nb", "x" * 10_240, "é", "<script>", "a\x00", "b\n"]
)
def test_a26_any_other_is_replaced(client, given):
    answer = client.get("/v1/me", headers={"X-Request-Id": given})
    assert answer["X-Request-Id"].startswith("req_")
    assert answer["X-Request-Id"] != given


def test_each_request_leaves_one_line_without_bodies_or_tokens(alice, token, caplog):
    caplog.set_level(logging.INFO, "benchwright.requests")
    text = token(alice)
    Client().post(
        "/v1/runs?canary=4711", {"request": "canary-body"}, content_type="application/json",
        headers={"authorization": f"Bearer {text}", "X-Request-Id": "r1"},
    )  # fmt: skip
    (line,) = [record.message for record in caplog.records if record.name == "benchwright.requests"]
    shown = json.loads(line)
    assert (shown["request_id"], shown["method"], shown["path"], shown["actor"]) == ("r1", "POST", "/v1/runs", alice.id)
    assert shown["status"] >= 400
    assert shown["ms"] >= 0
    assert "canary" not in line
    assert text not in caplog.text


def test_pages_load_only_from_here_and_are_not_framed(client):
    answer = client.get("/accounts/login/")
    policy = dict(part.strip().split(" ", 1) for part in answer["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["img-src"] == "'self' data:"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Referrer-Policy"] == "same-origin"


def test_sockets_go_to_this_host_only(client):
    answer = client.get("/accounts/login/", headers={"host": "localhost:8000"})
    assert "connect-src 'self' ws://localhost:8000 wss://localhost:8000" in answer["Content-Security-Policy"]


def test_a_forged_host_does_not_reach_the_policy(client):
    answer = client.get("/accounts/login/", headers={"host": "x; script-src *"})
    assert answer.status_code == 400
    assert "script-src *" not in answer["Content-Security-Policy"]


def test_pages_of_a_signed_in_user_are_not_stored(client, alice):
    client.force_login(alice)
    for path in ("/manage/tokens", "/runs", "/accounts/password/change/"):
        assert "no-store" in client.get(path)["Cache-Control"], path


def test_answers_of_the_api_are_not_stored(client):
    assert client.get("/v1/me")["Cache-Control"] == "no-store"


def test_a_refusal_in_a_page_is_a_page(client, alice):
    client.force_login(alice)
    answer = client.get("/runs/01980000-0000-7000-8000-000000000000")
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/html")


def test_admin_pages_need_nothing_inline(client, carol):
    client.force_login(carol)
    for path in ("/admin/", "/admin/accounts/user/", f"/admin/accounts/user/{carol.id}/change/"):
        page = client.get(path).content.decode()
        assert " style=" not in page
        assert "<style" not in page
        assert " onclick=" not in page
        assert "<script>" not in page


def test_the_line_names_who_is_signed_in(client, alice, caplog):
    caplog.set_level(logging.INFO, "benchwright.requests")
    client.force_login(alice)
    client.get("/manage/tokens")
    assert json.loads(caplog.records[-1].message)["actor"] == alice.id
