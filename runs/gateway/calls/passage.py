"""What every call has on its way, however it goes: its place in the journal, its slot, its end."""

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from runs.gateway.answers import Failed, Refused, error_body, refusal
from runs.gateway.apis.base import Api, Asked
from runs.gateway.apis.events import Events
from runs.gateway.breaker import Caller
from runs.gateway.calls.accounting import account
from runs.gateway.http.inbound import Inbound, Request
from runs.gateway.http.outbound import Outbound
from runs.gateway.journal import FAILED, SETTLED, UNKNOWN, Call
from runs.gateway.leases import MOST_CALLS, Attempt, Lease, RunBook

if TYPE_CHECKING:
    from runs.gateway.process import Gateway

log = logging.getLogger("benchwright.gateway")


class Passage:
    """One request of a client, until it is answered. Refused where it may not be asked."""

    __slots__ = (
        "api", "asked", "attempt", "begun", "body", "book", "call", "caller", "conn", "earlier", "entered", "events",
        "gate", "keep", "lease", "outbound", "rested", "task", "waited",
    )  # fmt: skip

    def __init__(self, gate: "Gateway", lease: Lease, conn: Inbound, request: Request, api: Api) -> None:
        self.api = api
        self.gate = gate
        self.lease = lease
        self.book: RunBook = lease.book
        self.conn = conn
        self.keep = request.keep
        self.attempt: Attempt = lease.attempt(request.key)
        self.asked: Asked = api.prepare(request.body, self.book.model, self.book.provider, self.book.params)
        self.call: Call | None = None
        self.events: Events | None = None
        self.earlier: Call | None = None  # what the journal has for this very request
        self.outbound: Outbound | None = None
        self.task: asyncio.Task[None] | None = None
        self.caller: Caller | None = None  # once it waits or fails
        self.entered = False  # holds a slot of the pace
        self.waited = 0.0  # seconds for slots and back-off
        self.rested = 0.0  # of them back-off

    # -- the journal -----------------------------------------------------------------------------------------------
    def _take(self) -> tuple[Call, bool]:
        """The journal's call for this request, or a new one. Those that did not succeed are stepped over. Refused."""
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

    def _own(self, call: Call) -> None:
        self.call = call
        self.attempt.calls.append(call)
        self.attempt.open.append(self)

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

    # -- the answer ------------------------------------------------------------------------------------------------
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
            body, answer = self.api.read(raw)
        except ValueError:
            message = "the provider's answer is not JSON"
            raise Failed(502, error_body(502, "upstream_error", message), "provider_error", message) from None
        bad = self.api.fault(answer, headers, self.book.provider.label)
        if bad is not None:
            raise bad
        call.response = raw
        account(call, self.book, self.api.told(answer), self.api.names, self.asked.payload, body)
        return body

    # -- the end ---------------------------------------------------------------------------------------------------
    def _leave(self, *, ok: bool = False, bad: Failed | None = None) -> None:
        """Gives the slot back, where there is one. ``bad``: how the call failed."""
        if not self.entered:
            return
        self.entered = False
        if bad is None:
            self.book.pace.leave(ok=ok, caller=self.caller)
            return
        self.book.pace.leave(
            ok=False, refused=bad.status == 429, failed=bad.status >= 500, retry_after=bad.retry_after,
            caller=self._called(), said=bad.message,
        )  # fmt: skip

    def _called(self) -> Caller:
        """What the pace knows it by."""
        if self.caller is None:
            book, digest = self.book, self.asked.hash
            self.caller = Caller((book.run, self.attempt.ordinal, digest), digest, book.account)
        return self.caller

    def _over(self) -> None:
        self.lease.open_calls -= 1
        if self in self.attempt.open:
            self.attempt.open.remove(self)
        self.gate.direct.discard(self)

    def _inside(self, bad: Exception) -> None:
        """The fault is ours."""
        log.error("a call broke inside the gateway", exc_info=bad)
        self.attempt.trouble = "provider_error"
        self._end(FAILED, error_class="provider_error", message="the gateway failed")
        if self.events is not None and self.events.begun:
            self.conn.break_off()
        else:
            self.conn.respond(500, error_body(500, "internal_error", "the gateway failed"), keep=False)

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

    def _cancelled(self) -> None:
        """The attempt was closed, or the run cut off."""
        if self.lease.ended == "secret_revoked":
            self._end(UNKNOWN, error_class="missing_secret", message="the run's secret was deleted")
        else:
            self._end(UNKNOWN, error_class="timeout", message="the attempt ended before the answer came")
        if self.events is not None and self.events.begun:
            self.conn.break_off()
        elif self.lease.ended == "secret_revoked":
            body = error_body(403, "secret_revoked", "the secret that this run uses was deleted")
            self.conn.respond(403, body, keep=False)
        else:
            self.conn.respond(401, error_body(401, "key_expired", "this key's attempt is over"), keep=False)
