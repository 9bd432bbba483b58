"""What a run is doing, told from its events."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MICRO_CENTS_PER_DOLLAR = 100_000_000
_WORDS = {"passed": "pass", "failed": "fail", "errored": "errored", "unscored": "unscored", "skipped": "skipped"}


@dataclass
class Progress:
    """The state of one run. Feed it events; it has no clock of its own but for the end of a waiting time."""

    phase: str = ""
    done: int = 0
    total: int = 0
    rate: float | None = None
    eta: tuple[float, float] | None = None
    spent: int = 0  # micro-cents
    outcomes: dict[str, int] = field(default_factory=dict)
    waiting: str = ""
    _waiting_until: float = 0.0
    _seen: int = 0

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take one event in; unknown ones change nothing."""
        data = event.get("data") or {}
        step = {
            "PhaseStarted": self._started,
            "PhaseProgress": self._progressed,
            "PhaseCompleted": self._completed,
            "MaterializeTaskResult": self._result,
            "ModelRetry": self._retry,
        }.get(str(event.get("type")))
        if step:
            step(data)

    def _started(self, data: Mapping[str, Any]) -> None:
        self.phase, self.done, self.total = str(data.get("phase") or ""), 0, 0
        self.rate, self.eta, self.waiting = None, None, ""
        self._seen = 0

    def _progressed(self, data: Mapping[str, Any]) -> None:
        self.phase = str(data.get("phase") or self.phase)
        self.total = int(data.get("total") or self.total)
        self.done = max(int(data.get("done") or 0), self._seen)
        self.rate = data.get("rate_per_s")
        eta = data.get("eta_s")
        self.eta = (float(eta[0]), float(eta[1])) if isinstance(eta, list) and len(eta) == 2 else None
        if data.get("waiting"):
            self.waiting, self._waiting_until = str(data["waiting"]), float("inf")
        elif self._waiting_until == float("inf"):
            self.waiting = ""

    def _completed(self, data: Mapping[str, Any]) -> None:
        self.total = self.total or self.done or 1
        self.done = self.total
        self.waiting, self.eta = "", None

    def _result(self, data: Mapping[str, Any]) -> None:
        outcome = str(data.get("outcome") or "")
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        self.spent += int(data.get("cost") or 0)
        self._seen += 1
        self.done = max(self.done, self._seen)

    def _retry(self, data: Mapping[str, Any]) -> None:
        wait = float(data.get("wait_s") or 0)
        text = f"waiting on {data.get('status') or 'a fault'} from {data.get('provider') or 'the provider'}"
        self.waiting = f"{text}, retry in {wait:.0f} s ({_ordinal(int(data.get('try') or 1))})"
        self._waiting_until = time.monotonic() + wait

    def facts(self) -> str:
        """Rate, time left, spend, outcomes and the reason of a wait, as far as they are known."""
        parts = []
        if self.rate:
            parts.append(f"{self.rate:.1f}/s")
        if self.eta and self.done < self.total:
            low, high = (duration(seconds) for seconds in self.eta)
            parts.append(f"ETA {low}" if low == high else f"ETA {low} to {high}")
        if self.spent:
            parts.append(f"${self.spent / MICRO_CENTS_PER_DOLLAR:.4f}")
        if self.outcomes:
            parts.append(" / ".join(f"{self.outcomes[k]} {w}" for k, w in _WORDS.items() if self.outcomes.get(k)))
        if self.waiting and time.monotonic() < self._waiting_until:
            parts.append(self.waiting)
        return " · ".join(parts)


def duration(seconds: float) -> str:
    """``80 s``, ``12 min``, ``3.4 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _ordinal(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
