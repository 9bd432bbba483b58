"""What a run that halted at its own ceiling may spend when the rest of it is run."""

import math
from collections.abc import Mapping
from typing import Any

from kernel.money import MICRO_CENTS_PER_DOLLAR
from runs.models import Run

REACHED = "limit_exceeded:"
ROOM = 2  # times what the rest would use at the average so far
_CENTS = 100


def raised(run: Run, cells: int) -> tuple[dict[str, Any], str] | None:
    """The run's ceilings with room for ``cells`` more, and that in words; None where no ceiling of its own halted it.

    A launch takes over its parent's ceilings: with the same one it would stop as the parent did.
    """
    level, _, quantity = (run.halt_reason or "").removeprefix(REACHED).partition(".")
    declared = run.limits.get(level)
    if not (run.halt_reason or "").startswith(REACHED) or level not in ("run", "phase") or not declared:
        return None
    per_cell = _used(run, quantity) / max(run.passed + run.failed + run.unscored + run.errored, 1)
    said: list[str] = []

    def lifted(found: Mapping[str, Any], name: str) -> dict[str, Any]:
        made: dict[str, Any] = dict(found)
        for key, value in found.items():
            if isinstance(value, Mapping):
                made[key] = lifted(value, f"{name}.{key}")
            elif key == quantity:
                made[key] = _whole(quantity, ROOM * max(value, per_cell * cells))
                said.append(f"{name}.{key} raised from {value:,} to {made[key]:,}")
        return made

    limits = {**run.limits, level: lifted(declared, level)}
    return (limits, " and ".join(said)) if said else None


def inherited(run: Run) -> dict[str, Any]:
    """The ceilings that a launch takes over from a run of one's own: what halted it has room for all of its cells."""
    found = raised(run, run.planned)
    return found[0] if found else dict(run.limits)


def _used(run: Run, quantity: str) -> float:
    """What the run came to: dollars, seconds or a count, as its ceilings are declared."""
    if quantity == "tokens":
        return run.tokens_in + run.tokens_out
    if quantity == "duration":
        ended = run.finished_at and run.started_at
        return (run.finished_at - run.started_at).total_seconds() if ended else 0.0  # type: ignore[operator]
    micro = run.cost_model + (run.cost_driver if quantity == "cost" else 0)
    return float(micro / MICRO_CENTS_PER_DOLLAR)


def _whole(quantity: str, value: float) -> float:
    """Rounded up: to a cent, a second or a token."""
    return math.ceil(value * _CENTS) / _CENTS if "cost" in quantity else math.ceil(value)
