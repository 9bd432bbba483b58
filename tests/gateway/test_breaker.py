"""The breaker of a provider's key and model: an outage costs time, and a few poison requests cost others nothing."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from runs.gateway import breaker, pace
from runs.gateway.breaker import BREAK_AFTER, Caller, ProviderDown
from runs.gateway.pace import Pace
from tests.gateway.conftest import Bench, GatewayProcess, connect
from tests.twins.openai_twin import Fault, OpenAITwin, Seen


def _caller(name: str, run: str = "A", account: str = "alice") -> Caller:
    return Caller((run, name), name, account)


async def _fail(key: Pace, *callers: Caller, said: str = "500 kaboom") -> None:
    """Each asks and is answered with a fault."""
    for caller in callers:
        await asyncio.wait_for(key.enter(caller), 1)
    for caller in callers:
        key.leave(ok=False, failed=True, caller=caller, said=said)


async def _opened() -> Pace:
    key = Pace()
    await _fail(key, *[_caller(f"poison {n}") for n in range(BREAK_AFTER)])
    assert key.paused_for() > 0
    return key


async def test_h22_a_host_that_nobody_reaches_is_not_told_as_answering(quick: Callable[..., None]) -> None:
    quick(pauses=(100.0,), patience=0.1)
    for last, words in (("no connection to the provider: refused", "has not answered"), ("500 kaboom", "with faults")):
        key = Pace()
        for n in range(BREAK_AFTER):
            await key.enter(_caller(f"cell {n}"))
            said = "no connection to the provider: refused" if n < BREAK_AFTER - 1 else last
            key.leave(ok=False, failed=True, caller=_caller(f"cell {n}"), said=said)
        with pytest.raises(ProviderDown) as down:
            await key.enter(_caller("cell 0"))
        assert words in down.value.words("vLLM")


async def _waits(key: Pace, caller: Caller) -> "asyncio.Task[None]":
    waiting = asyncio.ensure_future(key.enter(caller))
    await asyncio.sleep(0)
    assert not waiting.done()
    return waiting


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``quick(pauses=(…), patience=…)``: shorter times, in seconds."""

    def go(pauses: tuple[float, ...] = (0.05, 0.1), patience: float = 0.4) -> None:
        monkeypatch.setattr(breaker, "BREAK_SECONDS", pauses)
        monkeypatch.setattr(pace, "BREAK_SECONDS", pauses)
        monkeypatch.setattr(pace, "PATROL_SECONDS", 0.01)
        monkeypatch.setattr(breaker, "RETRY_SECONDS", patience)

    return go


# --- when it opens --------------------------------------------------------------------------------------------------
async def test_h22_a_request_that_fails_again_and_again_counts_once() -> None:
    key = Pace()
    for _ in range(3 * BREAK_AFTER):
        await _fail(key, *[_caller(f"poison {n}") for n in range(BREAK_AFTER - 1)])
    assert key.held() is None
    assert key.paused_for() == 0


async def test_h22_poison_beside_good_answers_never_opens_it() -> None:
    key = Pace()
    for number in range(40):
        await _fail(key, *[_caller(f"poison {number} {n}") for n in range(BREAK_AFTER - 1)])
        await key.enter(_caller("healthy"))
        key.leave(ok=True)
    assert key.held() is None


async def test_h22_a_good_answer_to_what_was_under_way_closes_it() -> None:
    key = Pace()
    await key.enter()
    await _fail(key, *[_caller(f"poison {n}") for n in range(BREAK_AFTER)])
    assert key.paused_for() > 0
    waiting = await _waits(key, _caller("healthy"))
    key.leave(ok=True)
    await asyncio.wait_for(waiting, 0.1)
    assert key.held() is None


async def test_h22_a_half_open_breaker_lets_one_call_try() -> None:
    key = await _opened()
    held = key.held()
    assert held is not None
    assert held[0] > 0.9
    key._wake()
    await key.enter()
    behind = await _waits(key, _caller("behind"))
    key.leave(ok=False, failed=True)
    assert 1.9 < key.paused_for() < 2.3  # twice as long
    key._wake()
    await asyncio.wait_for(behind, 0.1)
    key.leave(ok=True)
    assert key.held() is None
    await asyncio.wait_for(key.enter(), 0.1)
    await asyncio.wait_for(key.enter(), 0.1)


