"""How many calls may be open at a provider with one key and model. Shared by all runs that use them.

The limit grows with success and shrinks with refusals, by as much as refusals are common (as DCTCP does): where every
answer is 429 it halves each second, where one in twenty is, it hardly moves. It starts at 128 because the number of
calls at once is already the user's choice (``concurrency``): the limit only has to be learnt where that choice was too
high. Until the first refusal each success adds one, so 128 becomes 256 within one round trip; afterwards one per full
window.

Refusals in numbers are a wall: then a ``Retry-After`` closes the key for everybody, and so do faults of several
requests in a row (``breaker.py``). When the key opens again one call goes first, and its success lets two follow, then
four, up to half of what it was. A lone refusal delays only its own call.

While a provider answers with faults, who goes first is a call whose request has not failed. A call that was never sent
and has waited too long is sent all the same, a few of them at once; only what has been tried ends unsent.
"""

import asyncio
import random

from runs.gateway.breaker import BREAK_SECONDS, Breaker, Caller

START = 128.0
MOST = 2048.0
SHRINK_SECONDS = 1.0  # one burst of refusals is one sign, not many
WALL = 0.25  # share of refusals from which a Retry-After is taken to mean everybody

LAST_CHANCES = 8  # calls that had waited too long, at the provider at once
PATROL_SECONDS = 0.2  # least time between two looks at who has waited too long


class Waiter:
    """A call that waits for a slot since ``came``. ``late``: it has waited as long as it may and was never sent."""

    __slots__ = ("caller", "came", "future", "late")

    def __init__(self, caller: Caller, loop: asyncio.AbstractEventLoop) -> None:
        self.caller = caller
        self.came = loop.time()
        self.future: asyncio.Future[None] = loop.create_future()
        self.late = False


