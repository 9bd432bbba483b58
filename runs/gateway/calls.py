"""One call's way: key, rules, journal, slot, provider, journal, answer."""

import asyncio
import logging
import random
import time
from typing import TYPE_CHECKING, Any

import orjson

from kernel import env
from kernel.faults import fault
from runs.gateway import rules
from runs.gateway.accounting import account
from runs.gateway.answers import Failed, Refused, error_body, faulty, normalised, refusal, unheard
from runs.gateway.http.inbound import Inbound, Request
from runs.gateway.http.outbound import Exchange, Outbound, UpstreamError
from runs.gateway.journal import FAILED, SETTLED, UNKNOWN, Call
from runs.gateway.leases import MOST_CALLS, Attempt, Lease, RunBook
from runs.gateway.rules import Asked
from runs.gateway.streams import Relay
from runs.providers import metering, simulated

if TYPE_CHECKING:
    from runs.gateway.process import Gateway

log = logging.getLogger("benchwright.gateway")

TRIES = int(env.number("BENCHWRIGHT_MODEL_TRIES", 6, least=1))
RETRY_SECONDS = env.number("BENCHWRIGHT_MODEL_RETRY_SECONDS", 600, least=0)
FIRST_WAIT = 0.5
LONGEST_WAIT = 60.0
NO_RETRY = b"x-should-retry: false\r\n"  # we have retried already; the client need not
SIMULATED_LATENCY = env.number("BENCHWRIGHT_SIMULATED_LATENCY_MS", 0, least=0) / 1000
_random = random.Random()  # noqa: S311 (jitter)