# --- who goes first -------------------------------------------------------------------------------------------------
async def test_h22_what_has_not_failed_goes_before_what_has() -> None:
    key = await _opened()
    poison = [await _waits(key, _caller(f"poison {n}")) for n in range(BREAK_AFTER)]
    healthy = await _waits(key, _caller("healthy", run="B"))
    same = await _waits(key, _caller("poison 0", run="B"))  # it has failed, though another run asked it
    key._wake()
    await asyncio.wait_for(healthy, 0.1)
    assert not any(call.done() for call in [*poison, same])
    key.leave(ok=True)
    await asyncio.wait_for(asyncio.wait(poison, return_when=asyncio.FIRST_COMPLETED), 0.1)
    for call in [*poison, same]:
        call.cancel()


async def test_h22_after_a_probe_that_had_failed_before_another_goes_at_once() -> None:
    key = await _opened()
    again = await _waits(key, _caller("poison 0"))
    key._wake()
    await again
    healthy = await _waits(key, _caller("healthy"))
    key.leave(ok=False, failed=True, caller=_caller("poison 0"), said="500 kaboom")
    await asyncio.wait_for(healthy, 0.1)
    key.leave(ok=True)
    assert key.held() is None


async def test_h22_who_comes_after_such_a_probe_need_not_wait_but_only_one_of_them() -> None:
    key = await _opened()
    key._wake()
    await _fail(key, _caller("poison 0"))
    assert key.paused_for() > 1.9
    first = asyncio.ensure_future(key.enter(_caller("healthy 1")))
    await asyncio.wait_for(first, 0.1)
    second = await _waits(key, _caller("healthy 2"))
    key.leave(ok=False, failed=True, caller=_caller("healthy 1"), said="500 kaboom")
    assert key.paused_for() > 3.9  # it is an outage after all
    third = await _waits(key, _caller("healthy 3"))
    for call in (second, third):
        call.cancel()


# --- how long calls wait --------------------------------------------------------------------------------------------
async def test_h22_a_call_waits_its_own_time_however_old_the_faults_are(quick: Callable[..., None]) -> None:
    quick(pauses=(100.0,), patience=0.3)
    key = await _opened()
    loop = asyncio.get_running_loop()
    assert key.breaker.since is not None
    key.breaker.since -= 1000
    begun = loop.time()
    with pytest.raises(ProviderDown) as down:
        await key.enter(_caller("poison 0"))
    assert 0.29 < loop.time() - begun < 1
    assert down.value.words("vLLM") == "500 kaboom; vLLM has answered with faults for 1000 s"
    begun = loop.time()
    with pytest.raises(ProviderDown):
        await key.enter(_caller("poison 0"))  # the next attempt at the same cell: it has waited
    assert loop.time() - begun < 0.1
    other = await _waits(key, _caller("poison 0", run="B"))  # nobody has waited for this one
    other.cancel()


async def test_h22_what_was_never_sent_is_sent_before_it_ends(quick: Callable[..., None]) -> None:
    """An endless outage: every call is sent once, few at once, and each ends."""
    quick(pauses=(0.1, 100.0), patience=0.2)
    key, sent, most, under_way = await _opened(), [], 0, 0

    async def ask(name: str) -> str:
        nonlocal most, under_way
        caller = _caller(name)
        while True:
            try:
                await key.enter(caller)
            except ProviderDown as down:
                return down.words("vLLM")
            sent.append(name)
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.002)
            under_way -= 1
            key.leave(ok=False, failed=True, caller=caller, said=f"500 to {name}")

    names = [f"row {n}" for n in range(40)]
    words = await asyncio.wait_for(asyncio.gather(*(ask(name) for name in names)), 5)
    assert sorted(sent) == sorted(names)
    assert most <= pace.LAST_CHANCES
    assert all(said.startswith(f"500 to {name}; ") for name, said in zip(names, words, strict=True))
    assert (key.open, key.chances, len(key.waiters)) == (0, 0, 0)
    begun = asyncio.get_running_loop().time()
    await asyncio.wait_for(ask("late"), 2)  # with a full patience of its own it would be as long again
    assert sent[-1] == "late"
    assert asyncio.get_running_loop().time() - begun < 1


