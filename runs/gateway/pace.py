"""How many calls may be open at a provider with one key and model. Shared by all runs that use them.

The limit grows with success and shrinks with refusals, by as much as refusals are common (as DCTCP does): where every
answer is 429 it halves each second, where one in twenty is, it hardly moves. It starts at 128 because the number of
calls at once is already the user's choice (``concurrency``): the limit only has to be learnt where that choice was too
high. Until the first refusal each success adds one, so 128 becomes 256 within one round trip; afterwards one per full
window.

Refusals in numbers are a wall: then a ``Retry-After`` closes the key for everybody, and so do several bad answers in a
row (``breaker.py``). When the key opens again one call goes first, and its success lets two follow, then four, up to
half of what it was. A lone refusal delays only its own call.
"""

import asyncio
import random
from collections import deque

from runs.gateway.breaker import Breaker, ProviderDown

START = 128.0
MOST = 2048.0
SHRINK_SECONDS = 1.0  # one burst of refusals is one sign, not many
WALL = 0.25  # share of refusals from which a Retry-After is taken to mean everybody


class Pace:
    """Slots of one provider key and model. ``enter`` and ``leave`` come in pairs."""

    def __init__(self) -> None:
        self.limit = START
        self.open = 0
        self.waiters: deque[asyncio.Future[None]] = deque()
        self.paused_until = 0.0
        self.shrunk_at = -SHRINK_SECONDS
        self.refusals = 0.0  # the share of refusals lately, 0..1
        self.ceiling = MOST  # below it the limit grows quickly
        self.probing = False
        self.breaker = Breaker()
        self._resume: asyncio.TimerHandle | None = None
        self.random = random.Random()  # noqa: S311 (jitter)

    def free(self) -> bool:
        if self._resume is not None:
            return False
        return self.open < int(self.limit)

    async def enter(self) -> None:
        """Waits for a slot, in order of asking. ProviderDown where it is no use."""
        if self._resume is not None:
            self._raise_if_down()
        if not self.waiters and self.free():
            self.open += 1
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self.open -= 1
                self._let_in()
            raise

    def leave(self, *, ok: bool, refused: bool = False, failed: bool = False, retry_after: float | None = None) -> None:
        """Gives the slot back. ``ok``: it answered as it should; ``refused``: 429; ``failed``: 5xx or nothing.

        None of them: the call was given up here, or was wrong in itself, which says nothing about the provider.
        ``retry_after``: seconds, where the provider named them.
        """
        if ok:
            self._good()
        elif refused or failed:
            self._bad(refused, retry_after)
        else:
            self.probing = False
        self.open -= 1
        if self.waiters:
            self._let_in()

    def _good(self) -> None:
        self.probing = False
        self.breaker.good()
        if self.refusals:
            self.refusals -= self.refusals * self._weight()
        if self.limit < MOST:
            self.limit += 1.0 if self.limit < self.ceiling else 1.0 / self.limit

    def _bad(self, refused: bool, retry_after: float | None) -> None:
        now = asyncio.get_running_loop().time()
        if refused:
            self.refusals += (1 - self.refusals) * self._weight()
            self._shrink()
            if retry_after and (self.probing or self.refusals >= WALL):
                self.pause(retry_after)
        if self._resume is not None:
            return  # it is open already: what was under way says nothing new
        seconds = self.breaker.bad(now, fault=not refused, probe=self.probing)
        if seconds is not None:
            self.pause(seconds)
            self._give_up_if_down(now)

    def _raise_if_down(self) -> None:
        seconds = self.breaker.down(asyncio.get_running_loop().time())
        if seconds:
            raise ProviderDown(seconds)

    def _give_up_if_down(self, now: float) -> None:
        """The provider has been away for too long: who waits need not wait any longer."""
        seconds = self.breaker.down(now)
        while seconds and self.waiters:
            waiter = self.waiters.popleft()
            if not waiter.done():
                waiter.set_exception(ProviderDown(seconds))

    def _weight(self) -> float:
        """Of one answer in the share: the fewer calls are open, the sooner a refusal counts as a wall."""
        return 1.0 / min(16, max(4, self.open))

    def _shrink(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self.shrunk_at >= SHRINK_SECONDS:
            self.shrunk_at = now
            self.limit = max(1.0, min(self.limit, float(self.open)) * (1 - self.refusals / 2))
            self.ceiling = self.limit

    def pause(self, seconds: float) -> None:
        """Nobody enters for ``seconds`` and a little more, so that not all keys wake at one moment."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds + self.random.uniform(0, min(1.0, seconds * 0.1))
        if self._resume is None:
            self.ceiling = max(1.0, min(self.limit, float(self.open)) / 2)
            self.limit = 1.0
        elif until <= self.paused_until:
            return
        else:
            self._resume.cancel()
        self.paused_until = until
        self._resume = loop.call_at(until, self._wake)

    def paused_for(self) -> float:
        """Seconds until the key opens again, 0 where it is open."""
        if self._resume is None:
            return 0.0
        return max(0.0, self.paused_until - asyncio.get_running_loop().time())

    def held(self) -> tuple[float, float, int] | None:
        """Where nobody may enter, or one call is being tried: seconds until then, of faults so far, and who waits."""
        if self._resume is None and not self.probing:
            return None
        now = asyncio.get_running_loop().time()
        return self.paused_for(), self.breaker.faulty_for(now), len(self.waiters)

    def _wake(self) -> None:
        self._resume = None
        self.probing = True
        self._let_in()

    def _let_in(self) -> None:
        while self.waiters and self.free():
            waiter = self.waiters.popleft()
            if not waiter.done():
                self.open += 1
                waiter.set_result(None)
