"""M-08: log lines are JSON, one each, and tell no body, no token, no query."""

import io
import json
import logging

import pytest
from django.test import Client

from benchwright_site.logs import JsonLines

CANARY = "canary-4711-sk-live"


@pytest.fixture
def lines():
    """What our loggers write, as their handlers write it."""
    text = io.StringIO()
    handlers = []
    for name in ("benchwright.requests", "benchwright.errors", "benchwright.security"):
        logger = logging.getLogger(name)
        handler = logging.StreamHandler(text)
        handler.setFormatter(logger.handlers[0].formatter)
        logger.addHandler(handler)
        handlers.append((logger, handler))
    yield lambda: [json.loads(line) for line in text.getvalue().splitlines()]
    for logger, handler in handlers:
        logger.removeHandler(handler)


@pytest.mark.django_db
def test_m08_no_line_holds_a_body_a_query_a_header_or_a_token(things, alice, token, lines, monkeypatch):
    bearer = token(alice)
    client = Client(raise_request_exception=False)
    sent = {"authorization": f"Bearer {bearer}", "Idempotency-Key": CANARY, "Cookie": f"a={CANARY}", "Referer": CANARY}
    for method, path in (
        ("POST", "runs"), ("POST", "secrets"), ("POST", "benchmarks"), ("PATCH", f"secrets/{things['secret_id']}"),
        ("GET", "runs"), ("GET", "me"), ("GET", "nothing"), ("DELETE", "me"),
    ):  # fmt: skip
        for body in (
            f'{{"value":"{CANARY}"}}',
            f'{{"name":"{CANARY}","value":"{CANARY}","rules":[]}}',
            f"{CANARY}{{",
            "\xff",
        ):
            client.generic(method, f"/v1/{path}?q={CANARY}", body, content_type="application/json", headers=sent)
    client.get("/v1/me", headers={"authorization": f"Bearer {CANARY}"})
    client.post("/accounts/login/", {"login": f"{CANARY}@example.org", "password": CANARY})
    monkeypatch.setattr("accounts.api.principal", lambda request: 1 / 0)
    assert client.get("/v1/me", headers=sent).status_code == 500
    said = lines()
    assert len(said) > 30
    assert CANARY not in json.dumps(said)
    assert bearer not in json.dumps(said)
    assert all("request_id" in line for line in said)
    assert {line["code"] for line in said if "code" in line} >= {"malformed_json", "not_found", "unauthenticated", None}


@pytest.mark.django_db
def test_m08_a_line_stays_one_line(alice, token, lines):
    bearer = token(alice)
    Client().get("/v1/a%0d%0a%7B%22forged%22:1%7D", headers={"authorization": f"Bearer {bearer}"})
    (line,) = lines()
    assert line["path"] == '/v1/a\r\n{"forged":1}'


@pytest.mark.django_db
def test_m08_a_failure_is_one_line_that_the_request_id_finds(alice, token, lines, monkeypatch):
    monkeypatch.setattr("accounts.api.principal", lambda request: 1 / 0)
    answer = Client(raise_request_exception=False).get("/v1/me", headers={"authorization": f"Bearer {token(alice)}"})
    failure, request = lines()
    assert failure["request_id"] == request["request_id"] == answer.json()["request_id"]
    assert "ZeroDivisionError" in failure["traceback"]
    assert (request["status"], request["code"], request["actor"]) == (500, "internal_error", alice.id)


@pytest.mark.django_db
def test_m08_sign_ins_and_refusals_of_them_have_names(alice, lines, settings):
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "m08"}}
    client = Client()
    form = {"login": alice.email, "password": "correct horse battery"}
    client.post("/accounts/login/", form)
    stranger = Client()
    for _ in range(6):
        stranger.post("/accounts/login/", {**form, "password": "wrong wrong wrong"})
    said = [line["message"].split(" ")[0] for line in lines() if line.get("logger") == "benchwright.security"]
    assert said == ["login", *["login_failed"] * 5, "login_refused:"]


def test_a_message_of_any_kind_is_one_line():
    record = logging.LogRecord("x", logging.ERROR, "", 0, "a\n%s", ("b\r\n",), None)
    assert json.loads(JsonLines().format(record))["message"] == "a\nb\r\n"