async def test_h22_a_last_chance_that_succeeds_closes_it(quick: Callable[..., None]) -> None:
    quick(pauses=(100.0,), patience=0.1)
    key = await _opened()
    calls = [asyncio.ensure_future(key.enter(_caller(f"healthy {n}"))) for n in range(20)]
    await asyncio.wait_for(asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED), 1)
    key.leave(ok=True)
    assert key.held() is None
    for call in calls:
        call.cancel()


async def test_h22_never_sent_it_tells_the_last_fault_of_its_own_account_only(quick: Callable[..., None]) -> None:
    quick(pauses=(0.1,), patience=0.1)
    key = await _opened()
    chances = [asyncio.ensure_future(key.enter(_caller(f"hanging {n}"))) for n in range(pace.LAST_CHANCES)]
    await asyncio.wait(chances)
    mine, foreign = _caller("never sent"), _caller("never sent either", account="bob")
    ends = await asyncio.wait_for(
        asyncio.gather(key.enter(mine), key.enter(foreign), return_exceptions=True), 2
    )  # all chances hang
    assert isinstance(ends[0], ProviderDown)
    assert isinstance(ends[1], ProviderDown)
    assert ends[0].words("vLLM") == "vLLM has answered with faults for 0 s; the last: 500 kaboom"
    assert ends[1].words("vLLM") == "vLLM has answered with faults for 0 s"


async def test_h22_a_pause_without_calls_is_no_time_of_faults(quick: Callable[..., None]) -> None:
    quick(pauses=(0.02, 0.1), patience=0.2)
    key = await _opened()
    await asyncio.sleep(0.03)
    await _fail(key, _caller("poison 0"))
    assert key.paused_for() > 0
    await asyncio.sleep(0.15)
    assert key.held() is None
    for n in range(BREAK_AFTER - 1):
        await _fail(key, _caller(f"poison {n}", run="B"))
    assert key.held() is None
    assert key.limit > BREAK_AFTER


# --- poison and healthy rows, whole ---------------------------------------------------------------------------------
async def _row(key: Pace, run: str, number: int, poison: bool, ends: dict[tuple[str, int], str]) -> None:
    """A call with its tries and their back-off, as the gateway makes them."""
    caller = _caller(f"{'poison' if poison else 'healthy'} {number}", run)
    for attempt in range(6):
        try:
            await key.enter(caller)
        except ProviderDown as down:
            ends[run, number] = down.words("vLLM")
            return
        await asyncio.sleep(0.002)
        key.leave(ok=not poison, failed=poison, caller=caller, said="500 kaboom")
        ends[run, number] = "500 kaboom" if poison else "ok"
        if not poison:
            return
        await asyncio.sleep(0.005 * 2**attempt)


@pytest.mark.parametrize("seed", range(3))
async def test_h22_poison_rows_of_one_run_cost_another_run_nothing(quick: Callable[..., None], seed: int) -> None:
    """Ten poison rows are what is left of A when B comes with healthy ones, and again 19 mixed rows after a pause."""
    quick(pauses=(0.05, 0.1, 0.2, 0.4), patience=0.5)
    key, ends = Pace(), {}
    key.random.seed(seed)
    first = [asyncio.ensure_future(_row(key, "A", n, True, ends)) for n in range(10)]
    await asyncio.sleep(0.2)
    assert key.held() is not None
    await asyncio.wait_for(asyncio.gather(*(_row(key, "B", n, False, ends) for n in range(30))), 1)
    assert [ends["B", n] for n in range(30)] == ["ok"] * 30
    await asyncio.wait_for(asyncio.gather(*first), 5)
    assert all(ends["A", n].startswith("500 kaboom") for n in range(10))
    await asyncio.sleep(0.6)  # nobody asks
    mixed = [_row(key, "C", n, n < 10, ends) for n in range(19)]
    await asyncio.wait_for(asyncio.gather(*mixed), 5)
    assert [ends["C", n] for n in range(10, 19)] == ["ok"] * 9
    assert all(ends["C", n].startswith("500 kaboom") for n in range(10))


POISON = {
    "kaboom": (Fault(500, body=b'{"error": {"message": "kaboom"}}'), r"answered 500: kaboom"),
    "garbage": (Fault(body=b"<html>"), r"not JSON"),
    "empty": (Fault(body=b""), r"not JSON"),
    "closed": (Fault(hang_up=True), r"connection|closed"),
}


