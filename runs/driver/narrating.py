"""A run in the words of its driver: asked by the owner, for money, held to the facts. Else the built-in words."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from accounts.principal import Principal
from kernel.errors import DomainError
from kernel.money import known
from kernel.secret_signs import redact
from runs import gateway_keys, limits, suts
from runs.context import CeilingReached, PhaseError
from runs.driver import spending
from runs.driver.asking import ATTEMPT, CLAIMED, Asker
from runs.driver.llm.claims import unborne
from runs.driver.llm.conversation import Talk
from runs.driver.llm.figures import foreign
from runs.gateway_client import GatewayLost, LeaseRefused
from runs.limits import Ceilings
from runs.models import Phase, Run
from runs.reporting import narrating
from runs.schemas import Sut
from runs.suts import BoundSut

Json = dict[str, Any]
PHASE = "report"  # whose driver is asked, and which bears the cost
SECONDS = 90.0
REPLIES = 2  # one, and one repair
ANSWER_TOKENS = 700
FACTS_SHOWN = 6000  # characters
SYSTEM = """You tell the owner of a benchmark run how it goes, in two to six plain sentences: what runs, how far it is,
what did not pass and why, what to do next. You know nothing but the facts that you are given. Every number that you
write must stand in the facts, and be written as it stands there, with its % or $: never add, subtract, round, count or
convert. Compare nothing, give no cause, praise nothing and speak of no trend unless a fact says just that: then say it
with the words of that fact. Leave out what you are not sure of. No headings, no lists."""


class Told(BaseModel):
    text: str = Field(min_length=1, max_length=2000, description="The sentences.")


@dataclass(frozen=True)
class Bounds:
    ceilings: Ceilings
    phase: str = PHASE


class Untold(Exception):
    """The driver's words are not to be had; the text says why."""


def narrate(run: Run, part: str, *, answers: bool) -> Json:
    """The narration of ``part`` for the run's owner, in the driver's words.

    ``source`` says whose words they are; where they are the built-in ones ``notice`` says why, and ``cost`` what was
    spent all the same. The same facts are told in the same words, from the journal, for nothing. ``answers``: whether
    the owner may see expected answers; the driver is never told any. Raises invalid_parameter.
    """
    told = narrating.narrate(run, part, mine=True, answers=answers)
    chosen = run.phase_models.get(PHASE) or run.driver
    if not chosen:
        return {**told, "notice": "The run has the builtin driver, which needs no model. These are its words."}
    name = {"model": chosen["model"], "provider": chosen["provider"]}
    account: Json = {}
    try:
        bound = _bound(run, name)
        facts = _facts(narrating.narrate(run, part, mine=True, answers=False))
        try:
            text = asyncio.run(_asked(run, bound, facts, account))
        finally:
            spending.count(str(run.id), PHASE, spending.place_of(PHASE), gateway_keys.NARRATED)
    except Untold as why:
        spent = {"driver": name, "notice": f"{why} These are the built-in words.", "cost": _cost(account)}
        return {**told, **spent}
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    words = {"text": "\n".join(lines), "sentences": lines, "source": "driver"}
    return {**told, **words, "driver": name, "cost": _cost(account)}


def _bound(run: Run, name: Json) -> BoundSut:
    """The driver with its key. Raises Untold where a ceiling is reached, or it can't be asked."""
    phase = Phase.objects.filter(run=run, name=PHASE).first()
    ceilings = limits.parse(run.limits)
    spent = {"cost": run.cost_model + run.cost_driver, "tokens": run.tokens_in + run.tokens_out}
    here = {"cost": phase.cost, "tokens": phase.tokens} if phase else {}
    breach = ceilings.breach("run", spent) or ceilings.breach("phase", here, PHASE)
    if breach:
        raise Untold(f"The run has reached its ceiling {breach}, so its driver was not asked.")
    try:
        return suts.bind(Principal(run.owner, frozenset(), ""), Sut(model=name["model"], provider=name["provider"]))
    except DomainError as refusal:
        raise Untold(f"The driver {name['model']} can't be asked: {refusal.detail}") from None


def _facts(told: Json) -> str:
    """What the driver is told of the run: the built-in narration, as much as there is room for."""
    sentences: list[str] = []
    left = FACTS_SHOWN
    for sentence in told["sentences"]:
        left -= len(sentence)
        if left < 0:
            break
        sentences.append(sentence)
    facts = {"status": told["status"], "facts": sentences, "waiting": told["waiting"], "next": told["next"]}
    return json.dumps(facts, ensure_ascii=False)


async def _asked(run: Run, bound: BoundSut, facts: str, account: Json) -> str:
    """The driver's words, which hold to the facts. ``account`` takes the gateway's. Raises Untold."""

    async def check(said: Told) -> str | None:
        told = json.loads(facts)
        strange = foreign(said.text, facts)
        claims = unborne(said.text, [*told["facts"], told["waiting"] or "", *told["next"]])
        blamed = [f"These numbers do not stand in the facts: {', '.join(strange[:8])}."] if strange else []
        blamed += [f"The facts do not bear these claims: {', '.join(claims[:8])}."] if claims else []
        return " ".join([*blamed, "Write it without them."]) if blamed else None

    name, place = bound.sut["model"], gateway_keys.NARRATED
    bounds = Bounds(limits.parse(run.limits))
    try:
        async with (
            asyncio.timeout(SECONDS),
            Asker(str(run.id), gateway_keys.NARRATOR, bound, CLAIMED) as asker,
        ):
            talk = Talk(bounds, asker, place, Told, (), check, faults=REPLIES, answer_tokens=ANSWER_TOKENS)
            try:
                said = await talk.hold(SYSTEM, facts)
            finally:
                account |= (await asker.facts([(place, ATTEMPT)]))[0]
    except PhaseError as error:
        raise Untold(error.message) from None
    except CeilingReached as ceiling:
        raise Untold(f"The ceiling {ceiling} was reached.") from None
    except LeaseRefused as refusal:
        raise Untold(f"The driver {name} can't be asked: {refusal.detail}") from None
    except GatewayLost:
        raise Untold(f"The gateway is away, so the driver {name} can't be asked.") from None
    except TimeoutError:
        raise Untold(f"The driver {name} did not answer within {SECONDS:.0f} s.") from None
    return redact(said.text)


def _cost(account: Json) -> Json | None:
    """What this narration cost: nothing for what was in the journal; None where the price is not known."""
    return known((account.get("cost") or 0) - (account.get("cost_reused") or 0), account.get("unpriced") or 0)
