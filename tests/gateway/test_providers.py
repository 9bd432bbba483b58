"""Providers are data: names, hosts, prices, and what is made of their usage."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import providers
from runs.gateway.apis.chat import Chat
from runs.providers import metering, prices, simulated, simulated_apis
from runs.providers.metering import EMBEDDINGS, RESPONSES
from tests.gateway.conftest import GatewayProcess, connect

SHIPPED = (
    "anthropic azure deepseek fireworks google groq local mistral ollama openai openrouter simulated together vllm"
).split()
OPENAI, OPENROUTER = providers.get("openai"), providers.get("openrouter")


def test_it_ships_the_promised_providers() -> None:
    assert providers.names() == SHIPPED
    for name in SHIPPED:
        base = providers.base_url(name)
        assert not base.endswith("/")
        assert base.startswith("https://") or providers.get(name).free or name == "azure"


def test_it_lists_the_known_names_for_an_unknown_one() -> None:
    with pytest.raises(KeyError, match="no provider 'opnai'; known: anthropic, azure"):
        providers.get("opnai")


def test_the_operator_moves_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BW_PROVIDER_OPENAI_BASE_URL", "http://127.0.0.1:9/v1/")
    monkeypatch.setenv("BW_PROVIDER_AZURE_BASE_URL", "https://me.openai.azure.com/openai/v1")
    monkeypatch.setenv("BW_PROVIDER_VLLM_BASE_URL", "http://gpu.internal:8000/v1")
    assert providers.base_url("openai") == "http://127.0.0.1:9/v1"
    assert providers.is_overridden("openai")
    assert providers.host("openai") == "api.openai.com"  # users' rules still name the provider
    assert providers.host("azure") == "me.openai.azure.com"
    assert providers.host("vllm") == "gpu.internal"
    assert not providers.is_overridden("groq")


@pytest.mark.parametrize(
    ("provider", "asked", "served", "same"),
    [
        ("openai", "gpt-4o", "gpt-4o-2024-08-06", True),
        ("openai", "gpt-4o", "gpt-4o", True),
        ("openai", "gpt-4o", "gpt-4o-mini", False),
        ("openai", "gpt-4o", "gpt-4o-mini-2024-07-18", False),
        ("anthropic", "claude-sonnet-4", "claude-sonnet-4-20250514", True),
        ("anthropic", "claude-sonnet-4", "claude-opus-4-20250514", False),
        ("google", "gemini-2.0-flash", "models/gemini-2.0-flash-001", True),
        ("mistral", "mistral-large-latest", "mistral-large-2411", True),
        ("openrouter", "openai/gpt-4o", "openai/gpt-4o", True),
        ("local", "SmolLM2", "smollm2", True),
    ],
)
def test_it_knows_a_dated_snapshot_from_another_model(provider: str, asked: str, served: str, same: bool) -> None:
    assert providers.same_model(provider, asked, served) is same


# --- money ----------------------------------------------------------------------------------------------------------
def _cost(
    usage: dict[str, Any] | None, provider: Any = OPENAI, model: str = "gpt-4o", served: str | None = None
) -> Any:
    found = metering.usage_of(usage, provider, 400, 80)
    return metering.cost_of(found, provider, model, served)


def test_it_prices_by_the_versioned_table() -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 200}
    # 1000 × $2.50/M + 200 × $10/M = $0.0045
    assert _cost(usage) == (450_000, prices.VERSION)
    assert _cost({**usage, "prompt_tokens_details": {"cached_tokens": 400}}) == (400_000, prices.VERSION)
    assert _cost(usage, served="gpt-4o-2024-08-06") == (450_000, prices.VERSION)
    assert _cost(usage, served="gpt-4o-mini-2024-07-18") == (27_000, prices.VERSION)
    assert _cost(usage, model="some-new-model") == (None, None)
    assert _cost(usage, providers.get("local")) == (0, "free")


def test_it_believes_a_reported_cost_only_where_providers_report() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "cost": 0.00012345}
    assert _cost(usage, OPENROUTER) == (12_345, "reported")
    assert _cost({**usage, "cost": "0.1"}, OPENROUTER) == (10_000_000, "reported")
    assert _cost(usage) != (12_345, "reported")
    for odd in (-1, True, "much", [], float("1e9"), None):
        assert _cost({**usage, "cost": odd}, OPENROUTER) == (None, None)


def test_it_asks_openrouter_for_the_cost_and_openai_for_what_it_calls_tokens() -> None:
    raw = json.dumps({"messages": [], "max_tokens": 5}).encode()
    assert Chat().prepare(raw, "m", OPENROUTER, {}).body["usage"] == {"include": True}
    assert Chat().prepare(raw, "m", OPENAI, {}).body == {"messages": [], "model": "m", "max_completion_tokens": 5}
    streamed = json.dumps({"messages": [], "stream": True}).encode()
    assert "stream_options" not in Chat().prepare(streamed, "m", providers.get("mistral"), {}).body


def test_thinking_that_is_counted_beside_the_answer_is_paid_too() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115}
    found = metering.usage_of({**usage, "completion_tokens_details": {"reasoning_tokens": 100}}, OPENAI, 1, 1)
    assert (found.tokens_out, found.reasoning) == (105, 100)


_ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_NAMES = ("prompt_tokens", "completion_tokens", "total_tokens", "cost", "prompt_tokens_details")


@given(usage=st.dictionaries(st.sampled_from(_NAMES), _ODD) | _ODD)
def test_it_makes_something_of_any_usage(usage: Any) -> None:
    for provider in (OPENAI, OPENROUTER):
        found = metering.usage_of(usage, provider, 400, 80)
        cost, _ = metering.cost_of(found, provider, "gpt-4o", None)
        assert 0 <= found.tokens_in < 1 << 31
        assert 0 <= found.tokens_out < 1 << 31
        assert found.cached <= found.tokens_in
        assert found.tokens_in + found.tokens_out > 0
        assert cost is None or (isinstance(cost, int) and 0 <= cost < 1 << 63)


# --- simulated ------------------------------------------------------------------------------------------------------
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"enum": ["C", "F"]},
                "places": {"type": "array", "items": {"type": "string"}}, "more": {"type": "string"},
            },
            "required": ["city", "days", "unit", "places"],
        },
    },
}  # fmt: skip


def test_the_simulated_model_fills_a_functions_parameters() -> None:
    body = {"messages": [{"role": "user", "content": "Weather in Paris for 3 days?"}], "tools": [TOOL]}
    answer = simulated.chat(body)
    assert answer == simulated.chat(body)
    assert answer["model"] == "simulated"
    (call,) = answer["choices"][0]["message"]["tool_calls"]
    assert call["function"]["name"] == "weather"
    assert json.loads(call["function"]["arguments"]) == {"city": "Paris", "days": 3, "unit": "C", "places": ["Paris"]}
    assert answer["choices"][0]["finish_reason"] == "tool_calls"


def test_the_simulated_model_fits_a_schema() -> None:
    schema = {"type": "object", "properties": {"a": {"const": 7}, "b": {"type": "boolean"}}, "required": ["a", "b"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    answer = simulated.chat({"messages": [], "response_format": wanted})
    assert json.loads(answer["choices"][0]["message"]["content"]) == {"a": 7, "b": True}


@given(schema=_ODD, content=_ODD)
def test_the_simulated_model_survives_any_request(schema: Any, content: Any) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    json.dumps(simulated.chat({"messages": [{"content": content}], "tools": [tool]}))
    json.dumps(simulated.chat({"messages": content, "tools": schema, "response_format": schema}))


async def test_the_simulated_model_answers_through_the_gateway(shared_gateway: GatewayProcess, make_run: Any) -> None:
    bench = await connect(shared_gateway, await make_run(provider="simulated"))
    await bench.open()
    plain, streamed = await asyncio.gather(bench.chat(cell=0), bench.chat(cell=1, stream=True))
    said = plain.json()["choices"][0]["message"]["content"]
    assert said.startswith("Simulated answer")
    assert said in streamed.text
    facts = await bench.facts()
    assert (facts["cost"], facts["served"], facts["unpriced"]) == (0, "simulated", 0)
    assert facts["tokens_in"] > 0
    await bench.client.close()


# --- prices are a snapshot ------------------------------------------------------------------------------------------
def test_every_price_says_where_it_is_from() -> None:
    page = (Path(__file__).parents[2] / "docs" / "providers.md").read_text()
    assert prices.SOURCES.keys() == prices.PRICES.keys()
    for name, source in prices.SOURCES.items():
        assert f"| `{name}` | {source.url} | {source.month} |" in page
    assert prices.VERSION in page


def test_embeddings_cost_their_input_only() -> None:
    found = metering.usage_of({"prompt_tokens": 1_000_000, "total_tokens": 1_000_000}, OPENAI, 1, 1, EMBEDDINGS)
    assert (found.tokens_in, found.tokens_out) == (1_000_000, 0)
    assert metering.cost_of(found, OPENAI, "text-embedding-3-small", None) == (2_000_000, prices.VERSION)


def test_responses_call_their_tokens_otherwise() -> None:
    told = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 17}  # fmt: skip
    assert metering.usage_of(told, OPENAI, 1, 1, RESPONSES)[:5] == (10, 7, 4, 5, None)
    assert metering.usage_of(told, OPENAI, 1, 1).estimated  # in the words of chat it says nothing


@pytest.mark.parametrize("api", ["chat", "completions", "responses"])
def test_the_simulated_model_says_the_same_at_each_endpoint_plain_and_streamed(api: str) -> None:
    question = "What is 2+2?"
    body = {"messages": [{"role": "user", "content": question}], "prompt": question, "input": question}
    answer = simulated_apis.answer(api, body)
    stream = b"".join(simulated_apis.chunks(api, body))
    assert answer["model"] == "simulated"
    assert answer == simulated_apis.answer(api, body)
    said = {
        "chat": lambda: answer["choices"][0]["message"]["content"],
        "completions": lambda: answer["choices"][0]["text"],
        "responses": lambda: answer["output"][0]["content"][0]["text"],
    }[api]()
    assert said.startswith("Simulated answer")
    assert said.encode() in stream


def test_simulated_vectors_have_length_one() -> None:
    answer = simulated_apis.answer("embeddings", {"input": ["a", "b"], "dimensions": 40})
    first, second = (item["embedding"] for item in answer["data"])
    assert first != second
    assert len(first) == 40
    assert sum(value * value for value in first) == pytest.approx(1)


def test_f04_an_estimate_counts_what_was_said_and_nothing_around_it() -> None:
    sent = b'{"model":"m","temperature":0,"messages":[{"role":"user","content":"twelve bytes"}]}'
    heard = (
        b'{"id":"chatcmpl-1","object":"chat.completion","choices":[{"message":{"role":"assistant","content":"yes!"}}]}'
    )
    assert metering.usage_of(None, OPENAI, sent, heard)[:2] == (3, 1)
    assert metering.usage_of(None, OPENAI, b"not JSON, 20 bytes..", heard).estimated
