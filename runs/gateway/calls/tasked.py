"""A call that waits: for the journal, a slot, another try, or a stream. It has a task of its own."""

import asyncio
import random
import time
from collections.abc import Awaitable
from typing import Any

import orjson

from kernel import env
from kernel.faults import fault
from runs.gateway.answers import Failed, Refused, error_body, unheard
from runs.gateway.breaker import RETRY_SECONDS, ProviderDown
from runs.gateway.calls.streaming import Streaming, pieces
from runs.gateway.http.outbound import UpstreamError
from runs.gateway.journal import FAILED, SETTLED, Call
from runs.providers import simulated_apis

TRIES = int(env.number("BENCHWRIGHT_MODEL_TRIES", 6, least=1))
FIRST_WAIT = 0.5
LONGEST_WAIT = 60.0
NO_RETRY = b"x-should-retry: false\r\n"  # we have retried already; the client need not
SIMULATED_LATENCY = env.number("BENCHWRIGHT_SIMULATED_LATENCY_MS", 0, least=0) / 1000
_random = random.Random()  # noqa: S311 (jitter)


class Tasked(Streaming):
    """The way with a task."""

    __slots__ = ()

    def _spawn(self, bad: Failed | None) -> None:
        """Goes on in a task; ``bad`` is how a first try ended."""
        self.task = self.gate.loop.create_task(self._run(bad))
        self.gate.tasks.add(self.task)
        self.task.add_done_callback(self.gate.tasks.discard)

    async def _run(self, bad: Failed | None) -> None:
        """Answers the client. Never raises but CancelledError."""
        try:
            await self._answer(bad)
        except Refused as no:
            self.conn.respond(no.status, no.body(), keep=self.keep)
        except Failed as end:
            if self.events is not None and self.events.begun:
                self.conn.break_off()
            else:
                self.conn.respond(end.status, end.body, keep=self.keep, extra=NO_RETRY)
        except asyncio.CancelledError:
            self._cancelled()
        except Exception as broken:
            self._inside(broken)
        finally:
            self._leave()
            self._over()

    async def _answer(self, bad: Failed | None) -> None:
        call = self.call
        if call is None:
            if self.attempt.known is None:
                await self.gate.load(self.book, self.attempt)
            call, fresh = (self.earlier, False) if self.earlier is not None else self._take()
            if not fresh:
                await self._again(call)
                return
            self._own(call)
        await self._until_answered(call, bad)

    async def _again(self, call: Call) -> None:
        """An earlier attempt made this call: its answer, once it is there."""
        self.attempt.calls.append(call)
        self.attempt.reused += 1
        self.gate.journal.flush()  # nothing is told that a crash could still take back
        begun = time.monotonic()
        if not call.ended():
            if call.finished is None:
                call.finished = asyncio.get_running_loop().create_future()
            await asyncio.shield(call.finished)
        self.attempt.reused_ms += max(0, call.latency_ms - int((time.monotonic() - begun) * 1000))
        if call.status != SETTLED:
            kind, message = call.error_class or "provider_error", call.error_message or "the call failed"
            raise Failed(502, error_body(502, kind, message), kind, message)
        self.attempt.cost_reused += call.cost or 0
        if call.streamed:
            self.api.events(self.conn, self.book.redactor, self.asked).replay(call.response, self.keep)
            return
        body, _ = self.api.read(call.response)
        self.conn.respond(200, body, keep=self.keep)

    # -- tries -----------------------------------------------------------------------------------------------------
    async def _until_answered(self, call: Call, bad: Failed | None) -> None:
        """Tries until it is answered, or there is no use in another try. Failed."""
        while True:
            if bad is not None and (
                not bad.retry or call.tries >= TRIES or self.lease.ended or not await self._back_off(call, bad)
            ):
                call.http_status = bad.status
                call.response = call.response or bad.body
                self._end(FAILED, error_class=bad.error_class, message=bad.message)
                raise bad
            try:
                await self._try(call, bad)
                return
            except Failed as found:
                bad = found

    async def _back_off(self, call: Call, bad: Failed) -> bool:
        """Waits before the next try. False where the wait would be longer than we may wait in all."""
        wait = bad.retry_after
        if wait is None:
            wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (call.tries - 1)) * _random.uniform(0.5, 1.0)
        if self.rested + wait > RETRY_SECONDS:
            return False
        self.rested += wait
        self.lease.control.push(
            {
                "op": "retry",
                "lease": self.lease.name,
                "cell": call.ordinal,
                "attempt": self.attempt.number,
                "status": bad.status,
                "wait_s": round(wait, 3),
                "try": call.tries,
                "provider": self.book.provider.name,
                "model": self.book.model,
            }
        )
        await self._waiting(asyncio.sleep(wait))
        return not self.lease.ended

    async def _waiting(self, what: Awaitable[Any]) -> None:
        begun = time.monotonic()
        self.attempt.waits.begin()
        try:
            await what
        finally:
            self.attempt.waits.end()
            self.waited += time.monotonic() - begun

    async def _try(self, call: Call, earlier: Failed | None) -> None:
        if not self.entered:
            await self._enter(earlier)
        try:
            if self.lease.ended:
                message = "the run's lease is over"
                raise Failed(401, error_body(401, "key_expired", message), "timeout", message)
            call.tries += 1
            if not call.status:
                fault("M1")
                await self.gate.journal.sent(call)
                fault("M2")
            await self._exchange(call)
        except Failed as bad:
            self._leave(bad=bad)
            raise
        self._leave(ok=True)

    async def _enter(self, earlier: Failed | None) -> None:
        """Takes a slot. Failed where the provider has been away for longer than a call may wait.

        ``earlier``: how the try before failed. Then that is what happened to the call, and the wait comes second.
        """
        pace = self.book.pace
        if not pace.waiters and pace.free():
            pace.open += 1
        else:
            try:
                await self._waiting(pace.enter(self._called()))
            except ProviderDown as down:
                down.own = earlier.message if earlier is not None else down.own
                message = down.words(self.book.provider.label)
                if earlier is not None:
                    raise Failed(earlier.status, earlier.body, earlier.error_class, message) from None
                body = error_body(503, "upstream_error", message)
                raise Failed(503, body, "provider_error", message) from None
        self.entered = True

    # -- the provider ----------------------------------------------------------------------------------------------
    async def _exchange(self, call: Call) -> None:
        begun = time.monotonic()
        try:
            if self.book.pool is None:
                await self._simulate(call)
                return
            exchange, outbound = await self.book.pool.start(self.api.name, self.asked.payload)
            self.book.note(self.api.name)
            try:
                status = await exchange.head()
                if status == 200 and self.asked.stream:
                    await self._stream(call, exchange.blocks())
                    return
                raw = await exchange.body()
            finally:
                if not exchange.done:
                    outbound.transport.abort()
        except UpstreamError as bad:
            raise unheard(bad) from None
        finally:
            call.latency_ms = int((time.monotonic() - begun) * 1000)
        self._answered(call, status, exchange.headers, raw)

    def _answered(self, call: Call, status: int, headers: dict[bytes, bytes], raw: bytes) -> None:
        body = self._judged(call, status, headers, raw)
        self._end(SETTLED)
        fault("M5")
        self.conn.respond(200, body, keep=self.keep)

    async def _simulate(self, call: Call) -> None:
        if SIMULATED_LATENCY:
            await asyncio.sleep(SIMULATED_LATENCY)
        if self.asked.stream:
            await self._stream(call, pieces(simulated_apis.chunks(self.api.name, self.asked.body)))
        else:
            self._answered(call, 200, {}, orjson.dumps(simulated_apis.answer(self.api.name, self.asked.body)))
