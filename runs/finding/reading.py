"""Reads a request: which model, which benchmark and part, how many samples. Pure; no model is asked.

A request is never read as something that it may not mean: where two readings are equally good, or a name is not quite
that of a benchmark, the reading has a problem and candidates to choose from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from registry.catalog import all_entries, get
from runs.finding import datasets, harnesses, quantities
from runs.finding.benchmarks import candidates, choosing, names, overlaps
from runs.finding.benchmarks.candidates import Candidate, Json
from runs.finding.benchmarks.choosing import Outcome
from runs.finding.benchmarks.names import Index, Mention, Target
from runs.finding.benchmarks.overlaps import Words
from runs.finding.known import Known
from runs.finding.suts import settling
from runs.finding.words import plain, split, squash

_LONGEST = 3_000  # signs that are read: a request is a few sentences


@dataclass(frozen=True)
class Problem:
    """Why the request can't be carried out as it is. ``choices``: [{"id", "name", "reason"}], maybe none."""

    code: str
    question: str
    choices: tuple[Json, ...] = ()


@dataclass(frozen=True)
class Reading:
    """What a request says. Without ``problem``, ``source`` is set, and ``sut`` too unless the launch has named it.

    ``params``: of the model, as the words say them. ``harness``: {"name", "task"?, "args"?} that they want.
    """

    source: Json | None = None
    sut: Json | None = None
    params: Json = field(default_factory=dict)
    part: str | None = None
    limit: int | None = None
    trials: int | None = None
    harness: Json | None = None
    confidence: float = 0.0
    candidates: tuple[Candidate, ...] = ()
    notes: tuple[str, ...] = ()
    problem: Problem | None = None


def read(request: str, known: Known, hints: Sequence[str] = (), answers: Sequence[str] = ()) -> Reading:
    """``hints``: read like words of the request. ``answers``: ids of choices that the run's owner made, in order."""
    text = plain("\n".join([request, *hints]))[:_LONGEST]
    datasets_said = _datasets(text)
    rest = quantities.blanked(text, [one.span for one in datasets_said])
    tasks = list(harnesses.tasks(rest))
    rest = quantities.blanked(rest, [one.span for one in tasks])
    asked = harnesses.named(rest)
    rest = quantities.blanked(rest, [span for _, span in asked])
    models = settling.read(rest, known)
    rest = quantities.blanked(rest, models.spans)
    counts = quantities.read(rest)
    rest = quantities.blanked(rest, counts.spans)
    index = names.index(known)
    said = Words(rest, split(rest), index)
    found, outright, lost = _named(said, datasets_said, tasks, text)
    outright += _unplaced(models, known, index)
    outcome = _chosen(answers, known, said, found, outright) or choosing.choose(said, found, outright)
    if lost and not found:
        outcome = Outcome((), "unresolved_request", f"The catalogue knows no benchmark that {lost} is.")
    made = _reading(outcome, counts)
    made = replace(made, harness=_harness(asked, tasks, made))
    counts = replace(counts, bare=() if counts.limits else overlaps.bare_numbers(said, found))
    return _with_sut(_with_limit(made, counts, answers), models, known, answers)


def _datasets(text: str) -> list[datasets.Named]:
    found = datasets.addresses(text)
    rest = quantities.blanked(text, [one.span for one in found])
    return [*found, *datasets.said(rest, frozenset(_by_dataset()))]


def _by_dataset() -> dict[str, list[Target]]:
    """Data set, in lower case -> the entries whose rows it holds."""
    found: dict[str, list[Target]] = {}
    for entry in all_entries():
        for locator in entry.locators:
            if locator["source"] == "huggingface":
                found.setdefault(locator["dataset"].lower(), []).append(Target(entry))
    return found


def _named(
    said: Words, sets: Sequence[datasets.Named], tasks: Sequence[harnesses.Task], text: str
) -> tuple[list[Mention], list[datasets.Named], str | None]:
    """(mentions, data sets that are no entry's, a harness task that is no entry's)"""
    found = names.mentions(said.text, list(said.words), said.names)
    outright, lost, by_dataset = [], None, _by_dataset()
    for one in sets:
        entries = by_dataset.get(one.ref.lower(), []) if one.kind == "huggingface" else []
        if entries:
            found.append(Mention(tuple(entries), *one.span, 1.0, f"holds the rows of {one.ref}"))
        else:
            outright.append(one)
    for task in tasks:
        if task.slug is None:
            lost = task.task
        else:
            reason = f"is what {task.task} measures"
            found.append(Mention((Target(get(task.slug)),), *task.span, 1.0, reason, part=task.part))
    return found, outright, lost


