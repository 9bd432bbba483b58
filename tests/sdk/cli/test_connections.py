"""``benchwright connections`` and ``run --connection``: what they send and how they end."""

import json
from typing import Any

import pytest

BOX = {
    **{"object": "connection", "id": "con_1", "name": "box", "kind": "ai_model", "provider": "vllm"},
    **{"base_url": "https://llm.example.com", "secret": None, "prices": {"m": {"input": 1.0, "output": 2.0}}},
    **{"routing": {}, "metadata": {"team": "a"}, "created_at": "2026-04-01T09:59:58Z"},
}


@pytest.fixture
def server(twin: Any, reply: Any) -> Any:
    twin.on("GET", "/connections", reply({"object": "list", "data": [BOX], "next_page_token": None}))
    twin.on("POST", "/connections", reply(BOX, 201))
    twin.on("PATCH", "/connections/con_1", reply(BOX))
    twin.on("DELETE", "/connections/con_1", reply(status=204))
    return twin


def test_it_sets_one_up(server: Any, call: Any) -> None:
    words = ("--url", "https://llm.example.com", "--secret", "K", "--price", "m=0.1,0.3,0", "--price", "*=1,2")
    done = call("connections", "add", "box", "--provider", "vllm", *words, "--model-cost", "5", "--model", "m")
    assert done.code == 0
    assert server.calls[0].json == {
        **{"name": "box", "provider": "vllm", "kind": "ai_model", "base_url": "https://llm.example.com"},
        "secret": "K",
        "prices": {"m": {"input": 0.1, "output": 0.3, "cached_input": 0.0}, "*": {"input": 1.0, "output": 2.0}},
        "metadata": {"model": "m", "limits": {"run": {"model_cost": 5.0}}},
    }
    call("connections", "add", "r", "--provider", "openrouter", "--upstream", "deepinfra", "--quantization", "fp8")
    assert server.calls[1].json["routing"] == {"upstream": "deepinfra", "quantization": "fp8"}
    call("connections", "add", "c", "--provider", "e2b", "--compute")
    assert server.calls[2].json == {"name": "c", "provider": "e2b", "kind": "compute"}


@pytest.mark.parametrize("price", ["m", "m=1", "m=1,x", "=1,2", "m=1,2,3,4"])
def test_a_price_that_is_none_is_not_sent(price: str, server: Any, call: Any) -> None:
    done = call("connections", "add", "box", "--provider", "vllm", "--price", price)
    assert (done.code, server.calls) == (2, [])
    assert "MODEL=INPUT,OUTPUT" in done.err


def test_it_changes_what_is_named_and_no_more(server: Any, call: Any) -> None:
    done = call("connections", "set", "box", "--price", "n=3,4", "--model-cost", "2", "--rename", "crate")
    assert done.code == 0
    assert server.calls[1].json == {
        "name": "crate",
        "prices": {"m": {"input": 1.0, "output": 2.0}, "n": {"input": 3.0, "output": 4.0}},
        "metadata": {"team": "a", "limits": {"run": {"model_cost": 2.0}}},
    }
    assert call("connections", "set", "box").code == 2
    assert server.paths() == ["GET /connections", "PATCH /connections/con_1", "GET /connections"]


def test_it_lists_shows_and_removes_by_name(server: Any, call: Any) -> None:
    assert "https://llm.example.com" in call("connections", "ls", "--output", "table").out
    assert json.loads(call("connections", "show", "box").out) == BOX
    assert call("connections", "rm", "box").code == 2
    assert "box is deleted" in call("connections", "rm", "box", "--yes").err
    assert "Known: box" in call("connections", "show", "crate").err


@pytest.mark.parametrize(("ok", "code"), [(True, 0), (False, 1)])
def test_a_test_ends_with_what_came_of_it(ok: bool, code: int, server: Any, reply: Any, call: Any) -> None:
    error = None if ok else {"code": "provider_error", "message": "401 \x1b[2Jwrong key"}
    told = {"object": "connection_test", "ok": ok, "model": "m", "cap": "Ceilings on cost work.", "error": error}
    server.on("POST", "/connections/con_1/test", reply(told))
    done = call("connections", "test", "box", "--model", "m", "--output", "table")
    assert done.code == code
    assert server.calls[1].json == {"model": "m"}
    assert "Ceilings on cost work." in done.out
    assert ("wrong key" in done.out) is not ok
    assert "\x1b" not in done.out


def test_a_launch_goes_over_a_connection(runs: Any, call: Any, twin: Any) -> None:
    words = ("run", "--benchmark", "bm_1", "--connection", "box", "--no-wait")
    assert call(*words, "--model", "qwen@home", "--param", "temperature=0").code == 0
    assert twin.calls[0].json["sut"] == {"model": "qwen@home", "connection": "box", "params": {"temperature": 0}}
    done = call(*words)
    assert done.code == 2
    assert "--connection belongs to --model" in done.err


@pytest.mark.parametrize("words", [("add", "twin", "--provider", "vllm"), ("set", "box")])
def test_the_servers_option_is_no_connections_address(words: tuple[str, ...], server: Any, call: Any) -> None:
    done = call("connections", *words, "--base-url", server.url)
    assert (done.code, server.calls) == (2, [])
    assert f"The address of the connection is --url {server.url}" in done.err
    assert call("--base-url", server.url, "connections", *words, "--url", "https://llm.example.com").code == 0


@pytest.mark.parametrize("answer", [{"object": "chat.completion", "id": "x"}, {"id": "x"}, ["x"], "fine"])
def test_an_answer_that_is_no_connection_is_none(answer: Any, server: Any, reply: Any, call: Any) -> None:
    server.on("POST", "/connections", reply(answer, 201))
    done = call("connections", "add", "box", "--provider", "vllm")
    assert (done.code, done.out) == (5, "")
    assert f"{server.url} answered POST /connections, but not with a connection" in done.err
    server.on("GET", "/connections", reply(answer))
    done = call("connections", "ls")
    assert (done.code, done.out) == (5, "")
    assert f"{server.url} answered GET /connections, but not with a list" in done.err


def test_a_refusal_by_who_knows_where_names_the_server(server: Any, reply: Any, call: Any) -> None:
    server.on("POST", "/connections", reply({"detail": "Unauthorized"}, 401))
    done = call("connections", "add", "box", "--provider", "vllm")
    assert (done.code, done.out) == (5, "")
    assert f"POST /connections at {server.url}" in done.err


def test_it_takes_the_secret_off(server: Any, call: Any) -> None:
    assert call("connections", "set", "box", "--no-secret").code == 0
    assert server.calls[1].json == {"secret": None}
    assert call("connections", "set", "box", "--no-secret", "--secret", "K").code == 2
