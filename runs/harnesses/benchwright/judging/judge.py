"""Asks the judge model about cells whose output is stored: a few at a time, faults tried again, one repair."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

from runs import gateway_keys
from runs.driver.asking import Asker, AskFailed
from runs.gateway_client import GatewayLost
from runs.harnesses.benchwright.cells import Cell
from runs.harnesses.benchwright.judging import schemas

TRIES = 3  # of a judge that fails
PAUSES = (0.5, 2.0)  # seconds between them; the gateway has waited for a provider's limits already
REPAIR = (
    "Your reply could not be read as a verdict: {fault}. Reply again with ONE JSON object that fits the schema, and "
    "nothing else."
)
Unscored = dict[str, Any]


class Judge:
    """``answered(cell, verdict)`` or ``failed(cell, message)`` follows each ``ask``.

    ``message``: {"op": "unscored", "error"} where the judge's word can't be read or the scorer's question can't be
    asked, {"op": "errored", "error"} where no answer came. ``spent(facts)``: the gateway's account of a cell's calls.
    """

    def __init__(
        self,
        asker: Asker,
        at_once: int,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
        answered: Callable[[Cell, Any], None],
        failed: Callable[[Cell, Unscored], None],
        spent: Callable[[dict[str, Any]], None],
    ) -> None:
        self._asker, self._spawn = asker, spawn
        self._answered, self._failed, self._spent = answered, failed, spent
        self._slots = asyncio.Semaphore(at_once)

    def ask(self, cell: Cell, question: dict[str, Any] | None) -> None:
        """Put a cell's question to the judge; None = there is nothing to ask, so its verdict is None."""
        if question is None:
            self._answered(cell, None)
        else:
            self._spawn(self._ask(cell, question))

    async def _ask(self, cell: Cell, question: dict[str, Any]) -> None:
        place = gateway_keys.judged(cell.ordinal), cell.attempt
        async with self._slots:
            try:
                verdict = await self._verdict(place, question)
            except schemas.BadSchema as bad:
                self._failed(cell, _unscored("scorer_exception", f"judge: {bad}"))
            except Unreadable as bad:
                self._failed(cell, _unscored("judge_unparsed", str(bad)))
            except AskFailed as bad:
                self._failed(cell, {"op": "errored", "error": {"class": "judge_error", "message": bad.detail}})
            else:
                self._answered(cell, verdict)
            for facts in await self._asker.facts([place]):
                self._spent(facts)

    async def _verdict(self, place: tuple[int, int], question: dict[str, Any]) -> Any:
        """The judge's word. Raises BadSchema, Unreadable, AskFailed."""
        schema, messages = question["schema"], list(question["messages"])
        schemas.fault(None, schema)  # before it costs anything
        said, fault = await self._said(place, messages, schema)
        if fault is not None:
            repair = {"role": "user", "content": REPAIR.format(fault=fault)}
            reply = {"role": "assistant", "content": said[:4000]}
            said, fault = await self._said(place, [*messages, reply, repair], schema)
        if fault is not None:
            raise Unreadable(f"The judge's reply could not be read as a verdict, also after a repair: {fault}")
        return json.loads(said)

    async def _said(
        self, place: tuple[int, int], messages: list[Any], schema: dict[str, Any]
    ) -> tuple[str, str | None]:
        """The reply's JSON text and None, or the reply and what is wrong with it."""
        form = {"name": "verdict", "schema": schema}
        body = {
            "messages": messages,
            "temperature": 0,
            "response_format": {"type": "json_schema", "json_schema": form},
            **self._asker.bound.sut["params"],
        }
        answer = await self._answer(place, body)
        try:
            text = answer["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            return "", "it held no message"
        if not isinstance(text, str):
            return "", "it held no text"
        bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
        try:
            value = json.loads(bare, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return text, "it is not JSON"
        return bare, schemas.fault(value, schema)

    async def _answer(self, place: tuple[int, int], body: dict[str, Any]) -> dict[str, Any]:
        """One chat completion. What no other try would change fails at once. AskFailed."""
        for pause in (*PAUSES, None):
            try:
                return await self._asker.chat(place[0], body, place[1])
            except (AskFailed, GatewayLost) as bad:
                final = isinstance(bad, AskFailed) and bad.detail[:3] in ("400", "401", "403", "404", "422")
                if final or pause is None:
                    raise bad if isinstance(bad, AskFailed) else AskFailed("judge_error", str(bad)) from bad
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")


class Unreadable(ValueError):
    """The judge said something, but no verdict."""


def _unscored(kind: str, message: str) -> Unscored:
    return {"op": "unscored", "error": {"class": kind, "message": message}}


def _refuse(token: str) -> None:
    raise ValueError(token)
