"""A run in plain words."""

import pytest

from runs.models import Run
from tests.factories import runs as make

pytestmark = pytest.mark.django_db


def told(api, who, run, part="recent"):
    answer = api(who).get(f"runs/{run.id}/narrate?slice={part}")
    assert answer.status == 200
    return answer.json


def test_it_tells_what_a_going_run_does_and_waits_for(api, alice):
    found = told(api, alice, make.live(alice))
    assert "MMLU Abstract Algebra is asked of openai/gpt-4o-mini via openrouter: 100 tasks." in found["sentences"]
    assert "61 of 100 tasks ended: 44 passed, 14 failed, 2 errored, 1 unscored." in found["text"]
    assert "74.6% passed so far (95% interval 62.2 to 83.9)." in found["text"]
    assert found["waiting"].startswith("Waiting on 429 from openrouter, retry in")
    assert found["next"] == ["Nothing to do: about 2 to 4 min left."]
    assert (found["source"], found["cost"]["amount_cents"]) == ("builtin", 0)


def test_it_tells_an_ended_run_and_what_to_do_next(api, alice):
    found = told(api, alice, make.done(alice))
    assert found["waiting"] is None
    assert "Not passed: " in found["text"]
    assert any("again" in step for step in found["next"])


def test_failures_are_told_by_class_and_likeness(api, alice):
    found = told(api, alice, make.done(alice), "failures")
    assert "errored, rate_limited. The provider kept saying" in found["text"]
    assert "The first says: openrouter said 429 three times in a row." in found["text"]
    assert "alike, such as parallel_" in found["text"]
    clean = make.run(alice, planned=10)
    make.start(clean)
    make.results(clean, ["passed"] * 10)
    make.end(clean)
    assert told(api, alice, clean, "failures")["text"] == "Everything passed."


def test_all_tells_the_phases_too(api, alice):
    text = told(api, alice, make.done(alice), "all")["text"]
    assert "Find: Skipped: pinned." in text
    assert "Materialize: Done" in text


def test_only_the_owner_hears_what_is_asked(api, alice, bob):
    run = make.run(alice, planned=4, visibility="public")
    Run.objects.filter(id=run.id).update(
        status="needs_input", asked={"phase": "find", "question": "Which part of MMLU?", "choices": []}
    )
    assert told(api, alice, run)["waiting"] == "Waiting for your answer: Which part of MMLU?"
    assert "Which part" not in told(api, bob, run)["text"]


def test_it_tells_a_halted_and_a_failed_run(api, alice, bob):
    halted = make.run(alice, planned=20, visibility="public", halt_note="too dear")
    make.start(halted)
    make.results(halted, make.mixed(6, 6, skipped=8))
    make.end(halted, "halted", halt_reason="user")
    assert "Stopped by its owner: “too dear”" in told(api, alice, halted)["text"]
    assert "too dear" not in told(api, bob, halted)["text"]
    failed = make.run(alice, planned=3)
    make.start(failed)
    make.end(failed, "failed", error={"phase": "materialize", "code": "x", "message": "no key", "hint": "Add a key."})
    assert "Materialize failed: no key" in told(api, alice, failed)["text"]
    assert told(api, alice, failed)["next"][0] == "Add a key."


def test_it_refuses_an_unknown_slice_and_strangers(api, alice, bob):
    run = make.done(alice)
    assert api(alice).get(f"runs/{run.id}/narrate?slice=odd").json["code"] == "invalid_parameter"
    assert api(bob).get(f"runs/{run.id}/narrate").status == 404


def test_a_driver_that_needs_no_model_has_the_built_in_words(api, alice, bob):
    run = make.done(alice)
    answer = api(alice).post(f"runs/{run.id}/narrate", {"slice": "failures"})
    assert (answer.status, answer.json["source"]) == (201, "builtin")
    assert answer.json["text"] == told(api, alice, run, "failures")["text"]
    assert "needs no model" in answer.json["notice"]
    assert told(api, alice, run)["notice"] is None
    assert api(bob).post(f"runs/{run.id}/narrate", {}).status == 404


def test_a_rescore_asks_nobody(api, alice):
    run = make.done(alice)
    Run.objects.filter(id=run.id).update(fork_mode="rescore")
    assert "stored answers of qwen/qwen3-32b via openrouter are scored anew" in told(api, alice, run)["text"]
    assert "is asked of" not in told(api, alice, run)["text"]


def test_it_tells_what_chance_alone_would_pass(api, alice):
    run = make.done(alice)
    assert "By chance" not in told(api, alice, run)["text"]
    Run.objects.filter(id=run.id).update(findings={"analyze": {"chance": 0.25}})
    assert "By chance, 25.0% would pass." in told(api, alice, run)["sentences"]
