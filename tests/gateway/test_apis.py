"""The other endpoints: completions, embeddings and responses go through the same journal, rules and metering."""

import asyncio
import json
from typing import Any

import httpx
import openai
import pytest

from runs.call_bodies import unpack
from tests.gateway.conftest import MODEL, Bench, GatewayProcess, connect
from tests.twins.openai_twin import Fault, OpenAITwin

ASKED: dict[str, dict[str, Any]] = {
    "/v1/completions": {"prompt": "2+2="},
    "/v1/embeddings": {"input": ["one", "two"]},
    "/v1/responses": {"input": "2+2?"},
}


@pytest.fixture
async def bench(shared_gateway: GatewayProcess, provider: OpenAITwin, make_run: Any) -> Any:
    """As the common one, for a provider that has every endpoint."""
    found = await connect(shared_gateway, await make_run(provider.url, "vllm"))
    await found.open()
    yield found
    await found.client.close()


async def _ask(bench: Bench, path: str, *, cell: int = 0, attempt: int = 1, **more: Any) -> httpx.Response:
    return await bench.post(path, {"model": MODEL, **ASKED[path], **more}, key=bench.key(cell, attempt))


@pytest.mark.parametrize("path", ASKED)
async def test_it_forwards_and_meters_each_endpoint(path: str, bench: Bench, provider: OpenAITwin) -> None:
    answer = await _ask(bench, path)
    assert answer.status_code == 200
    assert provider.requests[0].path == path
    facts = await bench.facts()
    assert (facts["calls"], facts["failed"], facts["cost"], facts["served"]) == (1, 0, 0, MODEL)
    assert facts["tokens_in"] > 0
    (row,) = await bench.rows(1)
    assert not row.usage_estimated
    assert unpack(row.response) == answer.content
    if path == "/v1/embeddings":
        assert (row.tokens_out, row.finish_reason) == (0, None)
        assert len(answer.json()["data"]) == 2
    else:
        assert (row.tokens_out, row.finish_reason) == (1, "stop")
    if path == "/v1/responses":
        assert (row.tokens_cached, row.tokens_reasoning) == (1, 1)
        assert provider.requests[0].body["store"] is False


@pytest.mark.parametrize("path", ASKED)
async def test_a_later_attempt_gets_the_recorded_answer(path: str, bench: Bench, provider: OpenAITwin) -> None:
    stream = {} if path == "/v1/embeddings" else {"stream": True}
    first = await _ask(bench, path, **stream)
    await bench.facts()
    again = await _ask(bench, path, attempt=2, **stream)
    assert again.content == first.content
    assert len(provider.requests) == 1
    facts = await bench.facts(attempt=2)
    assert (facts["reused"], facts["calls"]) == (1, 1)


async def test_no_two_endpoints_share_an_answer(bench: Bench, provider: OpenAITwin) -> None:
    """A request that reads alike at two endpoints is two requests."""
    await bench.post("/v1/responses", {"input": "x", "store": False}, key=bench.key())
    await bench.post("/v1/embeddings", {"input": "x"}, key=bench.key())
    assert [seen.path for seen in provider.requests] == ["/v1/responses", "/v1/embeddings"]
    assert len({row.request_hash for row in await bench.rows(2)}) == 2


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/responses"])
async def test_streamed_and_plain_are_counted_alike(path: str, bench: Bench, provider: OpenAITwin) -> None:
    provider.text = "four, as always"
    await _ask(bench, path)
    streamed = await _ask(bench, path, cell=1, stream=True)
    assert streamed.headers["content-type"] == "text/event-stream"
    rows = await bench.rows(2)
    assert len({(row.tokens_in, row.tokens_out, row.tokens_reasoning, row.finish_reason) for row in rows}) == 1
    assert not any(row.usage_estimated for row in rows)


async def test_without_usage_an_embedding_is_estimated_by_its_input(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(usage=None))
    assert (await _ask(bench, "/v1/embeddings")).status_code == 200
    (row,) = await bench.rows(1)
    assert row.usage_estimated
    assert row.tokens_in > 0
    assert row.tokens_out == 0


