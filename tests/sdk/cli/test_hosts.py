"""hosts: what it sends and what it prints."""

from typing import Any

import pytest

HOST = "api.wolframalpha.com"
ROW = {
    "host": HOST, "reason": "host_blocked", "attempts": 3, "policy": None, "runs": 2, "run": "r",
    "first_at": "2026-04-01T09:15:23.123Z", "last_at": "2026-04-01T09:16:23.123Z",
}  # fmt: skip


def page(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"object": "list", "data": list(rows), "next_page_token": None, **more}


@pytest.fixture
def policy(twin: Any, reply: Any) -> Any:
    rows = [{"id": "hp_1", "mode": "allow", "host_pattern": HOST},
            {"id": "hp_2", "mode": "block", "host_pattern": HOST},
            {"id": "hp_3", "mode": "block", "host_pattern": "*.evil.example"}]  # fmt: skip
    twin.on("GET", "/host_policy", reply(page(*rows, default="block", built_in=["github.com"])))
    twin.on("POST", "/host_policy", reply({**rows[0], "warnings": ["It stays blocked: …"]}, 201))
    twin.on("PUT", "/host_policy/default", reply({"object": "host_policy_default", "mode": "block"}))
    twin.on("POST", "/host_policy/starter_pack", reply(page(*rows, added=2)))
    twin.on("GET", "/host_policy/blocked_hosts", reply(page(ROW)))
    twin.on("GET", "/runs/r/blocked_hosts", reply(page({**ROW, "host": "<b>$(id)\x1b[2J", "reason": "bad_request"})))
    for row in rows:
        twin.on("DELETE", f"/host_policy/{row['id']}", reply(status=204))
    return twin


def test_it_lists_entries_and_says_the_default(policy: Any, call: Any) -> None:
    done = call("hosts", "ls", "--output", "table")
    assert "default block" in done.err
    assert "*.evil.example" in done.out
    call("hosts", "ls", "--mode", "allow")
    assert [one.query.get("mode") for one in policy.calls] == [None, "allow"]


def test_it_allows_and_blocks_many_at_once(policy: Any, call: Any) -> None:
    done = call("hosts", "allow", HOST, "*.example.com", "--output", "table")
    assert done.code == 0
    assert [one.json for one in policy.calls] == [
        {"host_pattern": HOST, "mode": "allow"}, {"host_pattern": "*.example.com", "mode": "allow"}
    ]  # fmt: skip
    assert all(one.headers["idempotency-key"] for one in policy.calls)
    assert "It stays blocked" in done.err
    assert f"allow {HOST}  hp_1" in done.out
    call("hosts", "block", "a.example")
    assert policy.calls[-1].json == {"host_pattern": "a.example", "mode": "block"}
    assert call("hosts", "allow").code == 2


def test_it_deletes_by_id_or_by_host(policy: Any, call: Any) -> None:
    assert call("hosts", "rm", "hp_3").code == 0
    assert policy.paths() == ["DELETE /host_policy/hp_3"]
    call("hosts", "rm", HOST.upper(), "--mode", "block")
    assert policy.paths()[1:] == ["GET /host_policy", "DELETE /host_policy/hp_2"]
    call("hosts", "rm", HOST)
    assert policy.paths()[4:] == ["DELETE /host_policy/hp_1", "DELETE /host_policy/hp_2"]
    wrong = call("hosts", "rm", "nope.example")
    assert wrong.code == 2
    assert "Known: *.evil.example" in wrong.err


def test_it_shows_and_turns_the_default(policy: Any, call: Any) -> None:
    assert '"block"' in call("hosts", "default").out
    done = call("hosts", "default", "block")
    assert policy.calls[-1].json == {"mode": "block"}
    assert "what has no entry here is blocked" in done.err
    assert call("hosts", "default", "open").code == 2


def test_it_adds_the_starter_pack(policy: Any, call: Any) -> None:
    assert "2 added, 1 were there" in call("hosts", "starter-pack", "--output", "table").err


def test_it_shows_what_was_blocked_and_the_one_command_that_opens_it(policy: Any, call: Any) -> None:
    done = call("hosts", "blocked", "--output", "table")
    assert HOST in done.out
    assert f"`benchwright hosts allow {HOST}`" in done.err


def test_h18_a_hosts_odd_name_reaches_no_terminal_and_no_shell(policy: Any, call: Any) -> None:
    for words in (("run", "blocked-hosts", "r"), ("hosts", "blocked", "--run", "r")):
        done = call(*words, "--output", "table")
        assert "\x1b" not in done.out
        assert "<b>$(id)" in done.out
        assert "hosts allow" not in done.err
    assert policy.paths() == ["GET /runs/r/blocked_hosts"] * 2