def _unplaced(models: settling.Suts, known: Known, index: Index) -> list[datasets.Named]:
    """owner/name that is no model: with the model named elsewhere it can only be a data set."""
    if not (known.bound or models.named):
        return []
    return [
        datasets.Named("huggingface", slug, span)
        for slug, span in models.slugs
        if squash(slug.split("/")[0]) not in index.whole  # as in mmlu/anatomy
    ]


def _chosen(
    answers: Sequence[str], known: Known, said: Words, found: Sequence[Mention], outright: Sequence[datasets.Named]
) -> Outcome | None:
    """The owner's last word on the benchmark."""
    for answer in reversed(answers):
        named = next((one for one in outright if f"{one.kind}:{one.ref}" == answer), None)
        if named is not None:
            return Outcome((candidates.of_named(named, 1.0, "chosen by the run's owner"),))
        target = candidates.chosen(answer, known)
        if target is not None:
            return choosing.forced(*target, said, found)
    return None


def _reading(outcome: Outcome, counts: quantities.Quantities) -> Reading:
    made = Reading(params=counts.params, trials=counts.trials, notes=counts.notes, candidates=outcome.candidates)
    if outcome.code is not None:
        choices = tuple(one.doc() for one in outcome.candidates)
        return replace(made, problem=Problem(outcome.code, outcome.question, choices))
    best = outcome.candidates[0]
    notes = [*made.notes]
    if best.source["kind"] == "catalogue":
        notes += get(best.source["ref"]).notes
    return replace(
        made, source=best.source, part=best.source.get("part"), confidence=best.confidence, notes=tuple(notes)
    )


def _harness(asked: Sequence[tuple[str, Any]], tasks: Sequence[harnesses.Task], made: Reading) -> Json | None:
    """The harness that the words want, with the task that is the same benchmark there."""
    prefixed = [one.harness for one in tasks if one.task.startswith("inspect_evals/")]
    name = asked[0][0] if asked else prefixed[0] if prefixed else None
    if name is None:
        return None
    said = next((one.task for one in tasks if one.harness == name), None)
    same = {}
    if made.source and made.source["kind"] == "catalogue":
        same = get(made.source["ref"]).harness_of(made.part).get(name, {})
    return {"name": name, **same, **({"task": said} if said else {})}


def _with_limit(made: Reading, counts: quantities.Quantities, answers: Sequence[str]) -> Reading:
    said = [one.removeprefix("limit:") for one in answers if one.startswith("limit:")]
    if said:
        return replace(made, limit=int(said[-1]) if said[-1].isdigit() else None)
    limits = counts.limits
    if made.problem is not None or (len(limits) == 1 and not counts.bare):
        return replace(made, limit=limits[0] if len(limits) == 1 else None)
    if counts.unread and not limits:
        return replace(
            made, problem=Problem("unclear_limit", f"{counts.unread!r} is no number of samples that a run can keep to.")
        )
    numbers = dict.fromkeys([*limits, *counts.bare])
    if numbers:
        choices = [{"id": f"limit:{one}", "name": f"{one} samples", "reason": "named"} for one in numbers]
        choices += [{"id": "limit:all", "name": "all samples", "reason": "no limit"}] if counts.bare else []
        return replace(made, problem=Problem("unclear_limit", "How many samples are meant?", tuple(choices)))
    return made


def _with_sut(made: Reading, models: settling.Suts, known: Known, answers: Sequence[str]) -> Reading:
    if known.bound:
        return made
    chosen = next((settling.parse(one, known) for one in reversed(answers) if one.startswith("model:")), None)
    sure = chosen or (models.choices[0] if len(models.choices) == 1 and models.choices[0].certain else None)
    if sure is not None:
        return replace(made, sut={**sure.sut(), **({"params": made.params} if made.params else {})})
    if made.problem is not None:
        return made
    choices = tuple(
        {"id": one.id, "name": f"{one.model} at {one.connection or one.provider}", "reason": "named"}
        for one in models.choices
    )
    if not models.named:
        return replace(made, problem=Problem("no_model", "The request names no model to test. Which one?"))
    return replace(made, problem=Problem("unclear_model", "Which model is meant, and at which provider?", choices))
