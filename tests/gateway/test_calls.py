"""What a scorer sees of the gateway, and what the journal keeps of it."""

import asyncio

from runs.call_bodies import unpack
from tests.gateway.conftest import MODEL, Bench, connect
from tests.twins.openai_twin import Fault, OpenAITwin


async def test_it_forwards_a_call_and_keeps_its_account(bench: Bench, provider: OpenAITwin) -> None:
    answer = await bench.chat("2+2?")
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["content"] == "four"
    facts = await bench.facts()
    assert facts["known"]
    assert (facts["calls"], facts["failed"], facts["unresolved"]) == (1, 0, False)
    assert facts["tokens_in"] > 0
    assert facts["tokens_out"] > 0
    assert (facts["cost"], facts["unpriced"], facts["served"], facts["stop_reason"]) == (0, 0, MODEL, "stop")
    (row,) = await bench.rows(1)
    assert (row.status, row.http_status, row.occurrence, row.attempt) == ("settled", 200, 0, 1)
    assert unpack(row.response) == answer.content
    assert b"2+2?" in unpack(row.request)


async def test_it_uses_one_connection_for_calls_in_turn(bench: Bench, provider: OpenAITwin) -> None:
    for number in range(5):
        assert (await bench.chat(f"question {number}", cell=number)).status_code == 200
    assert provider.connections == 1


async def test_it_never_shares_a_connection_between_runs(bench: Bench, provider: OpenAITwin, make_run) -> None:  # type: ignore[no-untyped-def]
    other = await connect(bench.gateway, await make_run(provider.url))
    await other.open()
    await bench.chat()
    await other.chat()
    await other.client.close()
    assert provider.connections == 2


async def test_it_retries_what_a_provider_refuses_for_now(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(429, {"retry-after": "0.2"}), Fault(500), Fault(hang_up=True))
    answer = await bench.chat()
    assert answer.status_code == 200
    assert len(provider.requests) == 4
    assert [(retry["status"], retry["try"]) for retry in bench.retries] == [(429, 1), (500, 2), (502, 3)]
    facts = await bench.facts()
    assert (facts["calls"], facts["failed"]) == (1, 0)
    assert facts["waited_ms"] >= 200
    (row,) = await bench.rows(1)
    assert row.tries == 4


async def test_it_hands_on_the_error_when_tries_are_used_up(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(*[Fault(429, {"retry-after": "0.01"}) for _ in range(4)])
    answer = await bench.chat()
    assert answer.status_code == 429
    assert answer.json()["error"]["message"] == "the twin says 429"
    assert answer.headers["x-should-retry"] == "false"
    facts = await bench.facts()
    assert (facts["unresolved"], facts["error_class"], facts["cost"]) == (True, "rate_limited", 0)
    assert not facts["final"]
    (row,) = await bench.rows(1)
    assert (row.status, row.error_class, row.tries) == ("failed", "rate_limited", 4)


async def test_it_does_not_repeat_a_request_that_is_wrong(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(400))
    assert (await bench.chat()).status_code == 400
    assert len(provider.requests) == 1
    facts = await bench.facts()
    assert facts["error_class"] == "provider_error"
    assert "the twin says 400" in facts["error_message"]
    assert facts["final"]


async def test_it_streams_and_hides_the_usage_that_nobody_asked_for(bench: Bench, provider: OpenAITwin) -> None:
    answer = await bench.chat(stream=True)
    assert answer.headers["content-type"] == "text/event-stream"
    assert provider.requests[0].body["stream_options"] == {"include_usage": True}
    assert b'"usage"' not in answer.content
    assert answer.content.endswith(b"data: [DONE]\n\n")
    facts = await bench.facts()
    assert facts["tokens_out"] == 1
    shown = await bench.chat(stream=True, stream_options={"include_usage": True}, cell=1)
    assert b'"usage"' in shown.content


async def test_it_runs_calls_side_by_side(bench: Bench, provider: OpenAITwin) -> None:
    provider.always = lambda seen: Fault(delay=0.1)
    await asyncio.gather(*(bench.chat(f"q{n}", cell=n) for n in range(20)))
    assert provider.most_in_flight == 20
    assert len(await bench.rows(20)) == 20
