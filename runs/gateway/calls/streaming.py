"""A streamed answer from the provider to the client, and its account."""

from collections.abc import AsyncIterator, Iterable
from typing import NoReturn

from kernel.faults import fault
from runs.gateway.answers import Failed, error_body
from runs.gateway.apis.events import Events
from runs.gateway.calls.accounting import account, charge
from runs.gateway.calls.passage import Passage
from runs.gateway.http.outbound import UpstreamError
from runs.gateway.journal import SETTLED, Call
from runs.providers import metering


class Streaming(Passage):
    """How a call's stream is passed on."""

    __slots__ = ()

    async def _stream(self, call: Call, blocks: AsyncIterator[bytes]) -> None:
        """Passes the provider's blocks on and settles the call. Failed where the stream breaks off."""
        events = self.events = self.api.events(self.conn, self.book.redactor, self.asked)
        try:
            async for block in blocks:
                events.feed(block)
                fault("M3")
                if self.conn.draining is not None:
                    await self.conn.draining
            events.finish()
        except UpstreamError as bad:
            self._cut(call, events, str(bad), "timeout" if bad.kind == "timeout" else "provider_error")
        except ValueError as bad:
            self._cut(call, events, str(bad), "provider_error")
        summary = events.summary()
        if self.api.fault(summary, {}, "") is not None:
            self._cut(call, events, "the provider broke the stream off with an error", "provider_error")
        call.http_status = 200
        call.response = bytes(events.kept)
        account(call, self.book, self.api.told(summary), self.api.names, self.asked.payload, events.text_bytes)
        self._end(SETTLED)
        fault("M5")
        events.end(self.keep)

    def _cut(self, call: Call, events: Events, message: str, error_class: str) -> NoReturn:
        """A stream that broke off: what was delivered is counted, and the client sees the break."""
        call.response = bytes(events.kept)
        served = events.said.get("model")
        charge(call, self.book, metering.estimate(self.asked.payload, events.text_bytes), served)
        raise Failed(502, error_body(502, "upstream_error", message), error_class, message) from None


async def pieces(items: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Blocks that are there already, as if they came."""
    for item in items:
        yield item
