"""The two sandboxes that work on cells: who hears them, and what happens when one dies."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from runs.artifacts.keeping import Keeping
from runs.compute.base import ComputeFault, Death, Roles, ScorerFault
from runs.context import PhaseError
from runs.harnesses.benchwright.cells import Cell
from runs.harnesses.benchwright.line import Line
from runs.harnesses.benchwright.rows import scorer_broken
from runs.harnesses.benchwright.scoring import Scoring
from runs.harnesses.benchwright.solving import Solving

log = logging.getLogger(__name__)
RESTART_TRIES = 5  # in a row before they come a second apart; twice as many end the run


class Crew:
    """``spawn`` runs a coroutine as one of the engine's tasks: what it raises ends the engine. ``wake``: work came."""

    def __init__(
        self,
        roles: Roles,
        line: Line,
        keeping: Keeping,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
        wake: Callable[[], None],
    ) -> None:
        self._roles, self._line, self._keeping, self._spawn, self._wake = roles, line, keeping, spawn, wake
        self._restarts = 0

    def attach(self, solving: Solving, scoring: Scoring) -> None:
        self._solving, self._scoring = solving, scoring
        self._attach("solve")
        self._attach("score")

    def cut(self) -> None:
        """Give up what solve is at, for good."""
        self._solving.role = None
        self._roles.solve.on_death = None
        self._roles.solve.kill()
        self._solving.running.clear()

    def _attach(self, name: str) -> None:
        role = self._roles.solve if name == "solve" else self._roles.score
        if name == "solve":
            self._solving.role = role
            role.on_messages = self._solve_said
        else:
            self._scoring.role = role
            role.on_messages = self._score_said
        role.on_death = lambda death: self._died(name, death)

    def _solve_said(self, messages: list[dict[str, Any]]) -> None:
        self._restarts = 0
        self._keep("solve", self._solving.running, messages)
        self._solving.take(messages)
        self._wake()

    def _score_said(self, messages: list[dict[str, Any]]) -> None:
        self._restarts = 0
        self._keep("score", self._scoring.running, messages)
        self._scoring.take(messages, asyncio.get_running_loop().time())
        self._wake()

    def _keep(self, name: str, running: dict[int, Cell], messages: list[dict[str, Any]]) -> None:
        """What the role told of its cells beside the answers."""
        for message in messages:
            if "log" in message or "raw" in message:
                cell = running.get(message["cell"])
                if cell is not None and cell.attempt == message["attempt"]:
                    self._keeping.said(name, cell, message)

    def _died(self, name: str, death: Death) -> None:
        log.info("a %s sandbox ended: %s %s", name, death.reason, death.detail)
        (self._solving if name == "solve" else self._scoring).died(death)
        self._spawn(self._restart(name))

    async def _restart(self, name: str) -> None:
        self._restarts += 1
        await asyncio.sleep(0 if self._restarts < RESTART_TRIES else 1.0)
        try:
            await self._roles.restart(name)
        except ScorerFault as error:
            raise scorer_broken(error) from error
        except ComputeFault as error:
            if self._restarts > 2 * RESTART_TRIES:
                raise PhaseError("sandbox_unavailable", f"The {name} sandbox does not start: {error}") from error
            self._spawn(self._restart(name))
            return
        if name == "solve":
            await self._line.open(self._roles.listener, self._roles.egress_listener)
        self._attach(name)
        self._wake()
