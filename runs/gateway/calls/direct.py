"""The common case: one callback after the other, no task. Whatever does not fit goes on in a task."""

import time

from kernel.faults import fault
from runs.gateway.answers import Failed, unheard
from runs.gateway.calls.tasked import Tasked
from runs.gateway.http.outbound import Exchange
from runs.gateway.journal import SETTLED, Call


class Direct(Tasked):
    """One request of a client, from ``start`` to its answer."""

    __slots__ = ()

    def start(self) -> None:
        """Answers the client, now or later. Refused."""
        if not self._go_direct():
            self._spawn(None)
            self.lease.open_calls += 1  # _over takes it off again

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
        self.book.note(self.api.name)
        conn.send(Exchange(pool.loop, self._heard), pool.target.request(self.api.name, self.asked.payload))

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
            self._leave(bad=bad)
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
