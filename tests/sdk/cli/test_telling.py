"""What a run comes to, on the command line."""

import json
from pathlib import Path
from typing import Any

FLAG = {"code": "truncated", "detail": "9 of 10 were cut.", "settlement": None, "remarks": []}
OFFER = {"label": "Raise max_tokens", "price_words": "≈ $0.21", "command": "benchwright run --replay-from r1"}


def test_it_prints_the_report_as_markdown_or_writes_the_file(twin: Any, reply: Any, call: Any, home: Path) -> None:
    twin.on("GET", "/runs/r1/report", reply(b"# A run\x1b[31m", headers={"Content-Type": "text/markdown"}))
    assert call("run", "report", "r1").out == "# A run\n"
    assert twin.calls[-1].query == {"format": "markdown"}
    done = call("run", "report", "r1", "--file", str(home / "run.html"))
    assert (twin.calls[-1].query, "html report" in done.err) == ({}, True)
    assert (home / "run.html").read_text().startswith("# A run")
    call("run", "report", "r1", "--format", "json")
    assert twin.calls[-1].query == {"format": "json"}


def test_it_narrates(twin: Any, reply: Any, call: Any) -> None:
    twin.on("GET", "/runs/r1/narrate", reply({"object": "narration", "text": "It goes.\x1b[2J"}))
    assert call("run", "narrate", "r1", "--slice", "failures", "--output", "table").out == "It goes.\n"
    assert twin.calls[-1].query == {"slice": "failures"}
    assert json.loads(call("run", "narrate", "r1").out)["object"] == "narration"


def test_asking_the_driver_is_a_post_of_its_own(twin: Any, reply: Any, call: Any) -> None:
    twin.on("POST", "/runs/r1/narrate", reply({"text": "So."}, 201))
    assert call("run", "narrate", "r1", "--ask-driver", "--output", "table").out == "So.\n"
    assert json.loads(twin.calls[-1].body) == {"slice": "recent"}
    twin.on("POST", "/runs/r1/narrate", reply({"text": "So.", "notice": "It did not answer."}, 201))
    done = call("run", "narrate", "r1", "--ask-driver", "--output", "table")
    assert (done.out, done.err) == ("So.\n", "It did not answer.\n")


def test_it_lists_remedies_with_their_price(twin: Any, reply: Any, call: Any) -> None:
    group = {"outcome": "failed", "error_class": "truncated", "count": 37, "meaning": "Cut.", "offers": [OFFER]}
    twin.on("GET", "/runs/r1/remedies", reply({"object": "remedies", "classes": [group]}))
    shown = call("run", "remedies", "r1", "--output", "table").out
    assert shown.splitlines() == [
        "37 failed  truncated  Cut.",
        "    Raise max_tokens (≈ $0.21)",
        "      benchwright run --replay-from r1",
    ]


def test_it_lists_what_is_read_otherwise(twin: Any, reply: Any, call: Any) -> None:
    row = {
        "id": "tsk_1", "task_id": "q1", "side": "missed", "first": {"answer": "It is B", "outcome": "failed"},
        "second": {"answer": "B", "passed": True},
    }  # fmt: skip
    found = {"object": "audit", "sentence": "It misses 1.", "rows": [row], "rows_hidden": False}
    twin.on("GET", "/runs/r1/audit", reply(found))
    shown = call("run", "audit", "r1", "--output", "table").out
    assert "It misses 1." in shown
    assert "missed" in shown
    assert json.loads(call("run", "audit", "r1").out)["id"] == "tsk_1"
    twin.on("GET", "/runs/r2/audit", reply({**found, "rows": [], "rows_hidden": True}))
    assert "told to those who may see" in call("run", "audit", "r2", "--output", "table").err


def test_it_shows_flags_and_answers_them(twin: Any, reply: Any, call: Any) -> None:
    twin.on("GET", "/runs/r1", reply({"id": "r1", "review": [FLAG]}))
    assert json.loads(call("run", "review", "r1").out)["code"] == "truncated"
    twin.on("PATCH", "/runs/r1", reply({"id": "r1", "review": [FLAG]}))
    assert call("run", "review", "r1", "--code", "truncated", "-m", "known", "--settle", "accepted").code == 0
    said = {"code": "truncated", "note": "known", "settlement": "accepted"}
    assert json.loads(twin.calls[-1].body) == {"review_resolution": said}
    assert call("run", "review", "r1", "-m", "known").code == 2
