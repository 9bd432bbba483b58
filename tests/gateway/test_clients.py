"""Real clients: what they see through the gateway is what they see at the provider itself."""

import asyncio
from collections.abc import Callable
from typing import Any

import openai
import pytest
import requests

from tests.gateway.conftest import MODEL, Bench
from tests.twins.openai_twin import Fault, OpenAITwin

MESSAGES: list[Any] = [{"role": "user", "content": "2+2?"}]
TOOL_CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
ANSWERS = {
    "plain": Fault(text="four, of course"),
    "tools": Fault(message={"content": None, "tool_calls": [TOOL_CALL]}),
    "unicode": Fault(text="vier – 四 – \U0001f600"),
    "bad request": Fault(400),
    "no such model": Fault(404),
}


async def _both(bench: Bench, provider: OpenAITwin, fault: Fault, ask: Callable[[str, str], Any]) -> tuple[Any, Any]:
    """The same question with the same answer, straight and through the gateway."""
    provider.script(fault, fault)
    straight = await asyncio.to_thread(ask, provider.url, "sk-none")
    through = await asyncio.to_thread(ask, f"{bench.url}/v1", bench.key())
    return straight, through


@pytest.mark.parametrize("name", ANSWERS)
async def test_requests_sees_the_same(name: str, bench: Bench, provider: OpenAITwin) -> None:
    def ask(url: str, key: str) -> Any:
        with requests.Session() as session:
            session.trust_env = False
            answer = session.post(
                f"{url}/chat/completions",
                headers={"Authorization": f"Bearer {key}"},
                json={"model": MODEL, "messages": MESSAGES},
                timeout=20,
            )
        body = answer.json()
        body.pop("id", None)
        return answer.status_code, answer.headers["content-type"], body

    straight, through = await _both(bench, provider, ANSWERS[name], ask)
    assert through == straight


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("stream", [False, True])
async def test_openai_sees_the_same(stream: bool, name: str, bench: Bench, provider: OpenAITwin) -> None:
    def ask(url: str, key: str) -> Any:
        with openai.OpenAI(base_url=url, api_key=key, timeout=20) as client:
            try:
                answer: Any = client.chat.completions.create(model=MODEL, messages=MESSAGES, stream=stream)
                if stream:
                    return [chunk.model_dump(exclude={"id"}) for chunk in answer]
                return answer.model_dump(exclude={"id"})
            except openai.APIStatusError as bad:
                return type(bad), bad.status_code, bad.body

    straight, through = await _both(bench, provider, ANSWERS[name], ask)
    assert through == straight


async def test_openai_does_not_retry_what_we_have_retried(bench: Bench, provider: OpenAITwin) -> None:
    provider.always = lambda seen: Fault(429, {"retry-after": "0.01"})

    def ask() -> int:
        client = openai.OpenAI(base_url=f"{bench.url}/v1", api_key=bench.key(), timeout=20, max_retries=5)
        with client, pytest.raises(openai.RateLimitError):
            client.chat.completions.create(model=MODEL, messages=MESSAGES)
        return len(provider.requests)

    assert await asyncio.to_thread(ask) == 4  # the gateway's tries


async def test_openai_notices_a_cut_stream(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(text="a long answer " * 50, cut_after=4000))

    def ask() -> str:
        said = ""
        client = openai.OpenAI(base_url=f"{bench.url}/v1", api_key=bench.key(), timeout=20)
        with client, pytest.raises(openai.APIConnectionError):
            for chunk in client.chat.completions.create(model=MODEL, messages=MESSAGES, stream=True):
                said += chunk.choices[0].delta.content or ""
        return said

    assert (await asyncio.to_thread(ask)).startswith("a long answer")


async def test_openai_lists_the_one_model(bench: Bench) -> None:
    def ask() -> list[str]:
        with openai.OpenAI(base_url=f"{bench.url}/v1", api_key=bench.key(), timeout=20) as client:
            return [model.id for model in client.models.list()]

    assert await asyncio.to_thread(ask) == [MODEL]
