"""Each shipped provider by its own wire: where calls go, with which header, which parameters, at what cost."""

import json
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from accounts.models import User
from runs import providers
from runs.call_bodies import unpack
from runs.gateway.apis.chat import Chat
from runs.gateway.apis.messages import Messages
from runs.gateway.books import LeaseRefused, target
from tests.gateway.conftest import Bench, GatewayProcess, connect, secret_key
from tests.twins.anthropic_twin import USED, stream
from tests.twins.openai_twin import Fault, OpenAITwin
from tests.twins.wires import WIRES, judge


@pytest.fixture
async def wired(shared_gateway: GatewayProcess, make_run: Any) -> AsyncIterator[Callable[..., Any]]:
    """``await wired("groq")``: a lease of a keyed run of that provider, and its twin."""
    twins: list[OpenAITwin] = []
    benches: list[Bench] = []

    async def make(name: str, model: str = "") -> tuple[Bench, OpenAITwin]:
        twin, wire = OpenAITwin(), WIRES[name]
        await twin.start(port=shared_gateway.keyed_port if name == "openai" else shared_gateway.wires_port)
        twins.append(twin)
        twin.always = judge(name, wire)
        owner = await User.objects.acreate(email=f"{uuid.uuid4().hex}@example.org")
        run = await make_run(shared_gateway.urls[name], name, owner=owner, sut_key=await secret_key(owner))
        run.sut["model"] = model or wire.model
        await run.asave(update_fields=["sut"])
        benches.append(await (await connect(shared_gateway, run)).open())
        return benches[-1], twin

    yield make
    for bench in benches:
        await bench.client.close()
    for twin in twins:
        await twin.stop()
    await sync_to_async(connections.close_all)()  # the thread's connection would keep the test database open


def _said(text: str) -> str:
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"])


@pytest.mark.parametrize("name", WIRES)
async def test_it_speaks_each_providers_wire(name: str, wired: Any) -> None:
    """What a scorer sends to one provider it can send to all: plain and streamed, with the same account and cost."""
    bench, twin = await wired(name)
    wire = WIRES[name]
    asked: dict[str, Any] = {"model": wire.model, "max_tokens": 50, "temperature": 0, "top_p": 0.9, "stop": ["\n"]}
    if name not in ("google", "deepseek"):
        asked["seed"] = 7
    plain = await bench.chat(**asked)
    assert plain.status_code == 200, plain.text
    assert plain.json()["choices"][0]["message"]["content"] == "four"
    asked["max_completion_tokens"] = asked.pop("max_tokens")
    if name in ("google", "groq", "openrouter"):
        asked["max_tokens"] = asked.pop("max_completion_tokens")
    streamed = await bench.chat(**asked, stream=True, cell=1)
    assert streamed.status_code == 200, streamed.text
    assert _said(streamed.text) == "four"
    rows = await bench.rows(2)
    if name == "mistral":  # it tells usage in a stream without being asked; the twin, like OpenAI, only then
        rows = [row for row in rows if not row.streamed]
    for row in rows:
        assert (row.cost, row.usage_estimated, row.finish_reason) == (wire.micro_cents, False, "stop"), name
        assert row.priced_by
        assert row.model_served == (wire.served or wire.model)
        assert providers.same_model(name, wire.model, row.model_served)
    assert rows[0].upstream == ("DeepInfra" if name == "openrouter" else name)
    assert all(seen.headers[wire.header] == wire.auth for seen in twin.requests)


async def test_models_that_reason_get_no_temperature(wired: Any) -> None:
    bench, twin = await wired("azure", "o3-mini")
    assert (await bench.chat(model="o3-mini", temperature=0, top_p=1, max_tokens=9)).status_code == 200
    assert twin.requests[0].body.keys() == {"model", "messages", "max_completion_tokens"}


@pytest.mark.parametrize(
    ("provider", "model", "kept"),
    [
        ("openai", "gpt-4o", True), ("openai", "gpt-5-chat-latest", True), ("openai", "gpt-5-mini", False),
        ("openai", "o4-mini", False), ("openrouter", "openai/o4-mini", True), ("anthropic", "claude-sonnet-4-5", True),
        ("anthropic", "claude-opus-4-6", True), ("anthropic", "claude-opus-4-7", False),
        ("anthropic", "claude-sonnet-5", False), ("anthropic", "claude-haiku-4-5-20251001", True),
    ],
)  # fmt: skip
def test_it_knows_which_models_refuse_a_temperature(provider: str, model: str, kept: bool) -> None:
    api = Messages() if provider == "anthropic" else Chat()
    raw = json.dumps({"messages": [], "temperature": 0}).encode()
    assert ("temperature" in api.prepare(raw, model, providers.get(provider), {}).body) is kept
    owned = api.prepare(raw, model, providers.get(provider), {"temperature": 1})
    assert owned.body["temperature"] == 1  # what the run's owner asks for goes out as it is


