"""What a run left behind, on the command line."""

import json
from pathlib import Path
from typing import Any

LOG = {"id": "art_1", "type": "log", "name": "t1.solve.log", "version": 1, "size": 9}


def test_it_lists_artifacts(twin: Any, reply: Any, call: Any) -> None:
    twin.on("GET", "/runs/r1/artifacts", reply({"object": "list", "data": [LOG], "next_page_token": None}))
    done = call("run", "artifacts", "r1", "--type", "log", "--task", "t1", "--all-versions")
    assert json.loads(done.out)["name"] == "t1.solve.log"
    assert twin.calls[0].query == {"type": "log", "task_id": "t1", "include_versions": "true"}
    assert "t1.solve.log" in call("run", "artifacts", "r1", "--output", "table").out


def test_it_writes_the_bytes_as_they_are(twin: Any, reply: Any, process: Any, call: Any, home: Path) -> None:
    twin.on("GET", "/runs/r1/artifacts/art_1/content", reply(b"a\x1b[31m\x00b", headers={"Content-Type": "text/plain"}))
    done = call("run", "artifact", "r1", "art_1", "--file", str(home / "out.bin"))
    assert (done.code, "8 bytes" in done.err) == (0, True)
    assert (home / "out.bin").read_bytes() == b"a\x1b[31m\x00b"
    assert process("run", "artifact", "r1", "art_1").out == "a\x1b[31m\x00b"


def test_i05_a_log_is_shown_without_terminal_codes(twin: Any, reply: Any, call: Any) -> None:
    twin.on("GET", "/runs/r1/tasks/tsk_1", reply({"id": "tsk_1", "artifacts": [LOG, {**LOG, "type": "raw_output"}]}))
    twin.on("GET", "/runs/r1/artifacts/art_1/content", reply(b"\x1b[2Jred\x1b]0;title\x07\xff\n"))
    done = call("run", "log", "r1", "tsk_1")
    assert (done.out, "t1.solve.log" in done.err) == ("red\ufffd\n", True)
    twin.on("GET", "/runs/r1/tasks/tsk_2", reply({"id": "tsk_2", "artifacts": []}))
    assert "Nothing was printed" in call("run", "log", "r1", "tsk_2").err


def test_it_shows_the_fingerprint(twin: Any, reply: Any, call: Any) -> None:
    twin.on("GET", "/runs/r1/fingerprint", reply({"object": "fingerprint", "sha256": "ab"}))
    assert json.loads(call("run", "fingerprint", "r1").out)["sha256"] == "ab"