class Chat:
    """One chat completion asked by a client."""

    __slots__ = (
        "asked", "attempt", "begun", "body", "book", "call", "conn", "earlier", "entered", "gate", "keep", "lease",
        "outbound", "relay", "rested", "task", "waited",
    )  # fmt: skip

    def __init__(self, gate: "Gateway", lease: Lease, conn: Inbound, request: Request) -> None:
        self.gate = gate
        self.lease = lease
        self.book: RunBook = lease.book
        self.conn = conn
        self.keep = request.keep
        self.attempt: Attempt = lease.attempt(request.key)
        self.asked: Asked = rules.prepare(request.body, self.book.model, self.book.provider, self.book.params)
        self.call: Call | None = None
        self.relay: Relay | None = None
        self.earlier: Call | None = None  # what the journal has for this very request
        self.outbound: Outbound | None = None
        self.task: asyncio.Task[None] | None = None
        self.entered = False  # holds a slot of the pace
        self.waited = 0.0  # seconds for slots and back-off
        self.rested = 0.0  # of them back-off

    def start(self) -> None:
        """Answers the client, now or later. Refused."""
        if not self._go_direct():
            self._spawn(None)
            self.lease.open_calls += 1  # _over takes it off again

    def _spawn(self, bad: Failed | None) -> None:
        self.task = self.gate.loop.create_task(self.run(bad))
        self.gate.tasks.add(self.task)
        self.task.add_done_callback(self.gate.tasks.discard)

    def cancel(self) -> None:
        """Ends a call that has not been answered: what had been sent stays in doubt."""
        if self.task is not None:
            self.task.cancel()
        elif self.call is not None:
            self._leave()
            if self.outbound is not None:
                self.outbound.give_up()
                self.outbound = None
            self._cancelled()
            self._over()
            self.call = None

    def _over(self) -> None:
        self.lease.open_calls -= 1
        if self in self.attempt.open:
            self.attempt.open.remove(self)
        self.gate.direct.discard(self)

    def _own(self, call: Call) -> None:
        self.call = call
        self.attempt.calls.append(call)
        self.attempt.open.append(self)

    # -- the common case: one callback after the other, no task ----------------------------------------------------
    def _go_direct(self) -> bool:
        """Begins a call that nothing stands in the way of. False, and nothing done, for any other. Refused."""
        book, attempt, pace = self.book, self.attempt, self.book.pace
        if self.asked.stream or book.pool is None or self.lease.ended or pace.waiters or not pace.free():
            return False
        if attempt.known is None and not self.gate.new_cell(book, attempt):
            return False
        call, fresh = self._take()
        if not fresh:
            self.earlier = call
            return False
        self._own(call)
        self.gate.direct.add(self)
        self.lease.open_calls += 1
        pace.open += 1
        self.entered = True
        fault("M1")
        self.gate.journal.post(call, self._durable)
        return True

    def _durable(self, bad: OSError | None) -> None:
        """The journal has the call: off it goes."""
        call = self.call
        if call is None:
            return  # cancelled meanwhile
        if bad is not None:
            self._broke(bad)
            return
        fault("M2")
        try:
            self._send(call)
        except Exception as broken:
            self._broke(broken)

    def _send(self, call: Call) -> None:
        pool = self.book.pool
        conn = pool.ready() if pool is not None else None
        if pool is None or conn is None:
            self.gate.direct.discard(self)
            self._spawn(None)  # it dials
            return
        call.tries += 1
        self.begun = time.monotonic()
        self.outbound = conn
        conn.send(Exchange(pool.loop, self._heard), pool.target.request(self.asked.payload))

    def _heard(self, exchange: Exchange) -> None:
        """The provider has answered, or can't be heard."""
        call = self.call
        if call is None:
            return
        self.outbound = None
        call.latency_ms = int((time.monotonic() - self.begun) * 1000)
        try:
            if exchange.error is not None:
                raise unheard(exchange.error)
            self.body = self._judged(call, exchange.status, exchange.headers, b"".join(exchange.chunks))
            self._leave(ok=True)
            call.settled = time.time()
            call.status = SETTLED
            self.gate.journal.finish(call, self._deliver)
            self._over()
        except Failed as bad:
            self._leave(refused=bad.status == 429, failed=bad.status >= 500, retry_after=bad.retry_after)
            self.gate.direct.discard(self)
            self._spawn(bad)
        except Exception as bad:
            self._broke(bad)

    def _deliver(self) -> None:
        """The journal has the answer: the client's turn."""
        call = self.call
        if call is not None:
            self.gate.store.add(call)
            if call.finished is not None and not call.finished.done():
                call.finished.set_result(None)
            fault("M5")
            self.conn.respond(200, self.body, keep=self.keep)

    def _broke(self, bad: Exception) -> None:
        self.outbound = None
        self._leave()
        self._inside(bad)
        self._over()
        self.call = None

    # -- everything else: a task -----------------------------------------------------------------------------------
    async def run(self, bad: Failed | None = None) -> None:
        """Answers the client; ``bad`` is how a first try ended. Never raises but CancelledError."""
        try:
            await self._run(bad)
        except Refused as no:
            self.conn.respond(no.status, no.body(), keep=self.keep)
        except Failed as end:
            if self.relay is not None and self.relay.begun:
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

    def _inside(self, bad: Exception) -> None:
        log.error("a call broke inside the gateway", exc_info=bad)
        self.attempt.trouble = "provider_error"
        self._end(FAILED, error_class="provider_error", message="the gateway failed")
        if self.relay is not None and self.relay.begun:
            self.conn.break_off()
        else:
            self.conn.respond(500, error_body(500, "internal_error", "the gateway failed"), keep=False)

    def _cancelled(self) -> None:
        """The attempt was closed, or the run cut off. What had been sent stays in doubt."""
        if self.lease.ended == "secret_revoked":
            self._end(UNKNOWN, error_class="missing_secret", message="the run's secret was deleted")
        else:
            self._end(UNKNOWN, error_class="timeout", message="the attempt ended before the answer came")
        if self.relay is not None and self.relay.begun:
            self.conn.break_off()
        elif self.lease.ended == "secret_revoked":
            body = error_body(403, "secret_revoked", "the secret that this run uses was deleted")
            self.conn.respond(403, body, keep=False)
        else:
            self.conn.respond(401, error_body(401, "key_expired", "this key's attempt is over"), keep=False)

    # -- journal ---------------------------------------------------------------------------------------------------
    async def _run(self, bad: Failed | None) -> None:
        if self.call is None:
            if self.attempt.known is None:
                await self.gate.load(self.book, self.attempt)
            call, fresh = (self.earlier, False) if self.earlier is not None else self._take()
            if not fresh:
                await self._again(call)
                return
            self._own(call)
        else:
            call = self.call
        await self._new(call, bad)

    def _take(self) -> tuple[Call, bool]:
        """The journal's call for this request, or a new one. Those that did not succeed are stepped over."""
        attempt, book, digest = self.attempt, self.book, self.asked.hash
        if len(attempt.calls) >= MOST_CALLS:
            raise Refused(429, "too_many_calls", f"an attempt may make {MOST_CALLS} calls")
        if self.gate.store.full():
            attempt.trouble = "provider_error"
            raise Refused(503, "journal_full", "the gateway waits for its database")
        occurrence, found = attempt.counts.get(digest, 0), None
        cell, known = book.cells.get(attempt.ordinal), attempt.known
        if cell or known:
            while True:
                place = digest, occurrence
                found = (cell.get(place) if cell else None) or (known.get(place) if known else None)
                if found is None or found.status not in (FAILED, UNKNOWN):
                    break
                occurrence += 1
        attempt.counts[digest] = occurrence + 1
        if found is not None:
            return found, False
        call = Call(book.run, attempt.ordinal, attempt.number, digest, occurrence)
        call.streamed = self.asked.stream
        call.request = self.asked.payload
        book.remember(call)
        return call, True

    async def _again(self, call: Call) -> None:
        """An earlier attempt made this call: its answer, once it is there."""
        self.attempt.calls.append(call)
        self.attempt.reused += 1
        self.gate.journal.flush()  # nothing is told that a crash could still take back
        if not call.ended():
            if call.finished is None:
                call.finished = asyncio.get_running_loop().create_future()
            await asyncio.shield(call.finished)
        if call.status != SETTLED:
            raise Failed(
                502,
                error_body(502, call.error_class or "provider_error", call.error_message or "the call failed"),
                call.error_class or "provider_error",
                call.error_message or "the call failed",
            )
        self.attempt.cost_reused += call.cost or 0
        if call.streamed:
            Relay(self.conn, self.book.redactor, self.asked.show_usage).replay(call.response, self.keep)
            return
        body, _ = normalised(call.response)
        self.conn.respond(200, body, keep=self.keep)

    def _end(self, status: str, *, error_class: str | None = None, message: str | None = None) -> None:
        """Writes a call's end. A call that was never sent leaves no trace but in the attempt's facts."""
        call = self.call
        if call is None or call.ended():
            return
        never_sent = not call.status
        call.settled = time.time()
        call.waited_ms = int(self.waited * 1000)
        call.error_class, call.error_message = error_class, message
        call.status = status
        if never_sent and status != SETTLED:
            self.book.forget(call)
            if call in self.attempt.calls and status == UNKNOWN:
                self.attempt.calls.remove(call)
        else:
            self.gate.journal.ended(call)
            self.gate.store.add(call)
        if call.finished is not None and not call.finished.done():
            call.finished.set_result(None)

    # -- the provider ----------------------------------------------------------------------------------------------
    async def _new(self, call: Call, bad: Failed | None) -> None:
        while True:
            if bad is not None and (
                not bad.retry or call.tries >= TRIES or self.lease.ended or not await self._back_off(call, bad)
            ):
                call.http_status = bad.status
                call.response = call.response or bad.body
                self._end(FAILED, error_class=bad.error_class, message=bad.message)
                raise bad
            call.tries += 1
            try:
                await self._try(call)
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
            }
        )
        await self._waiting(asyncio.sleep(wait))
        return not self.lease.ended

    async def _waiting(self, what: Any) -> None:
        begun = time.monotonic()
        self.attempt.waits.begin()
        try:
            await what
        finally:
            self.attempt.waits.end()
            self.waited += time.monotonic() - begun

    async def _try(self, call: Call) -> None:
        if not self.entered:
            await self._enter()
        try:
            if self.lease.ended:
                raise Failed(
                    401, error_body(401, "key_expired", "the run's lease is over"), "timeout", "the lease ended"
                )
            if not call.status:
                fault("M1")
                await self.gate.journal.sent(call)
                fault("M2")
            await self._exchange(call)
        except Failed as bad:
            self._leave(refused=bad.status == 429, failed=bad.status >= 500, retry_after=bad.retry_after)
            raise
        self._leave(ok=True)

    async def _enter(self) -> None:
        pace = self.book.pace
        if not pace.waiters and pace.free():
            pace.open += 1
        else:
            await self._waiting(pace.enter())
        self.entered = True

    def _leave(
        self, *, ok: bool = False, refused: bool = False, failed: bool = False, retry_after: float | None = None
    ) -> None:
        """Gives the slot back, where there is one."""
        if self.entered:
            self.entered = False
            self.book.pace.leave(ok=ok, refused=refused, failed=failed, retry_after=retry_after)

    async def _exchange(self, call: Call) -> None:
        begun = time.monotonic()
        try:
            if self.book.pool is None:
                await self._simulate(call)
                return
            exchange, outbound = await self.book.pool.start(self.asked.payload)
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

    def _judged(self, call: Call, status: int, headers: dict[bytes, bytes], raw: bytes) -> bytes:
        """What the client gets for an answer that counts, and its account in ``call``. Failed for any other."""
        raw = self.book.redactor.clean(raw)
        if self.book.redactor.found == 1:
            log.warning("run %s: the provider sent the key back; it was taken out", self.book.run)
        call.http_status = status
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            message = "the provider packed its answer, though we had asked it not to"
            raise Failed(502, error_body(502, "upstream_error", message), "provider_error", message)
        if status != 200:
            raise refusal(status, headers, raw, self.book.provider.label)
        try:
            body, answer = normalised(raw)
        except ValueError:
            message = "the provider's answer is not JSON"
            raise Failed(502, error_body(502, "upstream_error", message), "provider_error", message) from None
        bad = faulty(answer, headers, raw, self.book.provider.label)
        if bad is not None:
            raise bad
        call.response = raw
        account(call, self.book, answer, len(self.asked.payload), len(body))
        return body

    # -- streams ---------------------------------------------------------------------------------------------------
    async def _stream(self, call: Call, blocks: Any) -> None:
        relay = self.relay = Relay(self.conn, self.book.redactor, self.asked.show_usage)
        try:
            async for block in blocks:
                relay.feed(block)
                fault("M3")
                if self.conn.draining is not None:
                    await self.conn.draining
            relay.finish()
        except UpstreamError as bad:
            self._cut(call, relay, str(bad), "timeout" if bad.kind == "timeout" else "provider_error")
        except ValueError as bad:
            self._cut(call, relay, str(bad), "provider_error")
        summary = relay.summary()
        if faulty(summary, {}, b"", "") is not None:
            self._cut(call, relay, "the provider broke the stream off with an error", "provider_error")
        call.http_status = 200
        call.response = bytes(relay.kept)
        account(call, self.book, summary, len(self.asked.payload), relay.text_bytes)
        self._end(SETTLED)
        fault("M5")
        relay.end(self.keep)

    def _cut(self, call: Call, relay: Relay, message: str, error_class: str) -> None:
        """A stream that broke off: what was delivered is counted, and the client sees the break."""
        call.response = bytes(relay.kept)
        usage = metering.estimate(len(self.asked.payload), relay.text_bytes)
        call.tokens_in, call.tokens_out, call.estimated = usage.tokens_in, usage.tokens_out, True
        call.served = relay.model
        call.cost, call.priced_by = metering.cost_of(usage, self.book.provider, self.book.model, relay.model)
        raise Failed(502, error_body(502, "upstream_error", message), error_class, message) from None

    async def _simulate(self, call: Call) -> None:
        if SIMULATED_LATENCY:
            await asyncio.sleep(SIMULATED_LATENCY)
        if self.asked.stream:
            await self._stream(call, _pieces(simulated.chunks(self.asked.body)))
        else:
            self._answered(call, 200, {}, orjson.dumps(simulated.answer(self.asked.body)))


async def _pieces(items: list[bytes]) -> Any:
    for item in items:
        yield item
