"""The journal's promise: what was paid for is never asked again, what is in doubt stays so and is asked once more."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import httpx
import pytest

from runs.gateway.journal import SENT, SETTLED, UNKNOWN, Call, Journal, JournalBusy, read_file
from runs.models import ModelCall
from tests.gateway.conftest import Bench, GatewayProcess, arrived, connect
from tests.twins.openai_twin import Fault, OpenAITwin


async def _killed_at(
    point: str, gateway: GatewayProcess, provider: OpenAITwin, make_run: Any, stream: bool = False
) -> Bench:
    """A first attempt that dies with the gateway at ``point``; then a new gateway and a second lease of the run."""
    gateway.start(BENCHWRIGHT_FAULT=point)
    first = await connect(gateway, await make_run(provider.url))
    await first.open()
    with contextlib.suppress(httpx.HTTPError):
        await first.chat("2+2?", stream=stream)
    assert await asyncio.to_thread(gateway.died)
    await asyncio.sleep(0.1)
    assert first.lost == [True]
    await asyncio.to_thread(gateway.start)
    second = await connect(gateway, first.run)
    return await second.open()


@pytest.mark.parametrize(
    ("point", "calls", "statuses"),
    [
        ("M1", 1, ["settled"]),
        ("M2", 1, ["unknown", "settled"]),
        ("M4", 2, ["unknown", "settled"]),
        ("M5", 1, ["settled"]),
    ],
)
async def test_it_survives_being_killed_around_a_call(
    point: str, calls: int, statuses: list[str], own_gateway: GatewayProcess, provider: OpenAITwin, make_run: Any
) -> None:
    second = await _killed_at(point, own_gateway, provider, make_run)
    answer = await second.chat("2+2?", attempt=2)
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["content"] == "four"
    assert len(provider.requests) == calls
    rows = await second.rows(len(statuses))
    assert [row.status for row in rows] == statuses
    assert [row.occurrence for row in rows] == list(range(len(statuses)))
    facts = await second.facts(attempt=2)
    assert (facts["calls"], facts["reused"]) == (1, int(point == "M5"))
    await second.client.close()


async def test_it_survives_being_killed_in_a_stream(
    own_gateway: GatewayProcess, provider: OpenAITwin, make_run: Any
) -> None:
    provider.script(Fault(text="a somewhat longer answer", trickle=0.02))
    second = await _killed_at("M3:2", own_gateway, provider, make_run, stream=True)
    answer = await second.chat("2+2?", attempt=2, stream=True)
    assert answer.content.endswith(b"data: [DONE]\n\n")
    assert len(provider.requests) == 2
    assert [row.status for row in await second.rows(2)] == ["unknown", "settled"]
    await second.client.close()


async def test_d02_a_dead_workers_calls_are_not_made_again(bench: Bench, provider: OpenAITwin) -> None:
    provider.always = lambda seen: Fault(delay=0.5)
    call = asyncio.create_task(bench.chat("2+2?"))
    await arrived(provider)
    await bench.client.close()  # the worker dies while its call is under way
    with pytest.raises(httpx.HTTPError):
        await call
    second = await connect(bench.gateway, bench.run)
    await second.open()
    answer = await second.chat("2+2?", attempt=2)
    assert answer.json()["choices"][0]["message"]["content"] == "four"
    assert len(provider.requests) == 1
    facts = await second.facts(attempt=2)
    assert (facts["calls"], facts["failed"], facts["reused"]) == (1, 0, 1)
    assert facts["model_ms"] >= 500
    assert facts["reused_ms"] <= facts["model_ms"] - 300  # the rest it has waited itself
    assert len(await second.rows(1)) == 1
    await second.client.close()


async def test_d02_a_later_call_of_a_dead_worker_is_found_too(bench: Bench, provider: OpenAITwin) -> None:
    """The next attempt has begun before the dead worker's second call is answered and stored."""
    provider.script(Fault(text="one"), Fault(text="two", delay=1))
    await bench.chat("first")
    call = asyncio.create_task(bench.chat("second"))
    await arrived(provider, 2)
    await bench.client.close()
    with pytest.raises(httpx.HTTPError):
        await call
    second = await connect(bench.gateway, bench.run)
    await second.open()
    assert "one" in (await second.chat("first", attempt=2)).text
    await second.rows(2)
    await asyncio.sleep(0.3)
    assert "two" in (await second.chat("second", attempt=2)).text
    assert len(provider.requests) == 2
    assert (await second.facts(attempt=2))["reused"] == 2
    await second.client.close()