async def test_every_choice_of_every_prompt_is_counted(bench: Bench, provider: OpenAITwin) -> None:
    answer = await bench.post("/v1/completions", {"prompt": ["a", "b"], "n": 3}, key=bench.key())
    assert [choice["index"] for choice in answer.json()["choices"]] == list(range(6))
    many = await bench.post("/v1/completions", {"prompt": ["a"] * 100, "n": 2}, key=bench.key())
    assert (many.status_code, many.json()["error"]["code"]) == (403, "parameter_not_allowed")


async def test_a_stream_of_several_choices_is_whole_when_each_has_ended(bench: Bench, provider: OpenAITwin) -> None:
    def chunk(index: int, reason: str | None) -> bytes:
        choice = {"index": index, "text": "x", "finish_reason": reason}
        return b"data: " + json.dumps({"model": MODEL, "choices": [choice]}).encode() + b"\n\n"

    provider.script(
        Fault(events=[chunk(0, None), chunk(0, "length"), chunk(1, None), chunk(1, "stop")]),
        Fault(events=[chunk(0, None), chunk(1, None), chunk(0, "stop")]),
    )
    assert (await _ask(bench, "/v1/completions", n=2, stream=True)).content.endswith(b"data: [DONE]\n\n")
    assert (await bench.facts())["stop_reason"] == "length"  # one of them was cut short
    with pytest.raises(httpx.RemoteProtocolError):
        await _ask(bench, "/v1/completions", cell=1, n=2, stream=True)
    assert (await bench.facts(cell=1))["error_class"] == "provider_error"


@pytest.mark.parametrize(
    ("status", "details", "reason"),
    [
        ("incomplete", {"reason": "max_output_tokens"}, "length"),
        ("incomplete", {"reason": "content_filter"}, "content_filter"),
    ],
)
async def test_responses_tell_why_they_ended(
    status: str, details: Any, reason: str, bench: Bench, provider: OpenAITwin
) -> None:
    provider.script(Fault(extra={"status": status, "incomplete_details": details}))
    assert (await _ask(bench, "/v1/responses")).status_code == 200
    assert (await bench.facts())["stop_reason"] == reason


async def test_a_failed_response_is_the_providers_fault(bench: Bench, provider: OpenAITwin) -> None:
    error = {"code": "server_error", "message": "sorry"}
    provider.script(*[Fault(extra={"status": "failed", "error": error}) for _ in range(4)])
    answer = await _ask(bench, "/v1/responses")
    assert answer.status_code == 502
    facts = await bench.facts()
    assert (facts["error_class"], facts["final"]) == ("provider_error", False)
    assert "sorry" in facts["error_message"]


async def test_a_response_stream_that_breaks_off_is_no_answer(bench: Bench, provider: OpenAITwin) -> None:
    created = b'event: response.created\ndata: {"type":"response.created","response":{"model":"twin-1"}}\n\n'
    failed = b'event: error\ndata: {"type":"error","message":"overloaded"}\n\n'
    provider.script(Fault(events=[created]), Fault(events=[created, failed], trickle=0.05))
    for cell in (0, 1):
        with pytest.raises(httpx.RemoteProtocolError):
            await _ask(bench, "/v1/responses", cell=cell, stream=True)
        assert (await bench.facts(cell=cell))["error_class"] == "provider_error"


CLOSED: list[tuple[str, dict[str, Any]]] = [
    ("/v1/responses", {"store": True}),
    ("/v1/responses", {"previous_response_id": "resp_1"}),
    ("/v1/responses", {"background": True}),
    ("/v1/responses", {"conversation": "conv_1"}),
    ("/v1/responses", {"prompt": {"id": "pmpt_1"}}),
    ("/v1/responses", {"tools": [{"type": "web_search"}]}),
    ("/v1/responses", {"tools": [{"type": "mcp", "server_url": "https://example.org"}]}),
    ("/v1/responses", {"include": ["file_search_call.results"]}),
    ("/v1/responses", {"input": [{"type": "item_reference", "id": "msg_1"}]}),
    ("/v1/responses", {"max_output_tokens": 10**9}),
    ("/v1/completions", {"n": 50}),
    ("/v1/completions", {"best_of": 50}),
    ("/v1/completions", {"messages": []}),
    ("/v1/completions", {"model": "gpt-5-pro"}),
    ("/v1/embeddings", {"dimensions": 10**6}),
    ("/v1/embeddings", {"input": ["x"] * 3000}),
    ("/v1/embeddings", {"tools": []}),
]