@pytest.mark.parametrize(
    ("provider", "sent"),
    [
        ("openai", {"max_completion_tokens": 5, "seed": 1}),
        ("azure", {"max_completion_tokens": 5, "seed": 1}),
        ("mistral", {"max_tokens": 5, "random_seed": 1}),
        ("together", {"max_tokens": 5, "seed": 1}),
        ("fireworks", {"max_tokens": 5, "seed": 1}),
        ("deepseek", {"max_tokens": 5, "seed": 1}),
        ("ollama", {"max_tokens": 5, "seed": 1}),
        ("anthropic", {"max_tokens": 5}),
    ],
)
def test_whichever_name_a_scorer_uses_the_provider_gets_its_own(provider: str, sent: dict[str, int]) -> None:
    api = Messages() if provider == "anthropic" else Chat()
    for name in ("max_tokens", "max_completion_tokens"):
        raw = json.dumps({"messages": [], name: 5, "seed": 1}).encode()
        body = api.prepare(raw, "m", providers.get(provider), {}).body
        assert {key: value for key, value in body.items() if key not in ("model", "messages")} == sent


async def test_a_wrong_key_is_the_owners_to_see(wired: Any) -> None:
    bench, twin = await wired("anthropic")
    twin.always = lambda seen: Fault(
        401, body=b'{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'
    )
    answer = await bench.chat(model=WIRES["anthropic"].model)
    assert (answer.status_code, answer.json()["error"]["message"]) == (401, "invalid x-api-key")
    facts = await bench.facts()
    assert facts["error_message"] == "Anthropic rejected the key (401): invalid x-api-key"
    assert facts["final"]


# --- Azure ----------------------------------------------------------------------------------------------------------
AZURE_KEY = {"kind": "secret", "host": "me.openai.azure.com", "inject_kind": "bearer", "inject_target": ""}


def test_azures_older_addresses_name_the_deployment_and_a_version() -> None:
    base = "https://me.openai.azure.com/openai?api-version=2024-10-21"
    found = target(providers.get("azure"), base, AZURE_KEY, b"k-1", "my gpt")
    assert found.heads["chat"].startswith(
        b"POST /openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21 HTTP/1.1\r\n"
        b"host: me.openai.azure.com\r\n"
    )
    assert b"api-key: k-1\r\n" in found.heads["embeddings"]
    newer = target(providers.get("azure"), "https://me.openai.azure.com/openai/v1", AZURE_KEY, b"k-1", "my gpt")
    assert newer.heads["responses"].startswith(b"POST /openai/v1/responses HTTP/1.1\r\n")


@pytest.mark.parametrize("query", ["?api-version=1&x=2", "?x=1", "?api-version=a%0d%0ab"])
def test_no_other_query_is_taken(query: str) -> None:
    for name in ("azure", "openai"):
        key = {**AZURE_KEY, "host": "me.openai.azure.com"}
        with pytest.raises(LeaseRefused) as no:
            target(providers.get(name), f"https://me.openai.azure.com/openai{query}", key, b"k-1", "m")
        assert no.value.code == "bad_base_url"


