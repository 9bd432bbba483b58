"""How many calls may be open at a provider with one key. Shared by all runs that use the key.

Additive increase, multiplicative decrease. It starts at 128 because the number of calls at once is already the
user's choice (``concurrency``): the limit only has to be learnt where that choice was too high. Until the first
refusal each success adds one, so 128 becomes 256 within one round trip; afterwards one per full window.
A ``Retry-After`` closes the key for everybody; one call then goes first, and only its success lets the rest follow.
"""

import asyncio
import random
from collections import deque

START = 128.0
MOST = 2048.0
HALVE_SECONDS = 1.0  # one burst of refusals is one sign, not many


class Pace:
    """Slots of one provider key. ``enter`` and ``leave`` come in pairs."""

    def __init__(self) -> None:
        self.limit = START
        self.open = 0
        self.waiters: deque[asyncio.Future[None]] = deque()
        self.paused_until = 0.0
        self.halved_at = -HALVE_SECONDS
        self.learnt = False
        self.probing = False
        self._resume: asyncio.TimerHandle | None = None
        self.random = random.Random()  # noqa: S311 (jitter)

    def free(self) -> bool:
        if self._resume is not None:
            return False
        return self.open < (1 if self.probing else int(self.limit))

    async def enter(self) -> None:
        """Waits for a slot, in order of asking."""
        if not self.waiters and self.free():
            self.open += 1
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.open -= 1
                self._let_in()
            raise

    def leave(self, *, refused: bool, ok: bool) -> None:
        """Gives the slot back. ``refused``: the provider said 429. ``ok``: it answered as it should."""
        self.open -= 1
        if refused:
            self._halve()
        elif ok:
            self.probing = False
            if self.limit < MOST:
                self.limit += 1.0 / self.limit if self.learnt else 1.0
        else:
            self.probing = False
        if self.waiters:
            self._let_in()

    def pause(self, seconds: float) -> None:
        """Nobody enters for ``seconds`` and a little more, so that not all keys wake at one moment."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds + self.random.uniform(0, min(1.0, seconds * 0.1))
        if until <= self.paused_until and self._resume is not None:
            return
        self.paused_until = until
        if self._resume is not None:
            self._resume.cancel()
        self._resume = loop.call_at(until, self._wake)

    def paused_for(self) -> float:
        """Seconds until the key opens again, 0 where it is open."""
        if self._resume is None:
            return 0.0
        return max(0.0, self.paused_until - asyncio.get_running_loop().time())

    def _halve(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self.halved_at >= HALVE_SECONDS:
            self.halved_at = now
            self.learnt = True
            self.limit = max(1.0, min(self.limit, self.open + 1.0) / 2)

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
