"""The sandbox of a self-test: rows go through extract, outputs through score; solve is never fed."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from runs.compute.base import Compute, ComputeFault, Death, Message, RoleDead, Roles, RolesSpec, ScorerFault
from runs.harnesses.benchwright.cells import Cell
from runs.harnesses.benchwright.scoring import Scoring

log = logging.getLogger(__name__)
EXTRACT_SECONDS = 30.0
QUIET = 10.0  # seconds beyond one score()'s time without a sign of life: the sandbox is hung
RESTARTS = 20  # of the score sandbox in one self-test; a scorer that ends it more often is given up
JUDGE = "judge: a judge model decides"
BATCH = 200  # rows per message to extract


class Unusable(Exception):
    """The scorer can't be tested to the end, which is the scorer's own doing. The message says why."""


@dataclass(frozen=True)
class Mark:
    """What score() made of an output. ``score``: None where it made none; then ``error`` says why (class: message)."""

    score: float | None
    error: str = ""
    explanation: str = ""


@dataclass(frozen=True)
class Asked:
    """One question to score(): the row's index in the bench, an output, the expected answer as extract gave it."""

    index: int
    output: Any
    expected: Any


class Bench:
    """Use as an async context manager. ``judged``: a judge model decides; only what it is asked can be tested here."""

    def __init__(self, compute: Compute, spec: RolesSpec, *, judged: bool = False) -> None:
        self._compute, self._spec, self._judged = compute, spec, judged
        self._restarts = 0
        self._at = 0

    async def __aenter__(self) -> "Bench":
        """Raises ScorerFault (its code can't be loaded), ComputeFault (no sandbox to be had)."""
        self.roles: Roles = await self._compute.open(self._spec)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.roles.close()

    async def extract(self, texts: Sequence[str]) -> list[Message]:
        """What extract() makes of rows, in order: {"task_id", "input", "expected"} or {"error"}. Raises Unusable."""
        items: list[Message] = []
        for start in range(0, len(texts), BATCH):
            items += await self._extract(list(texts[start : start + BATCH]))
        return items

    async def _extract(self, texts: list[str]) -> list[Message]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        items: dict[int, Message] = {}

        def take(messages: list[Message]) -> None:
            for message in messages:
                items.update((item["index"], item) for item in message["items"])
            if len(items) >= len(texts) and not done.done():
                done.set_result(None)

        def die(death: Death) -> None:
            if not done.done():
                done.set_exception(Unusable(f"extract() ended its sandbox ({death.reason}: {death.detail})."))

        role = self.roles.extract
        role.on_messages, role.on_death = take, die
        try:
            role.send([{"op": "rows", "shard": 0, "rows": texts}])
            async with asyncio.timeout(EXTRACT_SECONDS):
                await done
        except TimeoutError:
            raise Unusable(f"extract() took longer than {EXTRACT_SECONDS:.0f} s for {len(texts)} rows.") from None
        except RoleDead:
            raise Unusable("extract() ended its sandbox.") from None
        finally:
            role.on_messages = role.on_death = None
        return [items.get(index, {"error": {"class": "none", "message": "not told"}}) for index in range(len(texts))]

    async def score(self, asked: Sequence[Asked]) -> list[Mark]:
        """One mark for each, in order. Raises Unusable where the score sandbox can't be kept alive."""
        marks: dict[int, Mark] = {}
        cells = [
            Cell(self._at + at, 0, one.index, one.index, "", 0, "", None, one.expected, attempt=1, output=one.output)
            for at, one in enumerate(asked)
        ]
        self._at += len(cells)
        side = Scoring(lambda cell, told: marks.update({cell.ordinal: _mark(told)}), self._to_judge(marks))
        side.ready.extend(cells)
        await self._drain(side)
        return [marks[cell.ordinal] for cell in cells]

    def _to_judge(self, marks: dict[int, Mark]) -> Callable[[Cell, Message | None], None] | None:
        if not self._judged:
            return None

        def asked(cell: Cell, question: Message | None) -> None:
            if question is None or not self._side.given_up(cell):
                self._side.answered(cell, None)  # no judge is needed: scored at once
            else:
                marks[cell.ordinal] = Mark(None, JUDGE)

        return asked

    async def _drain(self, side: Scoring) -> None:
        self._side = side
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        quiet = self._spec.score_seconds + QUIET

        def take(messages: list[Message]) -> None:
            side.take(messages, loop.time())
            woken.set()

        def die(death: Death) -> None:
            side.died(death)
            woken.set()

        def attach() -> None:
            side.role = self.roles.score
            side.role.on_messages, side.role.on_death = take, die

        attach()
        while not side.empty:
            if side.role is None:
                await self._restart()
                attach()
            side.feed(loop.time())
            woken.clear()
            try:
                async with asyncio.timeout(quiet):
                    await woken.wait()
            except TimeoutError:
                self.roles.score.kill("killed", "score() hung")

    async def _restart(self) -> None:
        self._restarts += 1
        if self._restarts > RESTARTS:
            raise Unusable(f"score() ended its sandbox more than {RESTARTS} times.")
        try:
            await self.roles.restart("score")
        except (ScorerFault, ComputeFault) as error:
            raise Unusable(f"The score sandbox does not start again: {error}") from error


def _mark(told: Message) -> Mark:
    if told["op"] == "scored":
        return Mark(float(told["score"]), explanation=str(told.get("explanation") or "")[:500])
    error = told["error"]
    return Mark(None, f"{error.get('class')}: {error.get('message')}"[:500])
