"""``benchwright doctor``: each finding with its cure, and what could not be checked."""

import email.utils
import json
import time
from typing import Any

import httpx
import pytest

from benchwright.cli import providers
from benchwright.cli.commands.doctor import clock
from benchwright.cli.commands.secrets import rule
from runs.providers import PROVIDERS, host

SCOPES = ["runs:read", "runs:write", "artifacts:read", "secrets:read", "billing:read", "registry:read", "secrets:write"]


def stored(name: str, host_pattern: str) -> dict[str, Any]:
    return {"id": f"sec_{name}", "name": name, "rules": [{"host_pattern": host_pattern, "inject_kind": "bearer"}]}


def healthy(twin: Any, reply: Any, *secrets: dict[str, Any], scopes: list[str] = SCOPES) -> None:
    twin.on("GET", "/healthz", reply({"status": "ok", "version": "9.9"}))
    twin.on("GET", "/me", reply({"id": "1", "email": "a@b.c", "token": {"scopes": scopes}}))
    twin.on("GET", "/secrets", reply({"object": "list", "data": list(secrets), "next_page_token": None}))


def test_the_doctor_finds_nothing(twin: Any, reply: Any, call: Any) -> None:
    healthy(twin, reply, stored("MINE", "openrouter.ai"))
    done = call("doctor", "--output", "table")
    assert done.code == 0
    assert "version 9.9" in done.out
    assert "→" not in done.out
    assert "✓ provider keys: openrouter (MINE); none for openai, anthropic, google, " in done.out
    assert [json.loads(line)["level"] for line in call("doctor").out.splitlines()] == ["ok"] * 6


def test_the_doctor_names_a_cure_for_each_finding(twin: Any, reply: Any, call: Any) -> None:
    healthy(twin, reply, scopes=["runs:read", "secrets:read", "secrets:write"])
    done = call("doctor", "--output", "table")
    assert done.code == 0
    assert "! scopes: missing of the starter set: runs:write" in done.out
    assert "! provider keys: there is none for any provider. Without one only local, ollama, vllm" in done.out
    for known in providers.KNOWN:
        assert f"    {known.provider}: benchwright secrets add {known.secret}\n" in done.out


def test_the_doctor_says_where_to_store_a_key_that_this_token_may_not(twin: Any, reply: Any, call: Any) -> None:
    healthy(twin, reply, stored("BOX", "llm.example.com"), scopes=SCOPES[:-1])
    out = call("doctor", "--output", "table").out
    assert "none of the stored ones (BOX) is for a shipped provider" in out
    assert f"→ Store the one that you have at {twin.url}/manage/secrets; this token lacks secrets:write." in out


def test_the_doctor_tells_a_key_that_never_reaches_its_provider(twin: Any, reply: Any, call: Any) -> None:
    healthy(twin, reply, stored("OPENAI_API_KEY", "openai.com"), stored("R", "*.mistral.ai"))
    out = call("doctor", "--output", "table").out
    assert "✓ provider keys: mistral (R); none for openrouter, openai, " in out
    assert "! OPENAI_API_KEY: it has no rule for api.openai.com, so openai never gets it" in out
    assert "→ Delete it (benchwright secrets rm OPENAI_API_KEY), then store it again:" in out


@pytest.mark.parametrize("told", [True, False])
def test_the_doctor_tells_which_check_it_could_not_make(
    told: bool, twin: Any, reply: Any, refusal: Any, call: Any
) -> None:
    healthy(twin, reply, scopes=["runs:read"] if told else [])
    twin.on("GET", "/secrets", refusal(403, "insufficient_scope", "This needs the scope secrets:read."))
    done = call("doctor", "--output", "table")
    assert done.code == 0
    assert "? provider keys: not checked: this token lacks secrets:read, so it may not see which keys" in done.out
    assert f"→ To check them, mint a token with secrets:read at {twin.url}/manage/tokens" in done.out
    assert ("GET /secrets" in twin.paths()) is not told
    assert json.loads(call("doctor").out.splitlines()[-1])["level"] == "unknown"


def test_the_doctor_goes_on_where_secrets_can_not_be_listed(twin: Any, reply: Any, refusal: Any, call: Any) -> None:
    healthy(twin, reply)
    twin.on("GET", "/secrets", refusal(500, "internal_error", "Something broke."))
    done = call("doctor", "--output", "table")
    assert done.code == 0
    assert "? provider keys: not checked: Something broke." in done.out


def test_the_doctor_ends_with_5_when_nothing_can_go(twin: Any, reply: Any, refusal: Any, call: Any) -> None:
    healthy(twin, reply)
    twin.on("GET", "/me", refusal(401, "token_expired", "The token has expired."))
    done = call("doctor", "--output", "table")
    assert done.code == 5
    assert "✗ token: The token has expired." in done.out
    assert call("doctor", "--base-url", "http://127.0.0.1:9").code == 5
    twin.on("GET", "/healthz", reply(b"<html>", 404, {"Content-Type": "text/html"}))
    assert "this address is Benchwright's" in call("doctor", "--output", "table").out


@pytest.mark.parametrize(("skew", "level"), [(0, "ok"), (300, "warn"), (-300, "warn")])
def test_the_doctor_compares_the_clocks(skew: float, level: str) -> None:
    date = email.utils.formatdate(time.time() + skew, usegmt=True)
    assert [finding.level for finding in clock(httpx.Response(200, headers={"Date": date}))] == [level]


# --- the providers it knows ---
def test_it_knows_the_servers_providers() -> None:
    asked = {name for name, provider in PROVIDERS.items() if provider.needs_key and provider.base_url}
    assert {known.provider for known in providers.KNOWN} == asked
    for known in providers.KNOWN:
        auth = PROVIDERS[known.provider].auth
        kind, _, target = auth.partition(":")
        wanted = {"host_pattern": host(known.provider), "inject_kind": kind, "inject_target": target or "Authorization"}
        assert rule(known.rule) == wanted
