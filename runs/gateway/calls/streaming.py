"""A streamed answer from the provider to the client, and its account."""

from collections.abc import AsyncIterator, Iterable
from typing import NoReturn

from kernel.faults import fault
from runs.gateway.answers import Failed, error_body, faulty
from runs.gateway.calls.accounting import account
from runs.gateway.calls.passage import Passage
from runs.gateway.calls.relay import Relay
from runs.gateway.http.outbound import UpstreamError
from runs.gateway.journal import SETTLED, Call
from runs.providers import metering


class Streaming(Passage):
    """How a call's stream is passed on."""

    __slots__ = ()

    async def _stream(self, call: Call, blocks: AsyncIterator[bytes]) -> None:
        """Passes the provider's blocks on and settles the call. Failed where the stream breaks off."""
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

    def _cut(self, call: Call, relay: Relay, message: str, error_class: str) -> NoReturn:
        """A stream that broke off: what was delivered is counted, and the client sees the break."""
        call.response = bytes(relay.kept)
        usage = metering.estimate(len(self.asked.payload), relay.text_bytes)
        call.tokens_in, call.tokens_out, call.estimated = usage.tokens_in, usage.tokens_out, True
        call.served = relay.model
        call.cost, call.priced_by = metering.cost_of(usage, self.book.provider, self.book.model, relay.model)
        raise Failed(502, error_body(502, "upstream_error", message), error_class, message) from None


async def pieces(items: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Blocks that are there already, as if they came."""
    for item in items:
        yield item
