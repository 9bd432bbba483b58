"""The driver that is a model: rules first, the model where rules come to no end."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from django.db import connection

from accounts.principal import Principal
from kernel.errors import DomainError
from runs import gateway_keys, limits, suts
from runs.context import Context, PhaseError
from runs.driver.asking import Asker
from runs.driver.base import Found, Rows, Scorer
from runs.driver.llm.author import Author
from runs.driver.rules import analyze, atomize, find
from runs.gateway_client import GatewayLost, LeaseRefused
from runs.schemas import Sut

CLAIMED = 2  # another worker may have asked already, so the journal's table is looked into
_SPENT = """
UPDATE runs_phase p SET cost = greatest(p.cost, journal.cost), tokens = greatest(p.tokens, journal.tokens)
FROM (
    SELECT coalesce(sum(cost), 0)::bigint AS cost, coalesce(sum(tokens_in + tokens_out), 0)::bigint AS tokens
    FROM runs_modelcall WHERE run_id = %(run)s AND ordinal = %(place)s
) AS journal WHERE p.run_id = %(run)s AND p.name = %(phase)s
"""
_BESIDE = """
UPDATE runs_run SET cost_driver = greatest(cost_driver, (
    SELECT coalesce(sum(cost), 0)::bigint FROM runs_modelcall WHERE run_id = %(run)s AND ordinal < 0
)) WHERE id = %(run)s
"""


class Llm:
    async def find(self, context: Context) -> Found:
        return await find.find(context)

    async def analyze(self, context: Context, found: Mapping[str, Any]) -> Rows:
        return await analyze.analyze(context, found)

    async def atomize(self, context: Context, found: Mapping[str, Any], plan: Mapping[str, Any]) -> Scorer:
        if not context.run.description:
            try:
                return await atomize.atomize(context, found, plan)
            except PhaseError as error:
                if error.code != "scorer_unproven":
                    raise
        async with asking(context) as asker:
            return await Author(context, asker, place_of(context.phase), plan).write()


def place_of(phase: str) -> int:
    """Where the driver's calls of a phase stand in the run's journal."""
    return -1 - limits.PHASES.index(phase)


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
        await context.orm(_spent, str(run.id), context.phase)


_HINT = "Add a secret for the driver's provider, choose another driver, or leave it out to use the builtin one."


def _spent(run: str, phase: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_SPENT, {"run": run, "phase": phase, "place": place_of(phase)})
        cursor.execute(_BESIDE, {"run": run})
