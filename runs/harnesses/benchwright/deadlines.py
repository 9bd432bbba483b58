"""Whose time is up: attempts that take too long, and a score role that is silent."""

import asyncio

from runs.harnesses.benchwright.line import Line
from runs.harnesses.benchwright.scoring import Scoring
from runs.harnesses.benchwright.solving import Solving
from runs.limits import Ceilings

ATTEMPT_SECONDS = 600.0  # where no limits.attempt.duration is declared
SCORE_SILENCE_SECONDS = 90.0  # without a sign of life from a role that has work; its own limit per row is shorter
LOOK_SECONDS = 0.25


def time_limit(ceilings: Ceilings) -> tuple[float, str]:
    """Seconds that an attempt may take, and in words where they come from."""
    for name, seconds in (("attempt", ceilings.attempt.duration), ("task", ceilings.task.duration)):
        if seconds is not None:
            return seconds, f"limits.{name}.duration = {seconds:g} s"
    return (
        ATTEMPT_SECONDS,
        f"the {ATTEMPT_SECONDS:g} s that an attempt may take where limits.attempt.duration is not set",
    )


class Deadlines:
    """What an attempt waited for the provider is not its time."""

    def __init__(self, line: Line, solving: Solving, scoring: Scoring) -> None:
        self._line, self._solving, self._scoring = line, solving, scoring

    async def watch(self) -> None:
        """Looks for ever."""
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self._stop_late_attempts()
            scoring = self._scoring
            if scoring.running and scoring.role and clock() - scoring.since > SCORE_SILENCE_SECONDS:
                scoring.role.kill()

    async def _stop_late_attempts(self) -> None:
        clock = asyncio.get_running_loop().time
        late = self._solving.overdue(clock())
        asked = [cell for cell in late if not cell.cancelled]
        if asked:
            waited = await self._line.waited([(cell.ordinal, cell.attempt) for cell in asked])
            for cell, seconds in zip(asked, waited, strict=True):
                cell.deadline = cell.started + self._solving.attempt_seconds + seconds
            late = self._solving.overdue(clock())
        if late:
            self._solving.stop_late(late, clock())