class Pace:
    """Slots of one provider key and model. ``enter`` and ``leave`` come in pairs."""

    def __init__(self) -> None:
        self.limit = START
        self.open = 0
        self.waiters: dict[Waiter, None] = {}  # in order of asking
        self.paused_until = 0.0
        self.shrunk_at = -SHRINK_SECONDS
        self.refusals = 0.0  # the share of refusals lately, 0..1
        self.ceiling = MOST  # below it the limit grows quickly
        self.probing = False
        self.breaker = Breaker()
        self.chances = 0  # last chances under way
        self._resume: asyncio.TimerHandle | None = None
        self._by_faults = False  # what closed the key
        self._patrol: asyncio.TimerHandle | None = None
        self._quiet: asyncio.TimerHandle | None = None
        self.random = random.Random()  # noqa: S311 (jitter)

    def free(self) -> bool:
        if self._resume is not None:
            return False
        return self.open < int(self.limit)

    async def enter(self, caller: Caller | None = None) -> None:
        """Waits for a slot, in order of asking. ProviderDown where it is no use."""
        caller, loop = caller or Caller(), asyncio.get_running_loop()
        if self._resume is not None and self.breaker.no_use(caller):
            raise self.breaker.down(caller, loop.time())
        if not self.waiters and self.free():
            self.open += 1
            return
        waiter = Waiter(caller, loop)
        self.waiters[waiter] = None
        if self._resume is not None and self._by_faults and self.breaker.stale and self.breaker.untried(caller):
            self._reopen()
            self._wake()  # what went first last time had failed before: this one says more
        self._plan_patrol(waiter)
        try:
            await waiter.future
        except asyncio.CancelledError:
            self.waiters.pop(waiter, None)
            if waiter.future.done() and not waiter.future.cancelled() and waiter.future.exception() is None:
                self._give_back(caller)
            self._rest()
            raise
        finally:
            now = loop.time()
            caller.held += min(now - waiter.came, self.breaker.faulty_for(now))

    def leave(
        self,
        *,
        ok: bool,
        refused: bool = False,
        failed: bool = False,
        retry_after: float | None = None,
        caller: Caller | None = None,
        said: str = "",
    ) -> None:
        """Gives the slot back. ``ok``: it answered as it should; ``refused``: 429; ``failed``: 5xx or nothing.

        None of them: the call was given up here, or was wrong in itself, which says nothing about the provider.
        ``retry_after``: seconds, where the provider named them. ``said``: how it failed, in words.
        """
        if ok:
            self._good()
        elif refused:
            self._bad(caller or Caller(), None, retry_after)
        elif failed:
            self._bad(caller or Caller(), said, None)
        else:
            self.probing = self.probing and self.breaker.breaks > 0  # the next one is a probe as well
        self._give_back(caller)
        if self.breaker.since is not None:
            self._rest()

    def _give_back(self, caller: Caller | None) -> None:
        self.open -= 1
        if caller is not None and caller.chance:
            caller.chance = False
            self.chances -= 1
            self._last_chances()
        if self.waiters:
            self._let_in()

    def _good(self) -> None:
        self.probing = False
        self.breaker.good()
        if self._resume is not None and self._by_faults:
            self._reopen()
        if self.refusals:
            self.refusals -= self.refusals * self._weight()
        if self.limit < MOST:
            self.limit += 1.0 if self.limit < self.ceiling else 1.0 / self.limit

    def _bad(self, caller: Caller, said: str | None, retry_after: float | None) -> None:
        now = asyncio.get_running_loop().time()
        if said is None:
            self.refusals += (1 - self.refusals) * self._weight()
            self._shrink()
            if retry_after and (self.probing or self.refusals >= WALL):
                self.pause(retry_after)
        if self._resume is not None:  # it is open already: what was under way says nothing new
            if said is not None:
                self.breaker.note(now, caller, said)
            return
        seconds = self.breaker.bad(now, caller, said=said, probe=self.probing)
        if seconds is None:
            return
        if self.breaker.stale and any(self.breaker.untried(waiter.caller) for waiter in self.waiters):
            return  # another goes first, at once
        self.pause(seconds, by_faults=said is not None)
        self._plan_patrol(*self.waiters)

    # -- who has waited too long -----------------------------------------------------------------------------------
    def _due(self, waiter: Waiter) -> float:
        """When it has waited too long; for one that is late already: too long for its turn to be sent."""
        since = max(waiter.came, self.breaker.since or 0.0)
        patience = self.breaker.patience(waiter.caller, waiter.came)
        return since + patience + (max(patience, BREAK_SECONDS[-1]) if waiter.late else 0.0)

    def _plan_patrol(self, *waiters: Waiter) -> None:
        """Has the row looked at once the first of ``waiters`` has waited too long."""
        loop = asyncio.get_running_loop()
        if not waiters or not self.breaker.faulty_for(loop.time()):
            return
        first = max(min(map(self._due, waiters)), loop.time() + PATROL_SECONDS)
        if self._patrol is not None:
            if self._patrol.when() <= first:
                return
            self._patrol.cancel()
        self._patrol = loop.call_at(first, self._look_round)

    def _look_round(self) -> None:
        self._patrol = None
        now = asyncio.get_running_loop().time()
        if not self.breaker.faulty_for(now):
            return
        late = [waiter for waiter in self.waiters if self._due(waiter) <= now]
        for waiter in late:
            if waiter.late or waiter.caller.cell in self.breaker.cells:
                self.waiters.pop(waiter)
                if not waiter.future.done():
                    waiter.future.set_exception(self.breaker.down(waiter.caller, now))
            waiter.late = True
        if late and self.breaker.hopeless is None:
            self.breaker.hopeless = now
        self._last_chances()
        self._plan_patrol(*self.waiters)
        self._rest()

    def _last_chances(self) -> None:
        late = (waiter for waiter in list(self.waiters) if waiter.late)
        while self.chances < LAST_CHANCES and (waiter := next(late, None)) is not None:
            if self._admit(waiter):
                self.chances += 1
                waiter.caller.chance = True

    def _rest(self) -> None:
        """Where nobody asks any more, the faults so far are forgotten after a while."""
        if self._quiet is not None:
            self._quiet.cancel()
            self._quiet = None
        if not self.open and not self.waiters and self.breaker.since is not None:
            self._quiet = asyncio.get_running_loop().call_later(BREAK_SECONDS[-1], self._forget)

    def _forget(self) -> None:
        self._quiet = None
        if self.open or self.waiters or self.breaker.since is None:
            return
        self.breaker.good()
        self.probing = False
        if self._by_faults:
            self._reopen()
            self.limit = max(self.limit, self.ceiling)

    # -- opening and closing ---------------------------------------------------------------------------------------
    def _weight(self) -> float:
        """Of one answer in the share: the fewer calls are open, the sooner a refusal counts as a wall."""
        return 1.0 / min(16, max(4, self.open))

    def _shrink(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self.shrunk_at >= SHRINK_SECONDS:
            self.shrunk_at = now
            self.limit = max(1.0, min(self.limit, float(self.open)) * (1 - self.refusals / 2))
            self.ceiling = self.limit

    def pause(self, seconds: float, *, by_faults: bool = False) -> None:
        """Nobody enters for ``seconds`` and a little more, so that not all keys wake at one moment."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds + self.random.uniform(0, min(1.0, seconds * 0.1))
        if self._resume is None:
            if not self.probing:  # faults say nothing about how many at once are too many
                self.ceiling = max(1.0, (self.limit if by_faults else min(self.limit, float(self.open))) / 2)
            self.limit = 1.0
        elif until <= self.paused_until:
            return
        else:
            self._resume.cancel()
        self._by_faults = by_faults
        self.paused_until = until
        self._resume = loop.call_at(until, self._wake)

    def _reopen(self) -> None:
        """Ends the pause before its time."""
        if self._resume is not None:
            self._resume.cancel()
            self._resume = None

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
            self._admit(self._next())

    def _next(self) -> Waiter:
        """Who is first in the row; while it is being tried, one of those whose request has failed least."""
        if not self.probing:
            return next(iter(self.waiters))
        failures = {waiter: self.breaker.failures(waiter.caller) for waiter in self.waiters}
        least = min(failures.values())
        if least == 0 and not self.breaker.requests:
            return next(iter(self.waiters))
        return self.random.choice([waiter for waiter, count in failures.items() if count == least])

    def _admit(self, waiter: Waiter) -> bool:
        """False where its call is gone."""
        self.waiters.pop(waiter)
        if waiter.future.done():
            return False
        self.open += 1
        waiter.future.set_result(None)
        return True
