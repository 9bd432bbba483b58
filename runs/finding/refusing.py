"""What becomes of the wishes that a run does not follow (``asides``): a question, a refusal, or a note."""

from collections.abc import Sequence
from dataclasses import replace

from runs.finding import asides
from runs.finding.asides import Aside
from runs.finding.benchmarks import candidates, parts
from runs.finding.benchmarks.choosing import SHOWN, Outcome
from runs.finding.benchmarks.names import HINTED, STRONG, Mention, Target
from runs.finding.benchmarks.overlaps import OFTEN, Words
from runs.finding.known import Known
from runs.finding.readings import Problem, Reading
from runs.finding.words import squash

_CEILINGS = {
    "money": "an amount of money is not taken from the words. Give it in US dollars as the launch's limits.run.cost",
    "time": "a span of time is not taken from the words. Give it in seconds with the launch, as limits.run.duration",
}
_FOREIGN = (
    "costs are counted in US dollars, and no other currency is converted. Say what it may cost in US dollars, as the "
    "launch's limits.run.cost"
)


def meant(beside: Sequence[Aside], said: Words, found: Sequence[Mention]) -> list[Aside]:
    """Without those that are the name of a benchmark or a part: Adversarial NLI, BBH's tracking shuffled objects."""
    if not beside:
        return []
    sure = [one for one in found if one.weight >= STRONG][: 3 * OFTEN]
    spans = [(one.start, one.stop) for one in sure]
    spans += [(hit.start, hit.stop) for one in sure for target in one.targets for hit in said.hits(target, one)]
    return [
        one
        for one in beside
        if not any(start < one.span[1] and one.span[0] < _stop(one, stop) for start, stop in spans)
    ]


def _stop(one: Aside, stop: int) -> int:
    """A topic that is a part right behind it is that part."""
    return stop + 1 if one.kind == "topic" else stop


def asked(outcome: Outcome, beside: Sequence[Aside], said: Words, found: Sequence[Mention]) -> Outcome:
    """The outcome, or the question what is meant where something is left out of it or it is to be changed."""
    if outcome.code not in (None, "unclear_part") or not outcome.candidates or _settled(outcome):
        return outcome
    best = outcome.candidates[0]
    target = next((one for mention in found for one in mention.targets if best.id.split("/")[0] == one.id), None)
    if target is None:
        return outcome
    mention = next(one for one in found if target in one.targets)
    out = left_out(said, target, mention)
    whole = _whole(target, outcome)
    if out:
        question = (
            f"{out!r} leaves something out, and a run takes all of a benchmark or one part of it. Which is meant?"
        )
        return Outcome(whole, "unclear_part", question)
    changed = next((one.said for one in beside if one.kind == "changed"), None)
    if changed is not None and outcome.code is None:
        question = (
            f"{changed!r} makes another benchmark of {target.name}, which a run does not do. Is it meant as it is?"
        )
        return Outcome(outcome.candidates, "unclear_benchmark", question)
    return outcome


def left_out(said: Words, target: Target, mention: Mention) -> str:
    """The words that leave a part of the target out, or ""."""
    named = frozenset(squash(name) for names in parts.names_of(target).values() for name in names if len(name) > 2)
    return asides.left_out(said.text, named, [(hit.start, hit.stop) for hit in said.hits(target, mention)])


def _settled(outcome: Outcome) -> bool:
    return outcome.candidates[0].reason == "chosen by the run's owner"


def _whole(target: Target, outcome: Outcome) -> tuple[candidates.Candidate, ...]:
    """All of the target, then what the words seemed to name."""
    first = [] if target.entry is None else [candidates.of(target, None, HINTED, "all of it")]
    listed = {one.id: one for one in [*first, *outcome.candidates]}
    return tuple(listed.values())[:SHOWN]


def refused(
    made: Reading, beside: Sequence[Aside], limits: Sequence[int], known: Known, answers: Sequence[str]
) -> Reading:
    """The reading, or the problem where the words want a ceiling or samples that can't be taken."""
    if made.problem is not None and made.problem.code != "unclear_limit":
        return made
    for one in beside:
        if one.kind in _CEILINGS and one.kind not in known.capped:
            foreign = one.kind == "money" and asides.in_another_currency(one.said)
            words = _FOREIGN if foreign else _CEILINGS[one.kind]
            return replace(made, problem=Problem("unclear_ceiling", f"{one.said!r}: {words}."))
    which = next((one for one in beside if one.kind in ("place", "topic")), None)
    if which is None or any(one.startswith("limit:") for one in answers):
        return made
    numbers = dict.fromkeys([*limits, *asides.numbers(which.said)])
    choices = [{"id": f"limit:{one}", "name": f"the first {one} samples", "reason": "named"} for one in numbers]
    choices.append({"id": "limit:all", "name": "all samples", "reason": "no limit"})
    question = f"{which.said!r}: only the first samples can be taken, or all. How many are meant?"
    return replace(made, limit=None, problem=Problem("unclear_limit", question, tuple(choices)))


def noted(made: Reading, beside: Sequence[Aside], known: Known, *, cut: int) -> Reading:
    """With a note for each wish that is not followed. ``cut``: how many characters were read, 0 for all."""
    notes = [f"{one.said}: words do not set this, so it was not followed." for one in beside if one.kind == "note"]
    notes += [
        f"{one.said}: the launch's own ceiling holds, not the words."
        for one in beside
        if one.kind in _CEILINGS and one.kind in known.capped
    ]
    if cut:
        notes.append(f"Only the first {cut:,} characters of the request were read.")
    return replace(made, notes=(*made.notes, *notes)) if notes else made
