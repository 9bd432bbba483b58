"""Whatever a scorer asks and a provider answers, at any endpoint: it is taken or refused, and nothing falls."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs import providers
from runs.call_bodies import assembled
from runs.gateway.answers import Redactor, Refused
from runs.gateway.apis import table
from runs.gateway.apis.base import Asked
from runs.providers import metering

APIS = [(provider, api) for provider in ("vllm", "anthropic") for api in table.of(providers.get(provider)).values()]
_WORDS = st.sampled_from(
    ("user", "assistant", "system", "tool", "text", "image_url", "function", "stop", "error", "message", "tool_use",
     "response.completed", "content_block_start", "content_block_delta", "message_start", "message_delta", "thinking",
     "json_schema", "completed", "incomplete", "failed", "x", "")
)  # fmt: skip
_NAMES = st.sampled_from(
    ("role", "content", "type", "text", "image_url", "url", "tool_calls", "function", "name", "arguments", "index",
     "delta", "choices", "finish_reason", "usage", "message", "error", "code", "output", "status", "response", "model",
     "input_tokens", "output_tokens", "stop_reason", "content_block", "partial_json", "incomplete_details", "reason",
     "data", "json_schema", "schema", "id", "input", "provider", "output_index")
)  # fmt: skip
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.just(1e300) | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)
_FIELDS = st.sampled_from(
    ("n", "tools", "tool_choice", "stop", "response_format", "temperature", "max_tokens", "parallel_tool_calls",
     "stream", "stream_options", "include", "dimensions", "best_of", "logprobs", "thinking", "store", "modalities")
)  # fmt: skip


class _Client:
    """A connection that takes everything."""

    def begin_stream(self) -> None:
        pass

    def write_chunk(self, data: bytes) -> None:
        pass


@pytest.mark.parametrize(("provider", "api"), APIS, ids=[f"{name}-{api.name}" for name, api in APIS])
@settings(max_examples=150, deadline=None)
@given(asked=_ANY, more=st.dictionaries(_FIELDS, _ANY, max_size=3))
def test_any_request_is_taken_or_refused(provider: str, api: Any, asked: Any, more: Any) -> None:
    raw = json.dumps({api.needs[0]: asked, **more}).encode()
    with contextlib.suppress(Refused):
        made = api.prepare(raw, "m", providers.get(provider), {"temperature": 0.5})
        assert json.loads(made.payload)["model"] == "m"
        assert made.choices >= 1


@pytest.mark.parametrize(("provider", "api"), APIS, ids=[f"{name}-{api.name}" for name, api in APIS])
@settings(max_examples=150, deadline=None)
@given(answer=st.dictionaries(_NAMES, _ANY, max_size=5))
def test_any_answer_is_read_or_is_a_fault(provider: str, api: Any, answer: Any) -> None:
    body, value = api.read(json.dumps(answer).encode())
    json.loads(body)
    if api.fault(value, {}, "The provider") is None:
        told = api.told(value)
        assert told.reason is None or isinstance(told.reason, str)
        used = metering.usage_of(told.usage, providers.get(provider), 8, 8, api.names)
        assert used.tokens_in > 0 or used.tokens_out > 0


@pytest.mark.parametrize(
    ("provider", "api"), [pair for pair in APIS if pair[1].streams], ids=[f"{n}-{a.name}" for n, a in APIS if a.streams]
)
@settings(max_examples=150, deadline=None)
@given(events=st.lists(st.dictionaries(_NAMES, _ANY, max_size=5), max_size=4), secret=st.booleans())
def test_any_stream_is_passed_on_or_broken_off(provider: str, api: Any, events: Any, secret: bool) -> None:
    asked = Asked(b"{}", "", {}, True, True, 1)
    reader = api.events(_Client(), Redactor(b"sk-12345678" if secret else b""), asked)
    try:
        for event in events:
            reader.feed(b"event: x\ndata: " + json.dumps(event).encode() + b"\n\n")
        reader.finish()
    except ValueError:
        pass
    else:
        api.fault(reader.summary(), {}, "The provider")
        api.told(reader.summary())
    assembled(bytes(reader.kept))
