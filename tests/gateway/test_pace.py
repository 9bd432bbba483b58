"""The adaptive limit of a provider key."""

import asyncio
from typing import Any

import pytest

from runs.gateway.breaker import BREAK_AFTER
from runs.gateway.pace import START, Pace
from tests.gateway.conftest import Bench
from tests.twins.openai_twin import Fault, OpenAITwin, Seen


async def _enter(pace: Pace, count: int) -> None:
    for _ in range(count):
        await asyncio.wait_for(pace.enter(), 1)


async def _blocked(pace: Pace) -> bool:
    waiting = asyncio.ensure_future(pace.enter())
    await asyncio.sleep(0.01)
    if waiting.done():
        return False
    waiting.cancel()
    await asyncio.wait([waiting])
    return True


async def test_it_lets_in_as_many_as_the_limit_and_then_in_turn() -> None:
    pace = Pace()
    await _enter(pace, int(START))
    order: list[int] = []

    async def later(number: int) -> None:
        await pace.enter()
        order.append(number)

    tasks = [asyncio.ensure_future(later(number)) for number in range(3)]
    await asyncio.sleep(0.01)
    assert order == []
    for _ in range(3):
        pace.leave(ok=False)
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2]


async def test_it_grows_quickly_until_it_learns_and_slowly_after() -> None:
    pace = Pace()
    for _ in range(int(START)):
        await _enter(pace, 1)
        pace.leave(ok=True)
    assert pace.limit == 2 * START
    pace.ceiling = pace.limit
    await _enter(pace, 1)
    pace.leave(ok=True)
    assert 2 * START < pace.limit < 2 * START + 0.01


async def test_it_halves_at_a_wall_at_most_once_a_second() -> None:
    pace = Pace()
    pace.refusals = 1.0
    await _enter(pace, 100)
    for _ in range(5):
        pace.leave(ok=False, refused=True)
    assert pace.limit == 50
    assert pace.ceiling == 50


async def test_it_hardly_slows_for_a_rare_refusal() -> None:
    pace = Pace()
    await _enter(pace, 100)
    for number in range(95):
        pace.leave(ok=number % 20 != 0, refused=number % 20 == 0, retry_after=30 if number % 20 == 0 else None)
        if pace.free():
            await _enter(pace, 1)
    assert pace.paused_for() == 0
    assert pace.limit > 90


async def test_it_closes_the_key_at_a_wall_and_probes_with_one() -> None:
    pace = Pace()
    await _enter(pace, 8)
    for _ in range(8):
        pace.leave(ok=False, refused=True, retry_after=0.1)
    assert 0 < pace.paused_for() <= 0.11
    assert await _blocked(pace)
    await asyncio.sleep(0.15)
    await _enter(pace, 1)
    assert await _blocked(pace)  # the probe is alone
    pace.leave(ok=True)
    await _enter(pace, 2)
    assert await _blocked(pace)  # its success let two follow, not all


async def test_it_closes_again_when_the_probe_is_refused() -> None:
    pace = Pace()
    pace.pause(0.01)
    await asyncio.sleep(0.05)
    await _enter(pace, 1)
    pace.leave(ok=False, refused=True, retry_after=5)
    assert pace.paused_for() > 4


async def test_h22_it_breaks_the_circuit_of_a_provider_that_only_fails() -> None:
    pace = Pace()
    await _enter(pace, BREAK_AFTER)
    for number in range(BREAK_AFTER):
        assert pace.paused_for() == 0, number
        pace.leave(ok=False, failed=True)
    assert 0.9 < pace.paused_for() < 1.2


async def test_it_gives_a_slot_on_when_its_taker_is_gone() -> None:
    pace = Pace()
    await _enter(pace, int(START))
    gone, next_one = asyncio.ensure_future(pace.enter()), asyncio.ensure_future(pace.enter())
    await asyncio.sleep(0)
    pace.leave(ok=False)
    gone.cancel()
    await asyncio.wait_for(next_one, 1)
    assert pace.open == START


@pytest.mark.long
async def test_h22_nobody_runs_into_the_wall(bench: Bench, provider: OpenAITwin) -> None:
    """A provider that takes 4 at once and 429s the rest with Retry-After: all calls end well, few are refused."""
    limit, refused = 4, 0

    def answer(seen: Seen) -> Fault:
        nonlocal refused
        if provider.in_flight > limit:
            refused += 1
            return Fault(429, {"retry-after": "0.2"})
        return Fault(delay=0.03)

    provider.always = answer
    results: list[Any] = await asyncio.gather(*(bench.chat(f"q{n}", cell=n) for n in range(40)))
    assert [result.status_code for result in results] == [200] * 40
    assert refused < 60  # the first burst, and a few steps too far


# --- one key, two models --------------------------------------------------------------------------------------------
@pytest.mark.long
async def test_h22_a_throttled_model_does_not_slow_a_healthy_one_on_the_same_key(
    keyed_runs: Any, keyed_provider: OpenAITwin
) -> None:
    """Providers limit by model. The pace is by key and model: only the refused one waits, and it says who that is."""
    throttled, healthy = await keyed_runs("slow-model", "quick-model")
    again = asyncio.Event()

    def answer(seen: Seen) -> Fault | None:
        refused = seen.body["model"] == "slow-model" and not again.is_set()
        return Fault(429, {"retry-after": "0.3"}) if refused else Fault(delay=0.02)

    keyed_provider.always = answer
    stuck = [asyncio.create_task(throttled.chat(f"q{n}", cell=n, model="slow-model")) for n in range(16)]
    async with asyncio.timeout(10):
        while len(throttled.retries) < 16:
            await asyncio.sleep(0.01)
    begun = asyncio.get_running_loop().time()
    answers = await asyncio.gather(*(healthy.chat(f"q{n}", cell=n, model="quick-model") for n in range(40)))
    took = asyncio.get_running_loop().time() - begun
    assert [found.status_code for found in answers] == [200] * 40
    waited, _ = await healthy.client.waited(healthy.lease, [(n, 1) for n in range(40)])
    assert waited == [0] * 40, took  # not one of them waited for a slot
    assert healthy.retries == []
    assert {(told["provider"], told["model"], told["status"]) for told in throttled.retries} == {
        ("openai", "slow-model", 429)
    }
    again.set()
    assert [(await call).status_code for call in stuck] == [200] * 16


async def test_h22_a_long_retry_after_is_told_with_its_status_and_its_time(bench: Bench, provider: OpenAITwin) -> None:
    # The first refusal holds up whatever was not sent before it.
    provider.always = lambda seen: Fault(429, headers={"retry-after": "300"}, delay=0.5)
    calls = [asyncio.create_task(bench.chat(f"q{n}", cell=n)) for n in range(12)]
    async with asyncio.timeout(10):
        while len(provider.requests) < 12:
            await asyncio.sleep(0.02)
    await asyncio.sleep(1.0)
    calls.append(asyncio.create_task(bench.chat("one more", cell=12)))
    words = None
    async with asyncio.timeout(10):
        while words is None:
            words = await bench.client.held(bench.lease)
            await asyncio.sleep(0.02)
    assert words.startswith("429 from local (twin-1), next try in 5 min")
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