async def test_h15_no_endpoint_is_an_open_relay(bench: Bench, provider: OpenAITwin) -> None:
    for path, changes in CLOSED:
        answer = await _ask(bench, path, **changes)
        assert answer.status_code == 403, (path, changes)
        assert answer.json()["error"]["code"] in ("parameter_not_allowed", "model_not_allowed")
    assert provider.requests == []


async def test_it_refuses_what_is_no_such_request(bench: Bench, provider: OpenAITwin) -> None:
    for path, body in (("/v1/completions", {}), ("/v1/embeddings", {"input": 5}), ("/v1/responses", {"input": [5]})):
        assert (await bench.post(path, body, key=bench.key())).status_code == 400, path
    streamed = await _ask(bench, "/v1/embeddings", stream=True)
    assert streamed.json()["error"]["message"] == "stream: there are no streams here"
    assert provider.requests == []


async def test_it_names_the_endpoints_that_a_provider_has(
    shared_gateway: GatewayProcess, provider: OpenAITwin, make_run: Any
) -> None:
    bench = await connect(shared_gateway, await make_run(provider.url, "local"))
    await bench.open()
    answer = await _ask(bench, "/v1/responses")
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == (
        "Local model has no /v1/responses; use /v1/chat/completions or /v1/completions or /v1/embeddings"
    )
    missing = await bench.post("/chat/completions", {}, key=bench.key())
    assert "did you mean /v1/chat/completions?" in missing.json()["error"]["message"]
    await bench.client.close()


# --- tool calls in streams ------------------------------------------------------------------------------------------
CALLS = [
    {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"city": "Paris", "days": 3}'}},
    {"id": "call_2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
]


async def test_streamed_tool_calls_are_kept_and_replayed(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(calls=CALLS))
    first = await bench.chat(stream=True)
    facts = await bench.facts()
    assert facts["stop_reason"] == "tool_calls"
    again = await bench.chat(stream=True, attempt=2)
    assert again.content == first.content
    assert len(provider.requests) == 1
    arguments = ["", ""]
    for line in again.text.splitlines():
        if line.startswith("data: {"):
            for call in (json.loads(line[6:])["choices"] or [{"delta": {}}])[0]["delta"].get("tool_calls", []):
                arguments[call["index"]] += call["function"]["arguments"]
    assert [json.loads(text) for text in arguments] == [{"city": "Paris", "days": 3}, {}]


# --- real clients ---------------------------------------------------------------------------------------------------
async def _both(bench: Bench, provider: OpenAITwin, ask: Any) -> tuple[Any, Any]:
    """Straight and through the gateway."""

    def asked(url: str, key: str) -> Any:
        with openai.OpenAI(base_url=url, api_key=key, timeout=20) as client:
            found = ask(client)
            return [item.model_dump() for item in found] if isinstance(found, list) else found.model_dump()

    straight = await asyncio.to_thread(asked, provider.url, "sk-none")
    return straight, await asyncio.to_thread(asked, f"{bench.url}/v1", bench.key())


async def test_openai_sees_the_same_at_each_endpoint(bench: Bench, provider: OpenAITwin) -> None:
    for ask in (
        lambda client: client.completions.create(model=MODEL, prompt="2+2=", n=2),
        lambda client: list(client.completions.create(model=MODEL, prompt="2+2=", n=2, stream=True)),
        lambda client: client.embeddings.create(model=MODEL, input=["a", "b"], encoding_format="float"),
        lambda client: client.responses.create(model=MODEL, input="2+2?"),
        lambda client: list(client.responses.create(model=MODEL, input="2+2?", stream=True)),
    ):
        straight, through = await _both(bench, provider, ask)
        assert through == straight