# --- Anthropic ------------------------------------------------------------------------------------------------------
TOOL = {
    "type": "function",
    "function": {"name": "weather", "description": "of a city", "strict": True, "parameters": {"type": "object"}},
}
CALL = {"id": "toolu_0", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
PNG = "data:image/png;base64,aGk="


async def test_a_conversation_reaches_claude_in_its_own_words(wired: Any) -> None:
    bench, twin = await wired("anthropic")
    messages = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": PNG}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "toolu_0", "content": "sunny"},
        {"role": "user", "content": "And in Paris?"},
        {"role": "developer", "content": "In French."},
    ]
    body = {
        "model": WIRES["anthropic"].model, "messages": messages, "tools": [TOOL], "parallel_tool_calls": False,
        "tool_choice": {"type": "function", "function": {"name": "weather"}}, "stop": "END", "n": 1,
        "presence_penalty": 0, "seed": 3, "user": "me",
    }  # fmt: skip
    answer = await bench.post("/v1/chat/completions", body, key=bench.key())
    assert answer.status_code == 200, answer.text
    (call,) = answer.json()["choices"][0]["message"]["tool_calls"]
    assert (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) == (
        "toolu_1", "weather", {"city": "Paris"},
    )  # fmt: skip
    assert answer.json()["choices"][0]["finish_reason"] == "tool_calls"
    sent = twin.requests[0].body
    assert sent == {
        "model": WIRES["anthropic"].model,
        "max_tokens": 8192,
        "system": "Be brief.\n\nIn French.",
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "Look."},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
            ]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_0", "name": "weather", "input": {"city": "Rome"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_0", "content": "sunny"},
                {"type": "text", "text": "And in Paris?"},
            ]},
        ],
        "stop_sequences": ["END"],
        "tools": [{"name": "weather", "description": "of a city", "strict": True, "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "tool", "name": "weather", "disable_parallel_tool_use": True},
    }  # fmt: skip
    (row,) = await bench.rows(1)
    assert json.loads(unpack(row.request)) == sent  # the journal keeps what really went out
    assert json.loads(unpack(row.response))["type"] == "message"
    assert (row.tokens_in, row.tokens_cached, row.tokens_out) == (3000, 2000, USED["output_tokens"])


async def test_claudes_stream_is_one_of_chunks_and_replays_the_same(wired: Any) -> None:
    bench, twin = await wired("anthropic")
    asked = {"model": WIRES["anthropic"].model, "tools": [TOOL], "thinking": {"type": "enabled", "budget_tokens": 1024},
             "stream_options": {"include_usage": True}}  # fmt: skip
    first = await bench.chat(**asked, stream=True)
    chunks = [json.loads(line[6:]) for line in first.text.splitlines() if line.startswith("data: {")]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "two and two"
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    assert {call["index"] for call in calls} == {0}
    assert calls[0]["function"]["name"] == "weather"
    assert json.loads("".join(call["function"]["arguments"] for call in calls)) == {"city": "Paris"}
    assert chunks[-1]["usage"]["prompt_tokens_details"] == {"cached_tokens": 2000}
    assert first.content.endswith(b"data: [DONE]\n\n")
    facts = await bench.facts()
    assert (facts["tokens_in"], facts["tokens_out"], facts["stop_reason"]) == (3000, 760, "tool_calls")
    again = await bench.chat(**asked, stream=True, attempt=2)
    assert again.content == first.content
    assert len(twin.requests) == 1
    plain = await bench.chat(**{**asked, "stream_options": None}, cell=1)
    replayed = await bench.chat(**{**asked, "stream_options": None}, cell=1, attempt=2)
    assert replayed.json() == plain.json()
    assert plain.json()["choices"][0]["message"]["reasoning_content"] == "two and two"


async def test_what_claude_has_no_word_for_is_refused_and_never_dropped(wired: Any) -> None:
    bench, twin = await wired("anthropic")
    model = WIRES["anthropic"].model
    for changes, name in (
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"presence_penalty": 0.5}, "presence_penalty"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"temperature": 1.5}, "temperature"),
    ):
        answer = await bench.chat(model=model, **changes)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["param"]) == (400, "unsupported_parameter", name)
        assert "Anthropic" in error["message"]
    bad = await bench.post(
        "/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, key=bench.key()
    )
    assert (bad.status_code, bad.json()["error"]["code"]) == (400, "invalid_request")
    assert twin.requests == []
    schema = {"type": "object", "properties": {}}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    assert (await bench.chat(model=model, response_format=wanted)).status_code == 200
    assert twin.requests[0].body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}


def test_the_owner_may_use_anthropics_own_parameters() -> None:
    params = {"output_config": {"effort": "high"}, "max_tokens": 9, "system": "not this way", "metadata": None}
    raw = json.dumps({"messages": [{"role": "user", "content": "hi"}], "max_completion_tokens": 50}).encode()
    body = Messages().prepare(raw, "claude-x", providers.get("anthropic"), params).body
    assert body == {
        "model": "claude-x",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "output_config": {"effort": "high"},
    }


async def test_claudes_faults_are_faults(wired: Any) -> None:
    bench, twin = await wired("anthropic")
    model = WIRES["anthropic"].model
    overloaded = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    good = twin.always
    twin.always = None
    twin.script(Fault(529, body=overloaded), Fault(body=b'{"type":"message","content":null}'), Fault(body=overloaded))
    twin.script(Fault(body=b'{"type":"message","content":[],"stop_reason":"refusal"}'))
    refused = await bench.chat(model=model)
    assert refused.json()["choices"][0]["message"]["content"] == ""
    assert [retry["status"] for retry in bench.retries] == [529, 502, 502]
    assert (await bench.facts())["stop_reason"] == "content_filter"
    message = {"id": "m", "model": model, "content": [{"type": "text", "text": "abc"}], "stop_reason": "end_turn",
               "usage": USED}  # fmt: skip
    broken = b"event: error\ndata: " + overloaded + b"\n\n"
    twin.script(Fault(events=[*stream(message)[:4], broken], trickle=0.02))
    with pytest.raises(Exception, match="peer closed connection"):
        await bench.chat(model=model, stream=True, cell=1)
    facts = await bench.facts(cell=1)
    assert (facts["unresolved"], facts["error_class"]) == (True, "provider_error")
    assert good is not None
