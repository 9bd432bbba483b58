"""C-24: tokens that were found where anybody can read them."""

import json
import logging

import pytest

from accounts import tokens
from accounts.models import PersonalAccessToken
from accounts.principal import BrowserSession

pytestmark = pytest.mark.django_db(transaction=True)
WHERE = "https://github.example/alice/notes/blob/main/.env"


def report(api, *texts, url=WHERE):
    return api(None).post("leaked_tokens", {"tokens": [{"token": text, "url": url} for text in texts]})


@pytest.fixture
def leaked(alice):
    row, text = tokens.mint(BrowserSession(alice), "laptop", ["runs:read", "runs:write"])
    return row, text


def test_c24_a_leaked_token_ends_at_once_and_its_owner_is_told(api, alice, leaked, mailoutbox, caplog):
    row, text = leaked
    kept = tokens.mint(BrowserSession(alice), "kept", ["runs:read"])[1]
    with caplog.at_level(logging.WARNING, "benchwright.security"):
        answer = report(api, text)
    assert (answer.status, answer.json) == (202, {"object": "leak_report", "received": 1})
    refused = api(text).get("me")
    assert (refused.status, refused.json["code"]) == (401, "token_revoked")
    assert api(kept).get("me").status == 200
    (letter,) = mailoutbox
    assert letter.to == [alice.email]
    assert WHERE in letter.body
    assert row.last4 in letter.body
    assert "runs:write" in letter.body
    told = letter.subject + letter.body + answer.content.decode() + caplog.text
    assert text not in told
    assert "token_leaked" in caplog.text


def test_c24_it_tells_nobody_whether_it_was_a_token(api, leaked, mailoutbox):
    _, text = leaked
    other = tokens._new_plaintext()
    answers = [report(api, one) for one in (text, text, other, "hunter2", "bw_test_pat_" + text[12:])]
    assert {(answer.status, answer.content) for answer in answers} == {(202, answers[0].content)}
    assert len(mailoutbox) == 1, "reported twice, told once"
    assert PersonalAccessToken.objects.exclude(revoked_at=None).count() == 1


@pytest.mark.parametrize(
    "body",
    [
        {}, {"tokens": []}, {"tokens": [{"token": 5}]}, {"tokens": ["bw_live_pat_1"]},
        {"tokens": [{"token": "x", "url": "javascript:alert(1)"}]},
        {"tokens": [{"token": "x", "url": "https://e.example/\nBcc: all@e.example"}]},
        {"tokens": [{"token": "x"}] * 101}, {"tokens": [{"token": "x"}], "more": 1},
    ],
)  # fmt: skip
def test_c24_it_refuses_what_is_no_report(api, body):
    answer = api(None).post("leaked_tokens", body)
    assert answer.status == 422
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_c24_a_bad_report_repeats_no_token(api, leaked):
    _, text = leaked
    answer = api(None).post("leaked_tokens", {"tokens": [{"token": text, "url": "no url"}]})
    assert answer.status == 422
    assert text not in json.dumps(answer.json)
    assert api(text).get("me").status == 200


def test_c24_reports_are_counted_by_address(api, settings):
    settings.RATE_ADDRESS = 2
    assert [report(api, "x").status for _ in range(3)] == [202, 202, 429]
