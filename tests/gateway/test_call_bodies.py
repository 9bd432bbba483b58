"""Stored bodies: packed, and streams put together again."""

import json

from runs.call_bodies import assembled, unpack
from runs.providers import simulated_apis
from tests.gateway.conftest import Bench
from tests.gateway.test_apis import CALLS
from tests.twins.openai_twin import Fault, OpenAITwin


async def test_a_stored_stream_gives_the_plain_answer_again(bench: Bench, provider: OpenAITwin) -> None:
    provider.text = "four, as always"
    provider.script(Fault(), Fault(calls=CALLS))
    await bench.chat(stream=True)
    await bench.chat(stream=True, cell=1)
    said, called = [assembled(unpack(row.response)) for row in await bench.rows(2)]
    assert said is not None
    assert called is not None
    assert said["object"] == "chat.completion"
    assert said["choices"] == [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "four, as always"}}
    ]
    assert said["usage"]["completion_tokens"] == 3
    assert called["choices"][0]["message"]["tool_calls"] == CALLS


def test_it_puts_every_endpoints_stream_together() -> None:
    body = {"prompt": ["a", "b"], "input": "a", "messages": [{"role": "user", "content": "a"}]}
    for api in ("chat", "completions", "responses"):
        whole = simulated_apis.answer(api, body)
        again = assembled(b"".join(simulated_apis.chunks(api, body)))
        assert again is not None
        for name in ("choices", "output"):
            for one, other in zip(whole.get(name, []), again.get(name, []), strict=True):
                assert {key: value for key, value in one.items() if value is not None} == other
        assert again["usage"] == whole["usage"]


def test_nothing_makes_nothing() -> None:
    assert assembled(b"") is None
    assert assembled(b": a comment\n\ndata: [DONE]\n\n") is None
    assert assembled(b"data: " + json.dumps([1]).encode() + b"\n\n") is None