async def test_it_replays_in_the_order_of_asking(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(text="one"), Fault(text="two"), Fault(400), Fault(text="three"))
    said = [(await bench.chat("again")).json()["choices"][0]["message"]["content"] for _ in range(2)]
    assert (await bench.chat("again")).status_code == 400
    said.append((await bench.chat("again")).json()["choices"][0]["message"]["content"])
    await bench.facts()
    await bench.rows(4)
    replayed = [(await bench.chat("again", attempt=2)).json()["choices"][0]["message"]["content"] for _ in range(3)]
    assert replayed == said == ["one", "two", "three"]
    assert len(provider.requests) == 4
    fresh = await bench.chat("again", attempt=2)
    assert fresh.json()["choices"][0]["message"]["content"] == "four"
    facts = await bench.facts(attempt=2)
    assert (facts["calls"], facts["reused"], facts["unresolved"]) == (4, 3, False)


async def test_d02_a_call_made_through_another_hosts_gateway_is_not_made_again(
    bench: Bench, own_gateway: GatewayProcess, provider: OpenAITwin
) -> None:
    """Both hosts took the run up before it had any call; then the shard of one is claimed at the other."""
    own_gateway.start()
    second = await (await connect(own_gateway, bench.run)).open()
    await bench.chat("2+2?", cell=3)
    await bench.rows(1)
    answer = await second.chat("2+2?", key=second.key(3, attempt=1, claim=2))
    assert answer.json()["choices"][0]["message"]["content"] == "four"
    assert len(provider.requests) == 1
    assert (await second.facts(3, 1))["reused"] == 1
    await second.client.close()


async def test_d06_who_lost_its_shard_leaves_the_calls_under_way_to_the_next(
    bench: Bench, provider: OpenAITwin
) -> None:
    """The other worker waits for the very call that the first one has under way."""
    provider.always = lambda seen: Fault(delay=0.5)
    first = asyncio.create_task(bench.chat("2+2?"))
    await arrived(provider)
    second = await (await connect(bench.gateway, bench.run)).open()
    waiting = asyncio.create_task(second.chat("2+2?", key=second.key(0, attempt=1, claim=2)))
    await asyncio.sleep(0.1)
    await bench.client.close_lease(bench.lease, keep_calls=True)
    with pytest.raises(httpx.HTTPError):
        await first
    assert (await waiting).json()["choices"][0]["message"]["content"] == "four"
    assert len(provider.requests) == 1
    await second.client.close()


async def test_d06_a_worker_that_goes_on_past_its_lease_asks_for_the_next_one_too(
    bench: Bench, provider: OpenAITwin
) -> None:
    """The next worker has looked into the table already when the first one's second call is answered and stored."""
    provider.script(Fault(text="one"), Fault(text="two"))
    await bench.chat("first")
    await bench.rows(1)
    second = await (await connect(bench.gateway, bench.run)).open()
    key = second.key(0, attempt=2, claim=2)
    assert "one" in (await second.chat("first", key=key)).text
    assert "two" in (await bench.chat("second")).text
    await bench.rows(2)
    assert "two" in (await second.chat("second", key=key)).text
    assert len(provider.requests) == 2
    await second.client.close()


async def test_d06_a_worker_past_its_lease_asks_nothing_that_the_next_one_has_been_told(
    bench: Bench, provider: OpenAITwin
) -> None:
    """It begins a cell of its lost shard only after the next worker's call for that cell was answered and stored."""
    await bench.chat("another cell", cell=1)
    second = await (await connect(bench.gateway, bench.run)).open()
    assert (await second.chat("2+2?", key=second.key(0, attempt=1, claim=2))).status_code == 200
    await bench.rows(2)
    assert "four" in (await bench.chat("2+2?")).text
    assert len(provider.requests) == 2
    await second.client.close()


async def test_it_replays_a_stream(bench: Bench, provider: OpenAITwin) -> None:
    first = await bench.chat(stream=True)
    await bench.facts()
    second = await bench.chat(stream=True, attempt=2)
    assert second.content == first.content
    assert len(provider.requests) == 1


async def test_it_leaves_the_call_in_doubt_when_its_attempt_is_closed(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(delay=5))
    call = asyncio.create_task(bench.chat("2+2?"))
    await arrived(provider)
    facts = await bench.facts()
    assert (await call).status_code == 401
    assert (facts["calls"], facts["failed"], facts["unresolved"], facts["error_class"]) == (1, 1, True, "timeout")
    assert (await bench.chat("2+2?")).json()["error"]["code"] == "key_expired"
    assert [row.status for row in await bench.rows(1)] == ["unknown"]
    assert (await bench.chat("2+2?", attempt=2)).status_code == 200


async def test_it_tells_facts_from_the_table_after_a_restart(
    own_gateway: GatewayProcess, provider: OpenAITwin, make_run: Any
) -> None:
    own_gateway.start()
    first = await connect(own_gateway, await make_run(provider.url))
    await first.open()
    await first.chat()
    await asyncio.to_thread(own_gateway.kill)
    await asyncio.to_thread(own_gateway.start)
    second = await connect(own_gateway, first.run)
    await second.open()
    facts = await second.facts()
    assert (facts["known"], facts["calls"], facts["reused"]) == (True, 1, 0)
    assert not (await second.facts(cell=9))["known"]
    await second.client.close()


