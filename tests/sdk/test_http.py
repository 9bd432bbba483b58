"""Retries, keys, typed errors: what one call does when the line or the server fails."""

import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from benchwright import APIConnectionError, Benchwright, errors
from benchwright._http import backoff, retry_after, segment


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_it_repeats_a_get_that_may_work_later(
    status: int, bw: Benchwright, twin: Any, reply: Any, naps: list[float]
) -> None:
    twin.on("GET", "/me", reply({}, status), reply({}, status), reply({"object": "account", "id": "1"}))
    assert bw.me().id == "1"
    assert len(twin.calls) == 3
    assert 0.375 <= naps[0] <= 0.625
    assert 0.75 <= naps[1] <= 1.25


def test_it_waits_as_long_as_the_server_asks(bw: Benchwright, twin: Any, reply: Any, naps: list[float]) -> None:
    twin.on("GET", "/me", reply({}, 429, {"Retry-After": "7"}), reply({"id": "1"}))
    bw.me()
    assert 7.0 <= naps[0] <= 7.71


def test_it_does_not_sit_out_a_very_long_wait(bw: Benchwright, twin: Any, refusal: Any, naps: list[float]) -> None:
    twin.on("GET", "/me", refusal(429, "rate_limited", headers={"Retry-After": "3600"}))
    with pytest.raises(errors.RateLimitError) as caught:
        bw.me()
    assert caught.value.retry_after == 3600
    assert naps == []


def test_it_gives_up_after_its_retries(bw: Benchwright, twin: Any, refusal: Any) -> None:
    twin.on("GET", "/me", refusal(503, "unavailable", "starting"))
    with pytest.raises(errors.ServerError, match="starting"):
        bw.me()
    assert len(twin.calls) == 4


def test_it_repeats_after_a_cut_line(bw: Benchwright, twin: Any, reply: Any) -> None:
    twin.on("GET", "/me", reply({}, cut=0), reply({"id": "1"}, cut=4), reply({"id": "1"}))
    assert bw.me().id == "1"


def test_a_launch_is_repeated_under_one_random_key(bw: Benchwright, twin: Any, reply: Any) -> None:
    twin.on("POST", "/runs", reply({}, cut=0), reply({}, 502), reply({"id": "r"}, 201))
    bw.runs.launch(benchmark="bm_1")
    bw.runs.launch(benchmark="bm_1")
    keys = [call.headers["idempotency-key"] for call in twin.calls]
    assert len(keys) == 4
    assert len(set(keys[:3])) == 1
    assert keys[3] != keys[0]


def test_a_given_key_is_sent_as_it_is(bw: Benchwright, twin: Any, reply: Any) -> None:
    twin.on("POST", "/runs", reply({"id": "r"}, 201, {"Idempotent-Replayed": "true"}))
    run = bw.runs.launch(replay={"from_run": "x"}, idempotency_key="sweep-1")
    assert twin.calls[0].headers["idempotency-key"] == "sweep-1"
    assert run.replayed is True
    assert twin.calls[0].json == {"replay": {"from_run": "x"}}


def test_a_post_without_a_key_is_sent_once(bw: Benchwright, twin: Any, reply: Any) -> None:
    twin.on("POST", "/things", reply({}, cut=0))
    with pytest.raises(APIConnectionError, match="may have been carried out"):
        bw.request("POST", "/things", body={})
    assert len(twin.calls) == 1
    twin.on("POST", "/things", reply({}, 502))
    with pytest.raises(errors.ServerError):
        bw.request("POST", "/things", body={})
    assert len(twin.calls) == 2


def test_it_waits_for_the_first_request_of_its_key(bw: Benchwright, twin: Any, reply: Any, refusal: Any) -> None:
    busy = refusal(409, "idempotency_in_progress", headers={"Retry-After": "1"})
    twin.on("POST", "/runs", reply({}, cut=0), busy, busy, busy, busy, reply({"id": "r"}, 201))
    assert bw.runs.launch(benchmark="bm_1").id == "r"


def test_a_conditional_patch_is_not_repeated(bw: Benchwright, twin: Any, reply: Any) -> None:
    twin.on("PATCH", "/runs/r", reply({}, cut=0), reply({"id": "r"}))
    with pytest.raises(APIConnectionError):
        bw.runs.update("r", visibility="public", if_match='"3-ab"')
    assert twin.calls[0].headers["if-match"] == '"3-ab"'
    bw.runs.update("r", visibility="public")


