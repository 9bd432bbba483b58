"""bench, secrets, account and doctor: what they send and what they print."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from benchwright import config
from benchwright.cli.commands.secrets import rule


@pytest.fixture
def rows(home: Path) -> Path:
    path = home / "tasks.jsonl"
    path.write_text(
        '{"task_id": "a", "input": 1e2, "expected": 12345678901234567890}\n\n{"task_id": "b", "input": "ü"}\n'
    )
    return path


# --- bench ---
def test_a_benchmark_with_tags(twin: Any, reply: Any, call: Any) -> None:
    twin.on("POST", "/benchmarks", reply({"object": "benchmark", "id": "bm_1", "tags": ["a", "b"]}, 201))
    done = call("bench", "create", "BFCL", "--category", "tool-use", "--tag", "a", "--tag", "b", "--output", "table")
    assert twin.calls[0].json == {"name": "BFCL", "category": "tool-use", "tags": ["a", "b"]}
    assert "a, b" in done.out


def test_a_subset_from_files(twin: Any, reply: Any, call: Any, rows: Path, home: Path) -> None:
    (home / "grader.json").write_text('{"kind": "exact"}')
    twin.on("POST", "/benchmarks/bm_1/subsets", reply({"id": "sub_1"}, 201))
    done = call("bench", "subset", "create", "bm_1", "--slug", "s", "--file", str(rows), "--grader-file", "grader.json")
    assert json.loads(done.out)["id"] == "sub_1"
    sent = twin.calls[0].json
    assert sent["grader"] == {"kind": "exact"}
    assert [row["task_id"] for row in sent["tasks"]] == ["a", "b"]
    assert sent["tasks"][0]["expected"] == 12345678901234567890


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"task_id": "a"}\n{"task_id": \n', "tasks.jsonl, line 2, column 12: expected a JSON value, found the end of"),
        (
            '{"task_id": "a"}\n\nnot json',
            "tasks.jsonl, line 3, column 1: expected a JSON value, found 'not json'.",
        ),
        ("{'task_id': 1}", "line 1, column 2: expected property name enclosed in double quotes, found"),
        ('{"a": 1} {"a": 2}', "line 1, column 10: extra data, at '{\"a\": 2}'. Nothing was stored. Each line is one"),
        ('{"a": "x}', "line 1, column 7: unterminated string, at"),
        ('{"a": 1, "a": 2}', "line 1: the key 'a' stands twice"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ("[1]", "a row is a JSON object"),
        (
            b'{"a": 1}\n{"a": "\xff"}',
            "line 2, can't be read: byte 8 of it is not UTF-8. Nothing was stored. Save",
        ),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_sent(content: Any, said: str, twin: Any, call: Any, rows: Path) -> None:
    rows.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = call("bench", "subset", "create", "bm_1", "--slug", "s", "--file", str(rows))
    assert done.code == 2
    assert said in " ".join(done.err.split())
    assert "char " not in done.err
    assert "Nothing was stored." in " ".join(done.err.split())
    assert twin.calls == []


def test_a_bad_array_of_rows_is_named_by_line_and_column(twin: Any, call: Any, home: Path) -> None:
    (home / "rows.json").write_text('[\n  {"task_id": "a"},\n  {"task_id" "b"}\n]')
    done = call("bench", "subset", "create", "bm_1", "--slug", "s", "--file", "rows.json")
    assert (done.code, twin.calls) == (2, [])
    assert "rows.json, line 3, column 14: expected ':' delimiter, found" in done.err


def test_a_frozen_subset_needs_rows(twin: Any, call: Any) -> None:
    assert call("bench", "subset", "create", "bm_1", "--slug", "s").code == 2
    assert twin.calls == []


def test_rows_are_appended_and_a_rolling_subset_frozen(twin: Any, reply: Any, call: Any, rows: Path) -> None:
    twin.on("POST", "/subsets/sub_1/tasks", reply({"id": "sub_1", "revision": 2}))
    twin.on("PATCH", "/subsets/sub_1", reply({"id": "sub_1", "rolling": False}))
    call("bench", "subset", "append", "sub_1", "--file", str(rows), "--idempotency-key", "d1")
    call("bench", "subset", "freeze", "sub_1")
    assert twin.calls[0].headers["idempotency-key"] == "d1"
    assert twin.calls[1].json == {"rolling": False}


def test_scorers_are_registered_listed_and_read_back(twin: Any, reply: Any, call: Any, home: Path) -> None:
    (home / "task_impl.py").write_text("# é\nclass Task: ...\n")
    twin.on("POST", "/impls", reply({"id": "imp_1"}, 201))
    twin.on(
        "GET", "/impls", reply({"object": "list", "data": [{"id": "imp_1", "label": "v1"}], "next_page_token": None})
    )
    twin.on(
        "GET", "/impls/imp_1/code", reply("# é\n".encode(), headers={"Content-Type": "text/x-python; charset=utf-8"})
    )
    call("bench", "impl", "create", "sub_1", "--file", "task_impl.py", "--label", "v1")
    assert twin.calls[0].json["code"] == "# é\nclass Task: ...\n"
    assert "imp_1" in call("bench", "impl", "ls", "sub_1", "--output", "table").out
    odd = {"code": "constant_score", "level": "error", "line": 7, "words": "It is always 1.", "hint": "Compare."}
    twin.on("POST", "/impls", reply({"id": "imp_2", "warnings": [odd]}, 201))
    told = call("bench", "impl", "create", "sub_1", "--file", "task_impl.py")
    assert told.code == 0
    assert "task_impl.py:7: error: It is always 1. Compare." in told.err
    twin.on("GET", "/impls/imp_2", reply({"id": "imp_2", "warnings": [odd]}))
    shown = call("bench", "impl", "show", "imp_2", "--output", "table")
    assert "task_impl.py:7: error: It is always 1. Compare." in shown.err
    assert "warnings" not in shown.out
    assert json.loads(call("bench", "impl", "show", "imp_2", "--output", "json").out)["warnings"] == [odd]
    assert call("bench", "impl", "code", "imp_1").out == "# é\n"


def test_destroying_asks_or_wants_yes(twin: Any, reply: Any, call: Any) -> None:
    twin.on("DELETE", "/benchmarks/bm_1", reply(status=204))
    twin.on("DELETE", "/runs/r", reply(status=204))
    for words in (("bench", "delete", "bm_1"), ("run", "delete", "r")):
        assert call(*words).code == 2
        assert "--yes" in call(*words).err
        assert call(*words, "--yes").code == 0
    assert twin.paths() == ["DELETE /benchmarks/bm_1", "DELETE /runs/r"]


# --- secrets ---
@pytest.fixture
def vault(twin: Any, reply: Any) -> Any:
    rows = [{"id": "sec_1", "name": "OPENROUTER_API_KEY", "preview": "••••cdef"}]
    twin.on("POST", "/secrets", reply(rows[0], 201))
    twin.on("GET", "/secrets", reply({"object": "list", "data": rows, "next_page_token": None}))
    twin.on("PATCH", "/secrets/sec_1", reply(rows[0]))
    twin.on("DELETE", "/secrets/sec_1", reply(status=204))
    return twin


def test_a_value_on_the_command_line_works_and_warns(vault: Any, call: Any) -> None:
    done = call("secrets", "add", "X", "sk-or-1", "--rule", "openrouter.ai:bearer:Authorization")
    assert vault.calls[0].json == {
        "name": "X",
        "value": "sk-or-1",
        "rules": [{"host_pattern": "openrouter.ai", "inject_kind": "bearer", "inject_target": "Authorization"}],
    }
    assert "shell's history" in done.err
    assert "sk-or-1" not in done.out + done.err


def test_a_value_from_stdin_or_a_file_stays_out_of_it(vault: Any, call: Any, home: Path) -> None:
    (home / "key").write_text("from-file\n")
    one = call("secrets", "add", "OPENROUTER_API_KEY", "--value-stdin", stdin="from-stdin\n")
    two = call("secrets", "add", "OPENROUTER_API_KEY", "@key")
    assert [request.json["value"] for request in vault.calls] == ["from-stdin", "from-file"]
    assert "history" not in one.err + two.err
    assert "openrouter.ai:bearer:Authorization" in one.err


BADLY_SAID = [
    ("X", "v"),
    ("OPENAI_API_KEY",),
    ("OPENAI_API_KEY", "v", "--value-stdin"),
    ("OPENAI_API_KEY", "@missing"),
    ("X", "v", "--rule", "a:b"),
]


@pytest.mark.parametrize("words", BADLY_SAID)
def test_what_is_not_said_well_is_not_sent(words: tuple[str, ...], vault: Any, call: Any) -> None:
    assert call("secrets", "add", *words).code == 2
    assert vault.calls == []


def test_it_rotates_and_removes_by_name(vault: Any, call: Any) -> None:
    call("secrets", "rotate", "OPENROUTER_API_KEY", "--value-stdin", stdin="new")
    call("secrets", "rm", "OPENROUTER_API_KEY", "--yes")
    assert vault.paths() == ["GET /secrets", "PATCH /secrets/sec_1", "GET /secrets", "DELETE /secrets/sec_1"]
    assert vault.calls[1].json == {"value": "new"}
    assert "Known: OPENROUTER_API_KEY" in call("secrets", "rm", "NOPE", "--yes").err


def test_it_changes_a_secrets_rules(vault: Any, call: Any) -> None:
    words = ("--rule", "a.test:bearer", "--rule", "*.b.test:header:X-Key", "--description", "for two hosts")
    done = call("secrets", "update", "OPENROUTER_API_KEY", *words)
    assert done.code == 0
    assert vault.paths() == ["GET /secrets", "PATCH /secrets/sec_1"]
    assert vault.calls[1].json == {
        "rules": [
            {"host_pattern": "a.test", "inject_kind": "bearer", "inject_target": "Authorization"},
            {"host_pattern": "*.b.test", "inject_kind": "header", "inject_target": "X-Key"},
        ],
        "description": "for two hosts",
    }
    call("secrets", "update", "OPENROUTER_API_KEY", "--rename", "NEW", "--value-stdin", stdin="me:pw")
    assert vault.calls[-1].json == {"value": "me:pw", "name": "NEW"}


def test_it_changes_nothing_where_nothing_is_said(vault: Any, call: Any) -> None:
    done = call("secrets", "update", "OPENROUTER_API_KEY")
    assert done.code == 2
    assert "--rule" in done.err
    assert call("secrets", "update", "OPENROUTER_API_KEY", "--rule", "a.test").code == 2
    assert vault.calls == []


def test_it_lists_what_a_secret_was_used_for(vault: Any, reply: Any, call: Any) -> None:
    row = {"run": "r", "via": "gateway", "host": "openrouter.ai", "path": "/api/v1/chat/completions", "uses": 12}
    vault.on("GET", "/secrets/sec_1/uses", reply({"object": "list", "data": [row], "next_page_token": None}))
    done = call("secrets", "uses", "OPENROUTER_API_KEY", "--run", "r", "--output", "table")
    assert vault.paths() == ["GET /secrets", "GET /secrets/sec_1/uses"]
    assert "/api/v1/chat/completions" in done.out
    assert call("secrets", "uses", "sec_1").code == 0
    assert vault.paths()[2:] == ["GET /secrets/sec_1/uses"], "an id needs no look at the list: it may be a deleted one"


def test_it_removes_nothing_where_nobody_can_be_asked(vault: Any, call: Any) -> None:
    done = call("secrets", "rm", "OPENROUTER_API_KEY")
    assert done.code == 2
    assert "Add --yes" in done.err
    assert vault.paths() == ["GET /secrets"]


def test_rules_are_read_from_both_ends() -> None:
    assert rule("127.0.0.1:8080:header:x-api-key")["host_pattern"] == "127.0.0.1:8080"
    assert rule("a.b:bearer")["inject_target"] == "Authorization"
    assert rule("a.b:query:key")["inject_target"] == "key"


# --- account ---
def test_login_tries_the_token_and_stores_it_for_its_owner(twin: Any, reply: Any, call: Any) -> None:
    twin.on("GET", "/me", reply({"object": "account", "id": "1", "email": "a@b.c"}))
    done = call("login", "--value-stdin", "--profile", "lab", stdin="bw_live_pat_new\n")
    assert done.code == 0
    assert "a@b.c" in done.err
    assert twin.calls[0].headers["authorization"] == "Bearer bw_live_pat_new"
    assert config.resolve(profile="lab").token == "bw_live_pat_new"
    assert stat.S_IMODE(config.path().stat().st_mode) == 0o600


def test_login_stores_no_token_that_is_refused(twin: Any, refusal: Any, call: Any) -> None:
    twin.on("GET", "/me", refusal(401, "unauthenticated", "The token is not known."))
    assert call("login", "--value-stdin", stdin="bw_live_pat_x").code == 5
    assert not config.path().exists()


def test_tokens_are_minted_in_the_browser(twin: Any, call: Any) -> None:
    done = call("token", "create")
    assert done.out == f"{twin.url}/manage\n"
    assert twin.calls == []


# --- output and the rest ---
def test_lists_in_every_format(twin: Any, reply: Any, call: Any) -> None:
    rows = [{"object": "run", "id": f"r{n}", "status": "ok", "model": {"identifier": "m\x1b[2J\x85"}} for n in range(3)]
    twin.on("GET", "/runs", reply({"object": "list", "data": rows, "next_page_token": "more"}))
    assert len(json.loads(call("run", "ls", "--limit", "2", "--output", "json").out)) == 2
    assert [json.loads(line)["id"] for line in call("run", "ls", "--limit", "3").out.splitlines()] == ["r0", "r1", "r2"]
    assert call("run", "ls", "--limit", "1", "--output", "yaml").out.startswith("- object: run\n  id: r0\n")
    table = call("run", "ls", "--limit", "2", "--status", "ok", "--metadata", "sweep=a", "--output", "table").out
    assert "r1" in table
    for text in (
        table,
        call("run", "ls", "--limit", "1").out,
        call("run", "ls", "--limit", "1", "--output", "yaml").out,
    ):
        assert not set(text) & {"\x1b", "\x85"}
    assert twin.calls[3].query == {"status": "ok", "metadata[sweep]": "a", "limit": "2"}


def test_unknown_commands_name_the_known_ones(call: Any) -> None:
    done = call("bench", "subsets", "create")
    assert done.code == 2
    assert "No command 'subsets' here. Did you mean subset? Known: create, ls, show, range, delete," in done.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["lanch"], "launch"),
        (["artifcts", "@last"], "artifacts"),
        (["SHWO"], "show"),
        (["--debug", "evnts", "x"], "events"),
    ],
)
def test_a_slip_of_a_command_is_no_request(words: list[str], meant: str, twin: Any, call: Any) -> None:
    done = call("run", *words)
    assert (done.code, twin.calls) == (2, [])
    assert f"Did you mean {meant}? If " in done.err
    assert "benchwright run launch " in done.err


@pytest.mark.parametrize("word", ["true", "FALSE"])
def test_passed_is_true_or_false(word: str, twin: Any, reply: Any, call: Any) -> None:
    twin.on("GET", "/runs/run-1/tasks", reply({"object": "list", "data": [], "next_page_token": None, "summary": {}}))
    assert call("run", "tasks", "run-1", "--passed", word).code == 0
    assert twin.calls[0].query["passed"] == word.lower()
    done = call("run", "tasks", "run-1", "--passed", "maybe")
    assert done.code == 2
    assert "'maybe' is not one of 'true', 'false'" in done.err


def test_money_is_dollars_with_two_places_at_most(twin: Any, reply: Any, call: Any) -> None:
    twin.on("POST", "/billing/topups", reply({"id": "top_1"}, 201))
    assert call("billing", "topup", "50").code == 0
    assert call("billing", "topup", "0.10").code == 0
    assert [request.json["amount_cents"] for request in twin.calls] == [5000, 10]
    for wrong in ("1.005", "-1", "0", "x", "NaN"):
        assert call("billing", "topup", "--", wrong).code == 2


# --- tables hold words ---
def test_rules_of_secrets_are_words_and_never_cut_json(twin: Any, reply: Any, call: Any) -> None:
    def rule_of(host: str, kind: str = "bearer", target: str = "Authorization") -> dict[str, str]:
        return {"host_pattern": host, "inject_kind": kind, "inject_target": target}

    rules = [
        rule_of("api.openai.com"),
        rule_of("api.anthropic.com", "header", "x-api-key"),
        rule_of("g.example", "query", "key"),
    ]
    row = {"id": "sec_1", "name": "KEY", "preview": "••••cdef", "rules": rules, "description": "", "created_at": "2026"}
    twin.on("GET", "/secrets", reply({"object": "list", "data": [row], "next_page_token": None}))
    out = call("secrets", "ls", "--output", "table").out
    assert "api.openai.com bearer, api.anthropic.com header x-api-key, g.example query key" in " ".join(out.split())
    assert "{" not in out
    assert json.loads(call("secrets", "ls", "--output", "json").out)[0]["rules"] == rules
    twin.on("PATCH", "/secrets/sec_1", reply(row))
    assert "api.openai.com bearer," in call("secrets", "update", "KEY", "--description", "x", "--output", "table").out


def test_a_connection_names_its_secret(twin: Any, reply: Any, call: Any) -> None:
    row = {"id": "con_1", "name": "box", "kind": "ai_model", "provider": "vllm", "base_url": "https://llm.example.com/v1",
           "secret": {"id": "sec_01JABCDEFGHJKMNPQRSTVWXYZ0", "name": "BOX_KEY"}, "created_at": "2026"}  # fmt: skip
    twin.on("GET", "/connections", reply({"object": "list", "data": [row], "next_page_token": None}))
    out = call("connections", "ls", "--output", "table").out
    assert "BOX_KEY" in out
    assert "{" not in out


def test_events_are_told_in_words(twin: Any, reply: Any, call: Any) -> None:
    error = {"phase": "find", "code": "no_model", "message": "Which one? " * 20, "hint": ""}
    event = {"seq": 1, "type": "PhaseFailed", "created_at": "2026", "data": {"phase": "find", "error": error}}
    twin.on("GET", "/runs/r/events", reply({"object": "list", "data": [event], "next_page_token": None}))
    out = call("run", "events", "r", "--output", "table").out
    assert "phase find, error (phase find, code no_model" in " ".join(out.split())
    assert "{" not in out
