"""``benchwright run plan`` and ``run approve``."""

import json
from typing import Any

PLAN = {
    "find": {
        "source": {"kind": "catalogue", "ref": "mmlu", "name": "MMLU", "part": "abstract_algebra"},
        "confidence": 0.97,
    },
    "analyze": {
        "dataset": {"words": "cais/mmlu, abstract_algebra, test", "licence": "MIT"},
        "kind": "multiple_choice",
        "tasks": 100,
        "cells": 100,
        "metric": "accuracy",
        "chance": 0.25,
        "risks": [{"code": "duplicates", "words": "2 rows repeat"}],
        "grader": {"kind": "choice"},
        "scorer": "Ask for the letter.",
    },
    "atomize": {"impl": "imp_1", "reused": True, "verdict": {"badge": "proven"}},
}
ASKED = {
    "phase": "find",
    "question": "Which of these?",
    "choices": [{"id": "c1", "name": "MMLU", "reason": "exact"}, {"id": "c2", "name": "MMLU Pro", "reason": "near"}],
}


def test_the_plan_is_a_sheet_for_people(twin: Any, reply: Any, call: Any) -> None:
    twin.on("GET", "/runs/run-1", reply({"id": "run-1", "status": "needs_input", "plan": PLAN, "asked": ASKED}))
    out = call("run", "plan", "run-1", "--output", "table").out
    for said in (
        "MMLU, abstract_algebra",
        "97%",
        "100 tasks",
        "25% by chance",
        "2 rows repeat",
        "proven",
        "(reused)",
        "Ask for the letter.",
    ):
        assert said in out
    assert "Which of these?" in out
    assert "benchwright run approve run-1 --choice ID" in out
    assert json.loads(call("run", "plan", "run-1", "--output", "json").out)["asked"] == ASKED


def test_what_the_first_cells_tell_goes_before_the_guess(twin: Any, reply: Any, call: Any) -> None:
    guessed = {**PLAN, "analyze": {**PLAN["analyze"], "estimate": {"basis": "A guess: 100 calls"}}}
    exceeds = [{"limit": "run.cost", "likely": True, "words": "It comes to run.cost."}]
    measured = {"estimate": {"basis": "Measured: about $0.42"}, "exceeds": exceeds}
    for plan, told in ((guessed, "A guess"), ({**guessed, "materialize": measured}, "Measured")):
        twin.on("GET", "/runs/run-1", reply({"id": "run-1", "status": "running", "plan": plan, "asked": None}))
        out = call("run", "plan", "run-1", "--output", "table").out
        assert told in out
        assert ("A guess" in out) is (told == "A guess")
        assert ("It comes to run.cost." in out) is (told == "Measured")


def test_an_answer_is_sent_and_the_run_followed(twin: Any, reply: Any, call: Any) -> None:
    twin.on("POST", "/runs/run-1/approve", reply({"id": "run-1", "status": "running"}))
    done = call("run", "approve", "run-1", "--choice", "c2", "--edit", "limit=50", "--no-wait", "--output", "json")
    assert done.code == 0
    assert twin.calls[-1].json == {"choice": "c2", "edits": {"limit": 50}}


def test_an_answer_without_waiting_prints_the_id_alone(twin: Any, reply: Any, call: Any) -> None:
    run = {"id": "run-1", "status": "running", "model": {"identifier": "m"}, "phases": []}
    twin.on("POST", "/runs/run-1/approve", reply(run))
    assert call("run", "approve", "run-1", "--no-wait").out == "run-1\n"
    assert call("run", "approve", "run-1", "--no-wait", "--output", "table").out == "run-1\n"
    assert json.loads(call("run", "approve", "run-1", "--no-wait", "--output", "ndjson").out) == run
