"""Flags: which traces raise them, who may say something, and that what was said stays."""

import pytest

from runs import gateway_keys
from runs.models import ReviewFlag, ReviewRemark, Run
from runs.reporting import storing
from tests.factories import runs as make

pytestmark = pytest.mark.django_db


def codes(run: Run) -> set[str]:
    storing.make(Run.objects.get(id=run.id))
    return set(ReviewFlag.objects.filter(run=run).values_list("code", flat=True))


def ended(owner, outcomes, **fields) -> Run:
    run = make.run(owner, planned=len(outcomes), served={"qwen/qwen3-32b": 9}, **fields)
    make.start(run)
    make.results(run, outcomes)
    run.results.update(error_class=None)
    make.end(run)
    return run


GOOD = ["passed"] * 30 + ["failed"] * 20


@pytest.mark.parametrize(
    ("fields", "cells", "code"),
    [
        ({}, {"stop_reason": "length"}, "truncated"),
        ({"served": {"qwen/qwen3-32b via A": 3, "qwen/qwen3-32b via B": 3}}, {}, "mixed_upstreams"),
        ({"served": {"qwen/qwen3-8b": 50}}, {}, "other_model_served"),
        ({"estimated_calls": 1}, {}, "usage_estimated"),
        ({}, {"error_class": "no_answer"}, "empty_answers"),
    ],
)
def test_each_trace_raises_its_flag(alice, fields, cells, code):
    run = ended(alice, GOOD)
    assert codes(run) == set(), "a usual run has none"
    Run.objects.filter(id=run.id).update(**fields)
    if cells:
        some = list(run.results.filter(outcome="failed").values_list("id", flat=True)[:4])
        run.results.filter(id__in=some).update(**cells)
    assert codes(run) == {code}


@pytest.mark.parametrize(
    ("judge", "raised"),
    [("qwen/qwen3-235b-a22b", True), ("qwen/qwen3-32b", True), ("openai/gpt-4o", False), ("acme/unknown-1", False)],
)
def test_j21_a_judge_of_the_judged_models_family_is_marked(alice, judge, raised):
    run = ended(alice, GOOD)
    type(run.impl).objects.filter(pk=run.impl_id).update(judge={"model": judge, "provider": "openrouter"})
    assert ("judge_of_one_family" in codes(run)) is raised


QWEN = {"model": "qwen/qwen3-32b", "provider": "openrouter", "params": {}}
ALIAS = {"model": "team-model", "provider": "vllm", "params": {}}
PINNED = {**ALIAS, "params": {"provider": {"order": ["DeepSeek"], "allow_fallbacks": False}}}


@pytest.mark.parametrize(
    ("sut", "served", "judge", "answers_as", "words"),
    [
        (QWEN, {}, ("acme/unknown-1", "openrouter"), ("qwen/qwen3-235b", "X"), "which answered as qwen/qwen3-235b"),
        (ALIAS, {"gpt-4o-2024-08-06": 9}, ("gpt-4o", "openai"), ("gpt-4o-2024-11-20", None), "is the model that it"),
        (ALIAS, {"m-1": 9}, ("m-1", "vllm"), None, "is the model that it judges"),
        (ALIAS, {"team-model via Anthropic": 9}, ("claude-haiku-4-5", "anthropic"), None, "same family"),
        (PINNED, {"team-model": 9}, ("deepseek-chat", "deepseek"), None, "(deepseek)"),
        (QWEN, {}, ("acme/unknown-1", "openrouter"), ("acme/unknown-1", "DeepInfra"), ""),
        ({**QWEN, "model": "marco-o1"}, {}, ("gpt-4o", "openai"), None, ""),
    ],
)
def test_j21_a_judge_is_known_by_what_answered_and_by_who_served_it(alice, sut, served, judge, answers_as, words):
    run = ended(alice, GOOD, sut=sut)
    Run.objects.filter(id=run.id).update(served=served)
    asked = {"model": judge[0], "provider": judge[1]}
    type(run.impl).objects.filter(pk=run.impl_id).update(judge=asked)
    if answers_as:
        call = make.call(run, gateway_keys.judged(0))
        call.model_served, call.upstream = answers_as
        call.save()
    assert ("judge_of_one_family" in codes(run)) is bool(words)
    detail = ReviewFlag.objects.filter(run=run, code="judge_of_one_family").values_list("detail", flat=True)
    assert words in "".join(detail)


@pytest.mark.parametrize(("outcomes", "code"), [(["passed"] * 12, "all_passed"), (["failed"] * 12, "all_failed")])
def test_all_alike_is_flagged(alice, outcomes, code):
    assert codes(ended(alice, outcomes)) == {code}


@pytest.mark.parametrize("outcomes", [["unscored"] * 16, ["unscored"] * 15 + ["errored"]])
def test_what_could_not_be_scored_is_no_failure(alice, outcomes):
    assert "all_failed" not in codes(ended(alice, outcomes))


