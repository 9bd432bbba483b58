"""What a call that counts has used, by whom it was served, and what it costs."""

from runs.gateway.apis.base import Told
from runs.gateway.journal import Call
from runs.gateway.leases import RunBook
from runs.providers import metering
from runs.providers.metering import Names, Usage


def account(call: Call, book: RunBook, told: Told, names: Names, sent: bytes, received: bytes | int) -> None:
    """Fill ``call`` from what the answer says. ``sent`` and ``received``: the bodies, for an answer without usage."""
    call.upstream = told.upstream or book.provider.name
    call.finish_reason = told.reason
    charge(call, book, metering.usage_of(told.usage, book.provider, sent, received, names), told.served)


def charge(call: Call, book: RunBook, usage: Usage, served: str | None) -> None:
    """Fill in tokens and cost. ``served``: the model that says it answered."""
    call.served = served
    call.tokens_in, call.tokens_out, call.tokens_cached, call.tokens_reasoning = usage[:4]
    call.estimated = usage.estimated
    call.cost, call.priced_by = metering.cost_of(usage, book.provider, book.model, served, book.prices)
