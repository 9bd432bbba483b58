"""Odd providers: what comes back is metered, mended or refused, and never makes the gateway fall."""

import asyncio
import json
import os
import signal
from typing import Any

import httpx
import pytest

from runs.call_bodies import pack, unpack
from runs.gateway.answers import retry_after
from runs.gateway.apis.chat import Chat
from tests.gateway.conftest import Bench, GatewayProcess, arrived, connect
from tests.twins.openai_twin import Fault, OpenAITwin

CHOICES = [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]


async def test_f04_without_usage_the_call_is_estimated_and_says_so(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(usage=None, text="word " * 40), Fault(usage={"prompt_tokens": "many"}), Fault(usage=[]))
    for cell in range(3):
        await bench.chat(cell=cell)
    for row in await bench.rows(3):
        assert row.usage_estimated
        assert row.tokens_in > 0
        assert row.tokens_out > 0
    assert (await bench.facts())["tokens_out"] >= 50


async def test_f04_a_cut_stream_counts_what_was_delivered(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(text="a long answer " * 50, cut_after=4000))
    with pytest.raises(httpx.RemoteProtocolError):
        await bench.chat(stream=True)
    assert len(provider.requests) == 1  # never again after the first byte
    facts = await bench.facts()
    assert (facts["failed"], facts["unresolved"], facts["error_class"]) == (1, True, "provider_error")
    (row,) = await bench.rows(1)
    assert (row.status, row.usage_estimated) == ("failed", True)
    assert 0 < row.tokens_out < 200
    assert b"a long" not in unpack(row.response)[:20]


async def test_f05_streamed_and_plain_cost_the_same(bench: Bench, provider: OpenAITwin) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    provider.script(Fault(usage=usage), Fault(usage=usage))
    await bench.chat(cell=0)
    await bench.chat(cell=1, stream=True)
    rows = await bench.rows(2)
    assert {(row.tokens_in, row.tokens_out, row.cost, row.priced_by) for row in rows} == {(1000, 100, 0, "free")}


async def test_f06_a_failure_before_the_first_byte_costs_nothing(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(403))
    await bench.chat()
    facts = await bench.facts()
    assert (facts["cost"], facts["tokens_in"], facts["unpriced"]) == (0, 0, 0)
    assert "rejected the key" in facts["error_message"]


async def test_it_mends_what_scorers_trip_over(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(message={"tool_calls": None}))
    answer = await bench.chat()
    assert "tool_calls" not in answer.json()["choices"][0]["message"]
    assert b"tool_calls" in unpack((await bench.rows(1))[0].response)  # the raw one is kept


async def test_it_mends_odd_json_and_keeps_the_raw(bench: Bench, provider: OpenAITwin) -> None:
    raw = (
        b'{"choices":[{"message":{"content":"a\xff\\ud800b"},"logprob":NaN,"finish_reason":"stop"}],"big":%d}' % 10**30
    )
    provider.script(Fault(body=raw))
    answer = await bench.chat()
    choice = answer.json()["choices"][0]
    assert (choice["message"]["content"], choice["logprob"]) == ("a\ufffd\ufffd\ufffd\ufffdb", None)
    assert unpack((await bench.rows(1))[0].response) == raw


@pytest.mark.parametrize("body", [b"<html>busy</html>", b"[]", b'"x"', b"", b"{", b"null"])
async def test_it_refuses_an_answer_that_is_none(body: bytes, bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(body=body))
    answer = await bench.chat()
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_error")
    assert len(provider.requests) == 1
    assert (await bench.facts())["error_class"] == "provider_error"


@pytest.mark.parametrize("extra", [{"choices": None}, {"choices": []}, {"choices": [5]}, {"usage": 3, "model": 7}])
async def test_it_survives_odd_shapes(extra: dict[str, Any], bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(extra=extra))
    assert (await bench.chat()).status_code == 200
    assert len(await bench.rows(1)) == 1


async def test_it_turns_a_redirect_into_an_error(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(302, {"location": "http://127.0.0.1:1/"}))
    answer = await bench.chat()
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_error")
    assert "location" not in answer.headers


async def test_it_hears_answers_without_a_length(bench: Bench, provider: OpenAITwin) -> None:
    body = json.dumps({"choices": CHOICES}).encode()
    provider.script(Fault(raw=b"HTTP/1.1 200 OK\r\n\r\n" + body), Fault(until_close=True))
    assert (await bench.chat()).json()["choices"][0]["message"]["content"] == "x"
    assert (await bench.chat(stream=True, cell=1)).content.endswith(b"[DONE]\n\n")