def test_two_in_a_hundred_cut_answers_are_no_flag(alice):
    run = ended(alice, GOOD * 2)
    one, two, *_ = run.results.values_list("id", flat=True)
    run.results.filter(id__in=[one, two]).update(stop_reason="length")
    assert codes(run) == set()


def test_a_dated_snapshot_is_the_model_that_was_asked_for(alice):
    run = ended(alice, GOOD)
    Run.objects.filter(id=run.id).update(served={"qwen/qwen3-32b-2026-04-01": 50})
    assert codes(run) == set()


def test_a_reasoning_model_cut_off_in_its_thoughts(alice):
    run = ended(alice, ["passed"] * 2 + ["failed"] * 28)
    for row in run.results.filter(outcome="failed"):
        row.stop_reason, row.error_class = "length", "truncated"
        row.save()
        call = make.call(run, row.ordinal)
        call.finish_reason, call.tokens_out, call.tokens_reasoning = "length", 256, 250
        call.save()
    assert "reasoning_cut_off" in codes(run)
    detail = ReviewFlag.objects.get(run=run, code="reasoning_cut_off").detail
    assert "28 of 30 (93.3%) answers were cut off at 256 tokens while the model still thought" in detail
    assert "near what guessing gives" in detail


# --- remarks ---
def flagged(owner, **fields) -> Run:
    run = ended(owner, ["passed"] * 12, visibility="public", **fields)
    storing.make(run)
    return run


def say(api, who, run, **said):
    return api(who).patch(f"runs/{run.id}", {"review_resolution": {"code": "all_passed", **said}})


def test_the_owner_comments_and_history_stays(api, alice):
    run = flagged(alice)
    for note in ("It is an easy subset.", "See the notes."):
        answer = say(api, alice, run, note=note)
        assert answer.status == 200
    [flag] = answer.json["review"]
    assert [remark["note"] for remark in flag["remarks"]] == ["It is an easy subset.", "See the notes."]
    assert {remark["by"] for remark in flag["remarks"]} == {"owner"}
    assert flag["settlement"] is None


def test_the_benchmarks_owner_and_staff_settle(api, alice, bob, carol):
    run = flagged(alice)
    Run.objects.filter(id=run.id).update(owner=bob)  # bob's run on alice's benchmark
    refused = say(api, bob, run, settlement="accepted")
    assert (refused.status, refused.json["code"]) == (422, "validation_failed")
    assert say(api, alice, run, settlement="rejected", note="Too good.").status == 200
    found = say(api, carol, run, settlement="accepted").json["review"][0]
    assert found["settlement"]["verdict"] == "accepted"
    assert [(remark["by"], remark["settlement"]) for remark in found["remarks"]] == [
        ("benchmark_owner", "rejected"), ("staff", "accepted"),
    ]  # fmt: skip


def test_strangers_say_nothing(api, alice, bob):
    run = flagged(alice)
    assert say(api, bob, run, note="hm").status == 404
    Run.objects.filter(id=run.id).update(visibility="private", owner=bob)
    assert say(api, alice, run, note="hm").status == 404, "a private run is nobody else's, its benchmark's owner's too"
    assert not ReviewRemark.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        {"code": "unheard_of", "note": "x"},
        {"code": "all_passed"},
        {"code": "all_passed", "note": "x", "settlement": "maybe"},
        {"note": "x"},
    ],
)
def test_it_refuses_what_says_nothing(api, alice, body):
    assert api(alice).patch(f"runs/{flagged(alice).id}", {"review_resolution": body}).status == 422


def test_a_remark_comes_alone_and_holds_no_secret(api, alice):
    run = flagged(alice)
    body = {"review_resolution": {"code": "all_passed", "note": "x"}, "metadata": {"a": 1}}
    assert api(alice).patch(f"runs/{run.id}", body).json["code"] == "mutually_exclusive"
    assert say(api, alice, run, note="sk-or-v1-" + "a1b2c3d4" * 8).json["code"] == "secret_in_payload"


def test_if_match_counts_remarks(api, alice):
    run = flagged(alice)
    tag = api(alice).get(f"runs/{run.id}").headers["ETag"]
    body = {"review_resolution": {"code": "all_passed", "note": "x"}}
    assert api(alice).patch(f"runs/{run.id}", body, if_match=tag).status == 200
    assert api(alice).patch(f"runs/{run.id}", body, if_match=tag).status == 412


def test_the_page_shows_and_takes_remarks(client, alice):
    client.force_login(alice, backend="allauth.account.auth_backends.AuthenticationBackend")
    run = flagged(alice)
    sent = {"code": "all_passed", "note": "<b>easy</b>", "settlement": "accepted"}
    assert client.post(f"/runs/{run.id}/remark", sent)["Location"] == f"/runs/{run.id}#flags"
    page = client.get(f"/runs/{run.id}").content.decode()
    assert "&lt;b&gt;easy&lt;/b&gt;" in page
    assert "accepted" in page
    assert "Everything passed." in page