# --- the file -------------------------------------------------------------------------------------------------------
def _call(number: int = 0) -> Call:
    call = Call("0197-run", number, 1, "ab" * 32, 0)
    call.request, call.response = b'{"q": 1}', b"\x00\xff answer"
    return call


async def test_it_reads_back_what_it_wrote(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    call, open_call = _call(1), _call(2)
    await asyncio.gather(journal.sent(call), journal.sent(open_call))
    call.status, call.tokens_in, call.cost = SETTLED, 7, 12
    journal.ended(call)
    journal.close()
    again = Journal(tmp_path)
    found = {call.ordinal: call for call in again.replay()}
    again.close()
    assert (found[1].status, found[1].tokens_in, found[1].cost, found[1].response) == (SETTLED, 7, 12, call.response)
    assert found[2].status == UNKNOWN


async def test_it_ignores_a_torn_last_record(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    await journal.sent(_call(1))
    await journal.sent(_call(2))
    path = journal.segment.path
    journal.close()
    path.write_bytes(path.read_bytes()[:-3])
    assert [call.ordinal for call in read_file(path)] == [1]


async def test_it_keeps_a_file_until_its_calls_are_in_the_database(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    call, other = _call(1), _call(2)
    await journal.sent(call)
    await journal.sent(other)
    old = journal.segment
    journal.rotate()
    call.status = other.status = SETTLED
    journal.ended(call)
    assert old.path.exists()
    journal.ended(other)
    assert not old.path.exists()  # the newer file tells both ends
    assert journal.segment.open == 2
    for ended in (call, other):
        assert ended.segment is not None
        ended.segment.release()
    journal.tidy()
    assert journal.segment.path.stat().st_size == 0
    journal.close()


async def test_it_refuses_a_second_gateway_on_one_folder(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with pytest.raises(JournalBusy):
        Journal(tmp_path)
    journal.close()


async def test_it_fails_the_call_when_the_disk_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path)
    await journal.sent(_call(1))

    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr("os.write", full)
        with pytest.raises(OSError, match="no space"):
            await journal.sent(_call(2))
    await journal.sent(_call(3))
    assert [call.ordinal for call in read_file(journal.segment.path)] == [1, 3]
    journal.close()


async def test_it_keeps_a_group_together_when_one_of_it_is_given_up(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    waiting = [asyncio.ensure_future(journal.sent(_call(number))) for number in range(3)]
    waiting[1].cancel()
    await asyncio.gather(waiting[0], waiting[2])
    assert [call.ordinal for call in read_file(journal.segment.path)] == [0, 1, 2]
    journal.close()


async def test_it_has_written_an_end_before_it_says_so(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    first, second = _call(1), _call(2)
    await journal.sent(first)
    told: list[list[str]] = []

    def tell() -> None:
        told.append([call.status for call in read_file(journal.segment.path) if call.ordinal == 1])

    first.status = SETTLED
    journal.finish(first, tell)
    assert told == []
    await journal.sent(second)  # in the same turn: one write for both
    assert told == [[UNKNOWN, SETTLED]]
    journal.close()


async def test_it_tells_of_an_end_also_when_the_disk_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path)
    first = _call(1)
    await journal.sent(first)

    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "no space left")

    told: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr("os.write", full)
        first.status = SETTLED
        journal.finish(first, lambda: told.append("ended"))
        with pytest.raises(OSError, match="no space"):
            await journal.sent(_call(2))
    assert told == ["ended"]
    journal.close()


async def test_it_flushes_a_slow_disk_beside_the_loop(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.sync_seconds = 60.0
    await asyncio.gather(*(journal.sent(_call(number)) for number in range(20)))
    await journal.sent(_call(20))
    assert [call.ordinal for call in read_file(journal.segment.path)] == list(range(21))
    journal.close()


def test_it_knows_sent_as_the_only_open_state() -> None:
    call = _call()
    call.status = SENT
    assert not call.ended()


async def test_it_tells_of_calls_that_a_lost_lease_left_under_way(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(delay=3))
    call = asyncio.create_task(bench.chat("2+2?"))
    await arrived(provider)
    await bench.client.close()
    second = await connect(bench.gateway, bench.run)
    await second.open()
    facts = await second.facts()
    assert (facts["known"], facts["unresolved"], facts["error_class"]) == (True, True, "provider_error")
    with pytest.raises(httpx.HTTPError):
        await call
    await second.client.close()


async def test_it_stores_the_journal_before_a_lease_closes(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(), Fault(delay=5))
    await bench.chat("one")
    call = asyncio.create_task(bench.chat("two", cell=1))
    await arrived(provider, 2)
    await bench.client.close_lease(bench.lease)
    with contextlib.suppress(httpx.HTTPError):
        await call
    found = [row.status async for row in ModelCall.objects.filter(run=bench.run).order_by("ordinal")]
    assert found == ["settled", "unknown"]