async def test_h21_response_bombs_are_capped(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(
        Fault(raw=b"HTTP/1.1 200 OK\r\n" + b"".join(b"x-%d: 1\r\n" % n for n in range(10_000)) + b"\r\n"),
        Fault(raw=b"HTTP/1.1 200 OK\r\nx-big: " + b"a" * (1 << 20) + b"\r\n\r\n"),
        Fault(raw=b"HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n" + b" " * (66 << 20)),
    )
    for cell in range(3):
        answer = await bench.chat(cell=cell)
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_limit"), cell
    assert len(provider.requests) == 3
    assert [row.status for row in await bench.rows(3)] == ["failed"] * 3


async def test_h21_a_packed_answer_is_refused(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(headers={"content-encoding": "gzip"}, body=b"\x1f\x8b" + bytes(100)))
    assert (await bench.chat()).status_code == 502


async def test_h21_a_dawdling_provider_is_given_up(
    own_gateway: GatewayProcess, provider: OpenAITwin, make_run: Any
) -> None:
    own_gateway.start(BENCHWRIGHT_MODEL_FIRST_BYTE_SECONDS="0.5", BENCHWRIGHT_MODEL_IDLE_SECONDS="0.5",
                      BENCHWRIGHT_MODEL_TOTAL_SECONDS="2", BENCHWRIGHT_MODEL_TRIES="2")  # fmt: skip
    bench = await connect(own_gateway, await make_run(provider.url))
    await bench.open()
    provider.script(Fault(delay=30), Fault())
    assert (await bench.chat()).status_code == 200  # silent before the first byte: tried again
    assert [retry["status"] for retry in bench.retries] == [504]
    provider.script(Fault(raw=b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc", trickle=30))
    answer = await bench.chat(cell=1)
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "upstream_timeout")
    provider.script(Fault(text="x" * 300, trickle=0.1))
    with pytest.raises(httpx.RemoteProtocolError):
        await bench.chat(cell=2, stream=True)  # never idle, but too long in all
    assert (await bench.facts(cell=2))["error_class"] == "timeout"
    await bench.client.close()


async def test_it_ends_in_order_when_told_to(own_gateway: GatewayProcess, provider: OpenAITwin, make_run: Any) -> None:
    own_gateway.start()
    bench = await connect(own_gateway, await make_run(provider.url))
    await bench.open()
    provider.script(Fault(delay=0.6))
    call = asyncio.create_task(bench.chat())
    await arrived(provider)
    assert own_gateway.process is not None
    os.kill(own_gateway.process.pid, signal.SIGTERM)
    with pytest.raises(httpx.HTTPError):
        await call
    assert await asyncio.to_thread(own_gateway.process.wait, 10) == 0
    assert [row.status for row in await bench.rows(1)] == ["settled"]  # it was paid for, so it was awaited
    assert [path.stat().st_size for path in own_gateway.journal.glob("*.journal")] == [0]
    await bench.client.close()


# --- small parts ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({b"retry-after": b"3"}, 3, 3),
        ({b"retry-after": b"0.25"}, 0.25, 0.25),
        ({b"retry-after-ms": b"1500"}, 1.5, 1.5),
        ({b"retry-after": b"-4"}, 0, 0),
        ({b"retry-after": b"Fri, 31 Dec 2999 23:59:59 GMT"}, 1e9, 1e11),
        ({b"retry-after": b"Fri, 31 Dec 1999 23:59:59 GMT"}, 0, 0),
    ],
)
def test_it_reads_both_kinds_of_retry_after(headers: dict[bytes, bytes], least: float, most: float) -> None:
    found = retry_after(headers)
    assert found is not None
    assert least <= found <= most


@pytest.mark.parametrize("value", [b"soon", b"nan", b"inf", b"", b"\xff"])
def test_it_ignores_a_retry_after_that_says_nothing(value: bytes) -> None:
    assert retry_after({b"retry-after": value}) is None
    assert retry_after({}) is None


@pytest.mark.parametrize("body", [b"", b"x", b"xx" * 2000, b"{}", b'{"a": "' + b"b" * 5000 + b'"}', b"\x78\x9c"])
def test_it_packs_bodies_and_back(body: bytes) -> None:
    assert unpack(pack(body)) == body


def test_it_leaves_a_plain_answer_as_it_was() -> None:
    raw = json.dumps({"choices": CHOICES}, indent=3).encode()
    assert Chat().read(raw)[0] is raw
