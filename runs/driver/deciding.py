"""The owner's word on what a run asks: a choice, an approval, edits of the plan. The run goes on with it."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from accounts.principal import Principal
from kernel import clock, secret_signs
from kernel.errors import DomainError, invalid
from kernel.jobs import enqueue
from runs import providers, queries, states
from runs.models import Run
from secrets_vault.connections import queries as connections

CHOICE = "choice:"  # begins a hint that is the id of a choice


def approve(principal: Principal, run_id: str, said: Mapping[str, Any]) -> Run:
    """Answer what the run asks and let it go on.

    ``said``: {"choice": id of one of the choices} or {} (yes), each with "edits" of the plan. Where it is asked which
    model is meant, "model:<model>@<provider or connection>" may name one that is not among the choices.
    Raises not_found, gone, not_waiting, validation_failed.
    """
    secret_signs.refuse(dict(said), "body")
    with transaction.atomic():
        seen = queries.run(principal, run_id, write=True)
        run = Run.objects.select_for_update().get(id=seen.id)
        if run.status != "needs_input" or run.asked is None:
            raise DomainError("not_waiting", f"Run {run.id} is {run.status} and asks for nothing.")
        answer = _checked(principal, run.asked, said)
        answers = [*run.answers, {"phase": run.asked["phase"], "at": clock.stamp(clock.now()), **answer}]
        states.move(run.id, "running", asked=None, answers=answers)
        enqueue("runs.advance", str(run.id))
    return queries.run(principal, run_id, write=True)


def answer_to(run: Run, phase: str) -> Mapping[str, Any] | None:
    """The newest answer to a question of the phase; None where there is none."""
    return next((said for said in reversed(run.answers) if said["phase"] == phase), None)


def split_hints(hints: Sequence[Any]) -> tuple[list[str], list[str]]:
    """(words, ids of choices): ``choice:<id>`` among a launch's hints answers what an earlier run asked."""
    said = [str(hint) for hint in hints]
    chosen = [hint.removeprefix(CHOICE) for hint in said if hint.startswith(CHOICE)]
    return [hint for hint in said if not hint.startswith(CHOICE)], chosen


def _checked(principal: Principal, asked: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    known = [choice["id"] for choice in asked.get("choices", [])]
    choice = said.get("choice")
    if known and choice not in known and not _is_model(principal, asked, choice):
        told = f"Choose one of {', '.join(known)}."
        if asked.get("code") == "unclear_model":
            told += " Or name another: model:<model>@<provider or connection>, such as model:gpt-4o-mini@openrouter."
        raise invalid(["body", "choice"], told)
    if choice is not None and not known:
        raise invalid(["body", "choice"], "There is nothing to choose here: send {} to approve, or edits.")
    return {name: value for name, value in said.items() if value is not None}


def _is_model(principal: Principal, asked: Mapping[str, Any], choice: object) -> bool:
    """Whether the choice names a model at a place that there is, where a model is asked for."""
    if asked.get("code") != "unclear_model" or not isinstance(choice, str) or not choice.startswith("model:"):
        return False
    model, _, at = choice.removeprefix("model:").rpartition("@")
    return bool(model.strip()) and (
        at in providers.PROVIDERS or connections.visible(principal).filter(kind="ai_model", name__iexact=at).exists()
    )
