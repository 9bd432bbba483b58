"""The driver that is a model: rules first, the model where rules come to no end."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

from accounts.principal import Principal
from kernel.errors import DomainError
from kernel.secret_signs import redact
from runs import gateway_keys, suts
from runs.context import Context, PhaseError
from runs.driver import spending
from runs.driver.asking import CLAIMED, Asker
from runs.driver.base import Asks, Found, Rows, Scorer
from runs.driver.llm.author import Author
from runs.driver.llm.helping import choose, map_columns
from runs.driver.rules import analyze, atomize, find
from runs.gateway_client import GatewayLost, LeaseRefused
from runs.schemas import Sut

T = TypeVar("T")
QUESTIONS = 4  # that a driver may answer in one phase


class Llm:
    async def find(self, context: Context) -> Found:
        found, said = await _answering(context, lambda: find.find(context))
        return replace(found, doc={**found.doc, "notes": [*found.doc.get("notes", []), *said]})

    async def analyze(self, context: Context, found: Mapping[str, Any]) -> Rows:
        rows, said = await _answering(context, lambda: analyze.analyze(context, found))
        return replace(rows, doc={**rows.doc, "notes": said}) if said else rows

    async def atomize(self, context: Context, found: Mapping[str, Any], plan: Mapping[str, Any]) -> Scorer:
        if not context.run.description:
            try:
                return await atomize.atomize(context, found, plan)
            except PhaseError as error:
                if error.code != "scorer_unproven":
                    raise
        async with asking(context) as asker:
            return await Author(context, asker, spending.place_of(context.phase), plan).write()


async def _answering(context: Context, by_rule: Callable[[], Awaitable[T]]) -> tuple[T, list[str]]:
    """What the rules come to, with the model's answers to what they ask, and a note about each answer.

    A person who is there is asked instead. Raises Asks where the model is in doubt, too.
    """
    notes: list[str] = []
    for _ in range(QUESTIONS):
        try:
            return await by_rule(), notes
        except Asks as ask:
            if context.run.metadata.get("autonomous") is False:
                raise
            note = await _answered(context, ask)
            if note is None:
                raise
            notes.append(note)
    return await by_rule(), notes


async def _answered(context: Context, ask: Asks) -> str | None:
    """Answer what a rule asks, for the rest of this phase; None where the model can't tell.

    The run here is this worker's copy, which nobody saves: the answers stand in the phase's findings.
    """
    run, choices, columns = context.run, ask.question.get("choices") or [], ask.question.get("columns") or []
    if not choices and not columns:
        return None
    async with asking(context) as asker:
        name, place = asker.bound.sut["model"], spending.place_of(context.phase)
        if columns:
            hints = await map_columns(context, asker, place, run.request, columns)
            run.hints = [*run.hints, *hints]
            return f"The driver {name} mapped the columns: {'; '.join(hints)}." if hints else None
        found = await choose(context, asker, place, run.request, run.hints, choices)
        if found.choice is None:
            return None
        run.answers = [*run.answers, {"phase": context.phase, "choice": found.choice}]
        return f"The driver {name} chose {found.choice}: {redact(found.reason)}"


@asynccontextmanager
async def asking(context: Context) -> AsyncIterator[Asker]:
    """The driver of this phase, to be asked; afterwards its cost is on phase and run. PhaseError where it can't be."""
    run = context.run
    chosen = run.phase_models.get(context.phase) or run.driver
    assert chosen is not None
    asked = Sut(model=chosen["model"], provider=chosen["provider"])
    try:
        bound = await context.orm(suts.bind, Principal(run.owner, frozenset(), ""), asked)
        asker = await Asker(str(run.id), gateway_keys.DRIVER, bound, CLAIMED).__aenter__()
    except DomainError as refusal:
        raise PhaseError(refusal.code, f"The driver {asked.model}: {refusal.detail}", _HINT) from None
    except LeaseRefused as refusal:
        raise PhaseError(refusal.code, f"The driver {asked.model}: {refusal.detail}", _HINT) from None
    except GatewayLost as lost:
        raise PhaseError(
            "phase_failed", f"The gateway is away ({lost}), so the driver can't be asked.", _HINT
        ) from None
    try:
        yield asker
    finally:
        await asker.__aexit__()
        await context.orm(spending.count, str(run.id), context.phase, spending.place_of(context.phase))


_HINT = "Add a secret for the driver's provider, choose another driver, or leave it out to use the builtin one."