async def test_h22_poison_and_healthy_rows_of_two_runs_with_one_key(
    own_gateway: GatewayProcess, provider: OpenAITwin, make_run: Any
) -> None:
    """No healthy row is lost, and each poison row tells what was wrong with it, after all its attempts."""
    own_gateway.start(BENCHWRIGHT_MODEL_RETRY_SECONDS="1", BENCHWRIGHT_MODEL_TRIES="2")
    run = await make_run(provider.url)
    a = await (await connect(own_gateway, run)).open()
    b = await (await connect(own_gateway, await make_run(provider.url, owner=run.owner))).open()

    def answer(seen: Seen) -> Fault | None:
        kind = seen.body["messages"][-1]["content"].split()[0]
        return POISON[kind][0] if kind in POISON else None

    provider.always = answer
    kinds = [*POISON] * 2
    messages: dict[int, str] = {}

    async def poison(cell: int) -> None:
        for attempt in (1, 2, 3):
            answered = await a.chat(f"{kinds[cell]} {cell}", cell=cell, attempt=attempt)
            assert answered.status_code >= 500
            facts = await a.facts(cell, attempt)
            assert facts["error_class"] == "provider_error"
            messages[cell] = facts["error_message"]

    rows = [asyncio.create_task(poison(cell)) for cell in range(len(kinds))]
    async with asyncio.timeout(10):
        while await a.client.held(a.lease) is None:
            await asyncio.sleep(0.02)
    answers = await asyncio.gather(*(b.chat(f"healthy {n}", cell=n) for n in range(20)))
    assert [answer.status_code for answer in answers] == [200] * 20
    await asyncio.gather(*rows)
    for cell, kind in enumerate(kinds):
        assert re.search(POISON[kind][1], messages[cell].split(";")[0]), (kind, messages[cell])
    for bench in (a, b):
        await bench.client.close()


# --- an outage ------------------------------------------------------------------------------------------------------
async def test_h22_the_breaker_opens_says_so_and_closes_again(bench: Bench, provider: OpenAITwin) -> None:
    """Every call ends well, though the provider is away for a while; meanwhile it is asked by one call at a time."""
    back = asyncio.Event()
    provider.always = lambda seen: Fault(delay=0.01) if back.is_set() else Fault(503)
    calls = [asyncio.create_task(bench.chat(f"q{n}", cell=n)) for n in range(12)]
    words = None
    async with asyncio.timeout(10):
        while words is None:
            words = await bench.client.held(bench.lease)
            await asyncio.sleep(0.02)
    assert re.fullmatch(
        r"local \(twin-1\) has answered with faults for \d+ s, next try in \d+ s(, \d+ calls wait)?", words
    )
    asked = len(provider.requests)
    await asyncio.sleep(0.6)
    assert len(provider.requests) == asked  # nobody runs into it meanwhile
    back.set()
    assert [(await call).status_code for call in calls] == [200] * 12
    assert await bench.client.held(bench.lease) is None
    facts = await bench.client.facts(bench.lease, [(n, 1) for n in range(12)])
    assert not any(found["unresolved"] for found in facts)
    assert sum(found["waited_ms"] for found in facts) > 6000  # which is not their attempts' time


async def test_h22_a_provider_that_stays_away_leaves_errors_and_no_wrong_answers(
    own_gateway: GatewayProcess, provider: OpenAITwin, make_run: Any
) -> None:
    own_gateway.start(BENCHWRIGHT_MODEL_RETRY_SECONDS="1.5", BENCHWRIGHT_MODEL_TRIES="50")
    bench = await connect(own_gateway, await make_run(provider.url))
    await bench.open()
    provider.always = lambda seen: Fault(hang_up=True)
    answers = await asyncio.gather(*(bench.chat(f"q{n}", cell=n) for n in range(10)))
    assert {answer.status_code for answer in answers} <= {502, 503}
    late = await bench.chat("late", cell=99)
    assert late.status_code in (502, 503)
    assert len(provider.requests) < 40
    facts = await bench.client.facts(bench.lease, [(n, 1) for n in [*range(10), 99]])
    assert {found["error_class"] for found in facts} == {"provider_error"}
    assert all("closed" in found["error_message"] or "connection" in found["error_message"] for found in facts)
    assert not any(found["final"] for found in facts)
    await bench.client.close()
