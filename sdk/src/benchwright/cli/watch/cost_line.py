"""What a run cost, in words: a call without a known price is never told as free."""

from collections.abc import Mapping
from typing import Any

from ..output import money

UNKNOWN = "price unknown"


def model_cost(run: Mapping[str, Any], summary: Mapping[str, Any]) -> str | None:
    """``$0.0021``, ``at least $0.0021`` or ``price unknown``: what the model asked. None where the run does not say."""
    costs = run.get("cost") or {}
    cost = costs.get("model")
    if not cost:
        return UNKNOWN if costs.get("unpriced") else None
    if not summary.get("unpriced_calls"):
        return money(cost)
    known = float(cost.get("amount") or cost["amount_cents"]) > 0
    return f"at least {money(cost)}" if known else UNKNOWN


def cost_line(run: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """``cost: $0.0021 at the provider, $0.00 billed by Benchwright``; "" where the run does not say."""
    asked, billed = model_cost(run, summary), (run.get("cost") or {}).get("billed")
    if not asked or not billed:
        return ""
    unpriced = summary.get("unpriced_calls") or 0
    why = f" ({_calls(unpriced)} without a known price)" if unpriced else ""
    guessed = summary.get("estimated_calls") or 0
    why += f" (tokens of {_calls(guessed)} estimated: the answers told none)" if guessed else ""
    cut = summary.get("unknown_calls") or 0
    why += f" ({_calls(cut)} cut off there: what that cost is unknown and not in the sum)" if cut else ""
    return f"cost: {asked} at the provider{why}{_authoring(run)}, {money(billed)} billed by Benchwright"


def _authoring(run: Mapping[str, Any]) -> str:
    """What driver and judge cost; "" where neither was asked."""
    costs = run.get("cost") or {}
    if "driver" in costs and costs["driver"] is None:
        return f", {UNKNOWN} for driver and judge"
    spent = float((costs.get("driver") or {}).get("amount") or 0)
    return f", {money(costs['driver'])} for driver and judge" if spent else ""


def _calls(number: int) -> str:
    return f"{number} call{'' if number == 1 else 's'}"
