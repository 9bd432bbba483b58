"""What a call that counts has used, by whom it was served, and what it costs."""

from typing import Any

from runs.gateway.journal import Call
from runs.gateway.leases import RunBook
from runs.providers import metering


def account(call: Call, book: RunBook, answer: dict[str, Any], sent: int, received: int) -> None:
    """Fill ``call`` from the provider's answer. ``sent`` and ``received``: bytes, for an answer without usage."""
    usage = metering.usage_of(answer, book.provider, sent, received)
    served, upstream = answer.get("model"), answer.get("provider")
    call.served = served if isinstance(served, str) else None
    call.upstream = upstream if isinstance(upstream, str) else book.provider.name
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    reason = first.get("finish_reason")
    call.finish_reason = reason if isinstance(reason, str) else None
    call.tokens_in, call.tokens_out, call.tokens_cached, call.tokens_reasoning = usage[:4]
    call.estimated = usage.estimated
    call.cost, call.priced_by = metering.cost_of(usage, book.provider, book.model, call.served)
