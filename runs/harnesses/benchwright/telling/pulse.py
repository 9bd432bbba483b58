"""The engine's heartbeat: renew leases, see halts and ceilings, share the concurrency, say how it goes."""

import asyncio
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from runs import halting
from runs.context import Context, LeaseLost
from runs.leases import Lease

_STATE = """
SELECT r.status, r.halt_requested, r.cost_model, r.cost_driver, r.tokens_in + r.tokens_out,
       extract(epoch FROM clock_timestamp() - r.started_at)::float8,
       extract(epoch FROM clock_timestamp() - p.started_at)::float8,
       r.passed + r.failed + r.unscored + r.errored + r.skipped
FROM runs_run r JOIN runs_phase p ON p.run_id = r.id AND p.name = %s WHERE r.id = %s
"""


_BESIDE = "UPDATE runs_run SET cost_driver = cost_driver + %s WHERE id = %s"


class Halted(Exception):
    """The run is to stop at once: somebody asked, or it has ended elsewhere."""


class CeilingReached(Exception):
    """The run may start nothing more; what has been started may end. The text is the halt's reason."""


@dataclass
class Figures:
    """What has been spent, as of the last look at the database plus what this worker has added since."""

    cost: int = 0  # of the model under test
    beside: int = 0  # of driver and judge
    tokens: int = 0
    run_seconds: float = 0.0
    phase_seconds: float = 0.0
    done: int = 0

    def as_level(self, seconds: float) -> dict[str, Any]:
        return {"cost": self.cost + self.beside, "model_cost": self.cost, "tokens": self.tokens, "duration": seconds}


class Pulse:
    def __init__(self, context: Context) -> None:
        self._context = context
        self.figures = Figures()
        self._rates: deque[tuple[float, int]] = deque(maxlen=16)

    async def beat(self) -> list[Lease]:
        """Renew; returns leases that are no longer ours. Raises Halted, CeilingReached, LeaseLost."""
        gone = await self._context.leases.renew()
        await self._look()
        return gone

    async def _look(self) -> None:
        context = self._context
        row = await (await context.control.execute(_STATE, (context.phase, str(context.run.id)))).fetchone()
        if row is None:
            raise LeaseLost("the run is gone")
        status, halt, cost, beside, tokens, run_seconds, phase_seconds, done = row
        if status not in ("running", "needs_input") or halt:
            raise Halted(halt or status)
        self.figures = Figures(cost, beside, tokens, run_seconds or 0.0, phase_seconds or 0.0, done)
        self.check()

    def breach(self, going: Sequence[Mapping[str, Any]] = ()) -> str | None:
        """The ceiling of the run or the phase that is reached, e.g. ``run.cost``.

        ``going``: accounts of attempts that are not settled yet.
        """
        ceilings, phase = self._context.ceilings, self._context.phase
        cost, tokens = _new(going)
        figures = replace(self.figures, cost=self.figures.cost + cost, tokens=self.figures.tokens + tokens)
        return ceilings.breach("run", figures.as_level(figures.run_seconds)) or ceilings.breach(
            "phase", figures.as_level(figures.phase_seconds), phase
        )

    def check(self) -> None:
        """Raises CeilingReached."""
        breach = self.breach()
        if breach:
            raise CeilingReached(f"limit_exceeded:{breach}")

    async def ask_to_halt(self, reason: str) -> None:
        await self._context.orm(halting.request_halt, self._context.run.id, reason)

    def cost_ceiling(self) -> str | None:
        """A declared ceiling in money, e.g. ``run.cost``."""
        ceilings = self._context.ceilings
        levels = {"run": ceilings.run, "phase": ceilings.phase(self._context.phase), "task": ceilings.task}
        for name, level in levels.items():
            for quantity in ("cost", "model_cost"):
                if getattr(level, quantity) is not None:
                    return f"{name}.{quantity}"
        return None

    def spend(self, facts: dict[str, Any]) -> bool:
        """Add an attempt's cost; True where that reaches a ceiling."""
        cost, tokens = _new([facts])
        self.figures.cost += cost
        self.figures.tokens += tokens
        return self.breach() is not None

    async def spend_beside(self, facts: dict[str, Any]) -> bool:
        """Add what a judge cost, here and on the run; True where that reaches a ceiling."""
        cost = (facts.get("cost") or 0) - (facts.get("cost_reused") or 0)
        if cost > 0:
            self.figures.beside += cost
            await self._context.control.execute(_BESIDE, (cost, str(self._context.run.id)))
        return self.breach() is not None

    async def slots(self) -> int:
        """This worker's share of the run's concurrency."""
        return max(1, math.ceil(self._context.run.concurrency / await self._context.leases.sharers()))

    def progress(self, in_flight: int, waiting: str | None) -> dict[str, Any]:
        """The data of a PhaseProgress event."""
        now = asyncio.get_running_loop().time()
        done, total = self.figures.done, self._context.run.planned
        self._rates.append((now, done))
        (then, before), elapsed = self._rates[0], now - self._rates[0][0]
        rate = (done - before) / elapsed if elapsed > 0 and then < now else 0.0
        left = total - done
        eta = [round(left / rate * 0.8, 1), round(left / rate * 1.4, 1)] if rate > 0 else None
        return {
            "phase": self._context.phase,
            "done": done,
            "total": total,
            "in_flight": in_flight,
            "waiting": waiting,
            "rate_per_s": round(rate, 2),
            "eta_s": eta,
        }


def _new(accounts: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """(micro-cents, tokens) that these attempts have cost, without what the journal had."""
    cost = sum((facts.get("cost") or 0) - (facts.get("cost_reused") or 0) for facts in accounts)
    asked = [facts for facts in accounts if not facts.get("calls") or facts.get("reused") != facts["calls"]]
    return cost, sum((facts.get("tokens_in") or 0) + (facts.get("tokens_out") or 0) for facts in asked)


def beat_seconds(lease_seconds: float) -> float:
    """Often enough that two missed beats do not lose a lease, and that a halt is seen in time."""
    return min(lease_seconds / 3, settings.LIMIT_CHECK_SECONDS)