def test_a_delete_whose_answer_was_lost_counts_as_done(bw: Benchwright, twin: Any, reply: Any, refusal: Any) -> None:
    twin.on("DELETE", "/runs/r", reply({}, cut=0), refusal(410, "gone"))
    assert bw.runs.kill("r") is None
    with pytest.raises(errors.GoneError):
        bw.runs.kill("r")


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid_sort", errors.BadRequestError),
        (401, "unauthenticated", errors.AuthenticationError),
        (402, "insufficient_balance", errors.InsufficientBalanceError),
        (403, "insufficient_scope", errors.PermissionDeniedError),
        (404, "not_found", errors.NotFoundError),
        (409, "subset_frozen", errors.ConflictError),
        (410, "gone", errors.GoneError),
        (412, "precondition_failed", errors.PreconditionFailedError),
        (413, "payload_too_large", errors.PayloadTooLargeError),
        (422, "validation_failed", errors.ValidationError),
        (418, "teapot", errors.APIError),
        (500, "internal_error", errors.ServerError),
    ],
)
def test_a_problem_becomes_a_typed_error(
    status: int, code: str, kind: type, bw: Benchwright, twin: Any, refusal: Callable[..., Any]
) -> None:
    fields = [{"loc": ["body", "sut", "provider"], "msg": "Known: openai, local."}]
    twin.on("GET", "/me", refusal(status, code, "It can't be done.", errors=fields))
    with pytest.raises(kind) as caught:
        bw.me()
    error = caught.value
    assert type(error) is kind
    assert (error.status, error.code, error.detail, error.request_id) == (status, code, "It can't be done.", "req_1")
    assert error.errors == fields
    assert error.body["code"] == code
    text = str(error)
    assert text.startswith("It can't be done.")
    assert "sut.provider: Known: openai, local." in text
    assert f"HTTP {status}" in text
    assert "req_1" in text


def test_an_error_says_what_to_do_next(bw: Benchwright, twin: Any, refusal: Any) -> None:
    twin.on("GET", "/me", refusal(401, "unauthenticated", "The token is not known."))
    with pytest.raises(errors.AuthenticationError, match=r"BW_PAT.*benchwright login"):
        bw.me()


def test_an_answer_of_something_else_is_explained(bw: Benchwright, twin: Any, reply: Any) -> None:
    twin.on("GET", "/me", reply(b"<html>nginx</html>", 404, {"Content-Type": "text/html"}))
    with pytest.raises(errors.NotFoundError, match="base URL is Benchwright's"):
        bw.me()
    twin.on("GET", "/me", reply(b"", 301, {"Location": "https://evil.example"}))
    with pytest.raises(errors.APIError, match="redirects elsewhere"):
        bw.me()
    assert len(twin.calls) == 2


def test_a_server_that_is_not_there_is_told_with_its_address() -> None:
    with (
        Benchwright(api_key="x", base_url="http://127.0.0.1:9", max_retries=0) as client,
        pytest.raises(APIConnectionError, match=r"http://127.0.0.1:9.*benchwright doctor"),
    ):
        client.me()


def test_no_token_is_told_before_anything_is_sent(twin: Any) -> None:
    client = Benchwright(base_url=twin.url)
    with pytest.raises(errors.ConfigError, match="BW_PAT"):
        client.me()
    with pytest.raises(errors.ConfigError, match="Copy it again"):
        Benchwright(api_key="bw_live_pat_a b\r\nX: y", base_url=twin.url).me()
    assert twin.calls == []


def test_the_token_is_never_shown(bw: Benchwright) -> None:
    assert "bw_live_pat_" not in repr(bw) + repr(bw._http)


def test_a_deprecated_field_warns(bw: Benchwright, twin: Any, reply: Any) -> None:
    twin.on("POST", "/runs", reply({"id": "r"}, 201, {"Deprecation": "@1", "Sunset": "Thu, 30 Sep 2027 00:00:00 GMT"}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bw.runs.launch(benchmark="bm_1", constraints={"max_tasks": 5})
    assert "removed on Thu, 30 Sep 2027" in str(caught[0].message)


def test_query_values_are_written_as_the_server_reads_them(bw: Benchwright, twin: Any, reply: Any) -> None:
    twin.on("GET", "/runs", reply({"object": "list", "data": [], "next_page_token": None}))
    bw.runs.list(
        filters={"status": "ok", "started_at": {"gte": "2026-01-01T00:00:00Z"}, "metadata.sweep": "a&b"},
        sort="-started_at",
    )
    assert twin.calls[0].query == {
        "status": "ok",
        "started_at[gte]": "2026-01-01T00:00:00Z",
        "metadata[sweep]": "a&b",
        "sort": "-started_at",
    }


def test_an_id_can_not_climb_out_of_its_path(bw: Benchwright, twin: Any) -> None:
    with pytest.raises(errors.NotFoundError):
        bw.runs.get("../secrets?x=1#y")
    assert twin.calls[0].path == "/runs/..%2Fsecrets%3Fx%3D1%23y"
    with pytest.raises(ValueError):
        segment("")
    with pytest.raises(ValueError):
        segment("..")


def test_bodies_that_json_can_not_say_are_refused_here(bw: Benchwright, twin: Any) -> None:
    with pytest.raises(ValueError):
        bw.runs.launch(benchmark="b", limits={"run": {"cost": float("nan")}})
    assert twin.calls == []


def test_big_integers_keep_their_digits(bw: Benchwright, twin: Any, reply: Any) -> None:
    twin.on("GET", "/me", reply(b'{"id": 123456789012345678901234567890}'))
    assert bw.me().id == 123456789012345678901234567890


def test_retry_after_reads_numbers_and_dates() -> None:
    assert retry_after("2.5") == 2.5
    assert retry_after(None) is retry_after("soon") is None
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 27 <= (retry_after(later) or 0) <= 30
    assert retry_after("-3") == 0
    assert all(backoff(tried) <= 10 for tried in range(2000))
