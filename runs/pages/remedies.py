"""Beside each class of what did not pass: what it means, and what mends it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernel.money import MICRO_CENTS_PER_DOLLAR
from runs.models import Run
from runs.pages.table import Wanted
from runs.pages.words import UNKNOWN
from runs.providers import PROVIDERS

MEANINGS = {
    "wrong": "The answer could be read and was not the expected one. This is the model.",
    "no_answer": "The model ended without an answer.",
    "format_miss": "The answer is not in the form that the scorer reads.",
    "truncated": "The answer was cut at the token limit; the model may never have got to answer.",
    "refused": "The model, or its provider's filter, declined to answer.",
    "scorer_exception": "The scorer raised an exception on this output. It counts as not passed.",
    "invalid_score": "The scorer returned no number from 0 to 1. It counts as not passed.",
    "judge_unparsed": "The judge's reply could not be read as a verdict.",
    "scorer_timeout": "The scorer did not end in time. It counts as not passed.",
    "provider_error": "The provider failed. This is not in the rate.",
    "rate_limited": "The provider kept saying that there were too many calls. This is not in the rate.",
    "timeout": "No answer came in time. This is not in the rate.",
    "sandbox_dead": "The sandbox was lost. Not the model's doing; not in the rate.",
    "worker_lost": "The worker was lost. Not the model's doing; not in the rate.",
    "blocked_host": "The scorer wanted a host that it may not reach: see the hosts that were blocked. Not in the rate.",
    "missing_secret": "There was no key for the provider.",
    "judge_error": "The judge model failed. This is not in the rate.",
    "budget": "A ceiling was reached before this task began.",
    "halted": "The run was stopped before this task began.",
}
# outcome -> (the replay that runs it again, what else that replay runs again)
_AGAIN = {
    "errored": ("--only-errored", ("errored", "skipped")),
    "skipped": ("--only-errored", ("errored", "skipped")),
    "unscored": ("--only-failed", ("failed", "unscored")),
}


@dataclass(frozen=True)
class Remedy:
    """One class: how many, what it means, where to see them, and the command that runs them again (or "").

    ``message``: what the first of them ended with, in the words of the scorer or the provider; "" where it has none.
    ``only``: the slice of the launch page that runs them again, or "".
    ``again``: how many cells that command runs; it knows outcomes, not classes.
    """

    outcome: str
    error_class: str
    count: int
    meaning: str
    message: str
    link: str
    command: str
    only: str
    again: int
    scope: str
    price: str


def of(run: Run, classes: Sequence[Mapping[str, Any]]) -> list[Remedy]:
    """One remedy for each class of what did not pass, in the order given."""
    ended = run.passed + run.failed + run.unscored + run.errored
    each = run.cost_model / max(ended, 1) if _priced(run) else None
    return [_remedy(run, group, each) for group in classes]


def _priced(run: Run) -> bool:
    """Whether the run's cost says what a cell costs: nothing was spent where no call came through."""
    if run.unpriced_calls:
        return False
    provider = PROVIDERS.get(str(run.sut.get("provider")))
    return bool(provider and provider.free) or bool(run.cost_model) or run.passed + run.failed + run.unscored > 0


def _remedy(run: Run, group: Mapping[str, Any], each: float | None) -> Remedy:
    name = group["error_class"] or ""
    flag, outcomes = _AGAIN.get(group["outcome"], ("", ()))
    again = sum(getattr(run, outcome) for outcome in outcomes)
    return Remedy(
        outcome=group["outcome"],
        error_class=name,
        count=group["count"],
        meaning=meaning(name),
        message=group.get("message") or "",
        link=Wanted().link(outcome=group["outcome"], error_class=name),
        command=f"benchwright run --replay-from {run.id} {flag}" if flag else "",
        only=flag.removeprefix("--").replace("-", "_"),
        again=again,
        scope=" or ".join(outcomes),
        price=UNKNOWN if each is None else _price(each * again),
    )


def meaning(name: str) -> str:
    """What an error class means, in a sentence or two; "" for an unknown one."""
    if name.startswith("resource_exhausted"):
        return f"The sandbox ran out of {name.partition(':')[2] or 'a resource'}. This is not in the rate."
    return MEANINGS.get(name, "")


def _price(micro_cents: float) -> str:
    """As a button says it."""
    if not micro_cents:
        return "free"
    dollars = micro_cents / MICRO_CENTS_PER_DOLLAR
    return f"≈ ${dollars:,.2f}" if dollars >= 0.01 else "under $0.01"
