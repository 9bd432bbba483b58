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


async def test_it_closes_one_attempt_and_leaves_the_others_alone(bench: Bench, provider: OpenAITwin) -> None:
    provider.always = lambda seen: Fault(delay=0.5)
    warm = [bench.chat(f"w{n}", cell=100 + n) for n in range(8)]
    await asyncio.gather(*warm)  # the next calls find connections and need no task
    calls = [asyncio.create_task(bench.chat(f"q{n}", cell=n)) for n in range(8)]
    async with asyncio.timeout(10):
        while len(provider.requests) < 16:
            await asyncio.sleep(0.01)
    closed = await bench.client.facts(bench.lease, [(0, 1), (1, 1)])
    assert [(facts["calls"], facts["error_class"]) for facts in closed] == [(1, "timeout")] * 2
    assert [(await call).status_code for call in calls] == [401, 401, *[200] * 6]
    waited, under_way = await bench.client.waited(bench.lease, [(2, 1)])
    assert (waited, under_way) == ([0], [0])
    assert (await bench.facts(cell=2))["calls"] == 1
    assert sorted(row.status for row in await bench.rows(16)) == ["settled"] * 14 + ["unknown"] * 2


async def test_it_retries_on_a_connection_that_served_before(bench: Bench, provider: OpenAITwin) -> None:
    assert (await bench.chat("first")).status_code == 200
    provider.script(Fault(500), Fault(hang_up=True), Fault(text="good"))
    answer = await bench.chat("second", cell=1)
    assert answer.json()["choices"][0]["message"]["content"] == "good"
    assert [retry["status"] for retry in bench.retries] == [500, 502]
    facts = await bench.facts(cell=1)
    assert (facts["calls"], facts["failed"], facts["unresolved"]) == (1, 0, False)
    provider.script(Fault(400))
    assert (await bench.chat("third", cell=2)).status_code == 400
    assert (await bench.facts(cell=2))["final"]
    assert [row.tries for row in await bench.rows(3)] == [1, 3, 1]
