"""What the run is waiting for, in words: from the gateway's retry notices."""

from typing import Any

from runs.harnesses.benchwright.cells import Cell

_ORDINAL = {1: "1st", 2: "2nd", 3: "3rd"}


class Waits:
    def __init__(self) -> None:
        self._latest: dict[int, tuple[float, dict[str, Any]]] = {}
        self._queued: dict[tuple[int, int], float] = {}

    def note(self, notice: dict[str, Any], now: float) -> None:
        self._latest[notice["cell"]] = (now + float(notice.get("wait_s") or 0), notice)

    def ended(self, cell: Cell) -> None:
        self._latest.pop(cell.ordinal, None)

    def sentence(self, now: float) -> str | None:
        """e.g. ``429 from openrouter, retry in 12 s (3rd)``; None while nothing waits."""
        pending = [(until, notice) for until, notice in self._latest.values() if until > now]
        if not pending:
            return None
        until, notice = min(pending, key=lambda item: item[0])
        turn = int(notice.get("try") or 1)
        said = f"{notice.get('status') or 'no answer'} from {notice.get('provider', 'the provider')}"
        more = f", {len(pending)} calls wait" if len(pending) > 1 else ""
        return f"{said}, retry in {max(1, round(until - now))} s ({_ORDINAL.get(turn, f'{turn}th')}){more}"

    def queued(self, running: list[Cell], waited: list[float], provider: str) -> str | None:
        """In words, where calls wait for their turn without a retry of their own. ``waited``: seconds so far."""
        before = self._queued
        self._queued = {(c.ordinal, c.attempt): seconds for c, seconds in zip(running, waited, strict=True)}
        stuck = sum(1 for key, seconds in self._queued.items() if seconds - before.get(key, 0.0) > 1.0)
        if not stuck:
            return None
        who = "1 call waits for its turn" if stuck == 1 else f"{stuck} calls wait for their turn"
        return f"{who}: {provider} slows this key down"
