"""Reads a request: which model, which benchmark and part, how many samples. Pure; no model is asked.

A request is never read as something that it may not mean: where two readings are equally good, or a name is not quite
that of a benchmark, the reading has a problem and candidates to choose from.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from registry.catalog import get
from runs.finding import asides, datasets, harnesses, quantities, refusing, shipped, small
from runs.finding.benchmarks import again, candidates, choosing, names, overlaps, placed
from runs.finding.benchmarks.candidates import Json
from runs.finding.benchmarks.choosing import Outcome
from runs.finding.benchmarks.names import HINTED, STRONG, Index, Mention, Target
from runs.finding.benchmarks.overlaps import Words
from runs.finding.known import Known
from runs.finding.readings import Problem, Reading
from runs.finding.suts import settling
from runs.finding.vocabulary import EITHER_OR
from runs.finding.words import plain, split, squash

LIKE_A_TASK = 0.9  # a task of a harness with the same rows, which only asks otherwise
_LONGEST = 3_000  # signs that are read: a request is a few sentences


def read(request: str, known: Known, hints: Sequence[str] = (), answers: Sequence[str] = ()) -> Reading:
    """``hints``: read like words of the request. ``answers``: ids of choices that the run's owner made, in order."""
    whole = plain("\n".join([request, *hints]))
    text = whole[:_LONGEST]
    datasets_said = _datasets(text)
    rest = quantities.blanked(text, [one.span for one in datasets_said])
    tasks = list(harnesses.tasks(rest))
    rest = quantities.blanked(rest, [one.span for one in tasks])
    asked = harnesses.named(rest)
    rest = quantities.blanked(rest, [span for _, span in asked])
    models = settling.read(rest, known)
    rest = quantities.blanked(rest, models.spans)
    beside = asides.read(quantities.blanked(rest, quantities.params(rest)))
    rest = quantities.blanked(rest, [one.span for one in beside if one.kind in asides.COUNTED])
    counts = quantities.read(rest)
    rest = quantities.blanked(rest, counts.spans)
    index = names.index(known)
    quick = small.said(rest)
    if quick is not None and squash(quick[0]) not in index.whole:
        rest = quantities.blanked(rest, [quick[1]])
    said = Words(rest, split(rest), index)
    found, outright = _named(said, datasets_said, tasks)
    outright += _unplaced(models, known, index, rest)
    found, outright = again.joined(said, found, again.spelled(outright, known))
    outcome = (
        _chosen(answers, known, said, found, outright)
        or _unscored(tasks, found)
        or _of_a_harness(choosing.choose(said, found, outright), asked, said, found, outright)
    )
    outcome = _model_or_set(outcome, models, known, index)
    beside = refusing.meant(beside, said, found)
    outcome = refusing.asked(outcome, beside, said, found)
    made = refusing.noted(_reading(outcome, counts, known), beside, known, cut=_LONGEST if len(whole) > _LONGEST else 0)
    made = replace(made, harness=_harness(asked, tasks, made))
    counts = replace(counts, bare=() if counts.limits else overlaps.bare_numbers(said, found))
    made = _with_limit(made, counts, answers)
    if quick is not None and _is_small(made, counts, known, answers, quick[0]):
        made = small.limited(made, quick[0], rest)
    made = refusing.refused(made, beside, counts.limits, known, answers)
    return _with_sut(made, models, known, answers)


def _datasets(text: str) -> list[datasets.Named]:
    found = datasets.addresses(text)
    rest = quantities.blanked(text, [one.span for one in found])
    return [*found, *datasets.said(rest, placed.datasets())]


def _named(
    said: Words, sets: Sequence[datasets.Named], tasks: Sequence[harnesses.Task]
) -> tuple[list[Mention], list[datasets.Named]]:
    """(mentions, data sets that are no entry's)"""
    found = names.mentions(said.text, list(said.words), said.names)
    outright = []
    for one in sets:
        held = _held(one)
        if held:
            targets = tuple(dict.fromkeys(Target(each.entry) for each in held))
            part = held[0].part if len(held) == 1 else None
            found.append(Mention(targets, *one.span, 1.0, f"holds the rows of {one.ref}", part))
        else:
            outright.append(one)
    for task in tasks:
        if task.slug is not None:
            reason = f"is what {task.task} measures"
            found.append(Mention((Target(get(task.slug)),), *task.span, 1.0, reason, part=task.part))
    return found, outright


def _held(named: datasets.Named) -> list[placed.Placed]:
    """The entries and parts whose rows these are: not where another file, config, split or state of it is meant."""
    if named.kind != "huggingface" or named.path or named.revision or named.ref.lower() not in placed.datasets():
        return []
    held = [one for one in placed.at(named.ref) if None in (named.split, one.split) or named.split == one.split]
    whole = [one for one in held if one.part is None and named.config in (None, one.config)]
    return whole or [one for one in held if one.config == named.config and not one.filtered]


def _unscored(tasks: Sequence[harnesses.Task], found: Sequence[Mention]) -> Outcome | None:
    """A task of a harness that is no entry of the catalogue: it is named, and nothing is run in its place."""
    lost = next((one for one in tasks if one.slug is None), None)
    if lost is None:
        return None
    sure = [one for one in found if one.weight >= STRONG]
    others = [candidates.of(target, one.part, HINTED, one.reason) for one in sure for target in one.targets]
    if lost.shipped is not None:
        shown = [*shipped.offers(lost.shipped), *others]
        return Outcome(tuple(shown[: choosing.SHOWN]), "harness_only", shipped.words(lost.shipped))
    called = shipped.CALLED[lost.harness]
    near = shipped.near(lost.task.removeprefix("inspect_evals/"), lost.harness)
    alike = f" Written alike: {', '.join(near)}." if near else ""
    return Outcome(tuple(others[: choosing.SHOWN]), "unresolved_request", f"{called} has no task {lost.task}.{alike}")


def _of_a_harness(
    outcome: Outcome,
    asked: Sequence[tuple[str, Any]],
    said: Words,
    found: Sequence[Mention],
    outright: Sequence[datasets.Named],
) -> Outcome:
    """Where the unknown name is one that a harness knows: the same benchmark of the catalogue, or what can be told."""
    task = shipped.find(outcome.unknown, asked[0][0] if asked else None) if outcome.unknown else None
    if task is None:
        return outcome
    same, start = shipped.same(task), said.text.find(outcome.unknown)
    if same is not None and start >= 0:
        reason = f"is what {shipped.CALLED[task.harness]}'s {task.name} measures, asked in its own way"
        mention = Mention((same[0],), start, start + len(outcome.unknown), LIKE_A_TASK, reason, part=same[1])
        return choosing.choose(said, [*found, mention], outright)
    offered = shipped.offers(task)
    return replace(
        outcome,
        candidates=tuple({one.id: one for one in [*offered, *outcome.candidates]}.values())[: choosing.SHOWN],
        code="harness_only",
        question=shipped.words(task),
        unknown="" if offered else outcome.unknown,
    )


def _unplaced(models: settling.Suts, known: Known, index: Index, text: str) -> list[datasets.Named]:
    """owner/name that is no model: with the model named elsewhere it can only be a data set."""
    named = [datasets.Named("huggingface", *one) for one in _slugs(models, index)]
    if not (known.bound or models.named):
        named = [one for one in named if again.benchmark_of(known, one.kind, one.ref)]
    return [datasets.detailed(one, text) for one in named]


def _slugs(models: settling.Suts, index: Index) -> list[tuple[str, quantities.Span]]:
    """owner/name that is neither a benchmark and its part (mmlu/anatomy) nor two words of every day (and/or, w/o)."""
    found = []
    for slug, span in models.slugs:
        halves = [squash(one) for one in slug.split("/")]
        if halves[0] not in index.whole and not set(halves) & EITHER_OR and len(slug) > 3:
            found.append((slug, span))
    return found


def _model_or_set(outcome: Outcome, models: settling.Suts, known: Known, index: Index) -> Outcome:
    """Where no model is named, owner/name may be one, or a data set: neither is taken for granted."""
    slugs = [] if known.bound or models.named else _slugs(models, index)
    if outcome.code != "unresolved_request" or not slugs:
        return outcome
    named = [datasets.Named("huggingface", *one) for one in slugs]
    offered = [candidates.of_named(one, 0.4, "may be a data set of the Hub") for one in named]
    question = f"{slugs[0][0]} may be a data set of the Hugging Face Hub, or a model. Which benchmark is meant?"
    return Outcome((*offered, *outcome.candidates)[: choosing.SHOWN], "unclear_benchmark", question)


def _chosen(
    answers: Sequence[str], known: Known, said: Words, found: Sequence[Mention], outright: Sequence[datasets.Named]
) -> Outcome | None:
    """The owner's last word on the benchmark."""
    for answer in reversed(answers):
        named = next((one for one in outright if f"{one.kind}:{one.ref}" == answer), None) or _named_by(answer, said)
        if named is not None:
            return Outcome((candidates.of_named(named, 1.0, "chosen by the run's owner"),))
        target = candidates.chosen(answer, known)
        if target is not None:
            mention = next((one for one in found if target[0] in one.targets), None)
            out = mention is not None and refusing.left_out(said, target[0], mention)
            return choosing.forced(*target, said, () if out else found)
    return None


def _named_by(choice: str, said: Words) -> datasets.Named | None:
    """The data set behind the id of a choice; where that says no place in it, with the one that the words say."""
    named = datasets.of_choice(choice)
    return named and (named if "#" in choice else datasets.detailed(named, said.text))


def _reading(outcome: Outcome, counts: quantities.Quantities, known: Known) -> Reading:
    made = Reading(params=counts.params, trials=counts.trials, notes=counts.notes, candidates=outcome.candidates)
    if outcome.code is not None:
        choices = tuple(one.doc() for one in outcome.candidates)
        return replace(made, problem=Problem(outcome.code, outcome.question, choices, outcome.unknown, outcome.empty))
    best = outcome.candidates[0]
    notes = [*made.notes, *outcome.notes]
    kind, ref = best.source["kind"], best.source["ref"]
    if kind == "catalogue":
        notes += get(ref).notes
    empty = next((one for one in known.benchmarks if not one.subsets and squash(one.name) == squash(best.name)), None)
    if empty is not None and ref != empty.id:
        notes.append(f"Your own {empty.name} ({empty.id}) has no tasks yet, so it is not what runs.")
    own = again.benchmark_of(known, kind, ref)
    if own is not None:
        notes.append(
            f"{best.name} has been run before: the same rows are the same subset of your {own.name} ({own.id})."
        )
    return replace(
        made, source=best.source, part=best.source.get("part"), confidence=best.confidence, notes=tuple(notes)
    )


def _harness(asked: Sequence[tuple[str, Any]], tasks: Sequence[harnesses.Task], made: Reading) -> Json | None:
    """The harness that the words want, with the task that is the same benchmark there."""
    sure = [one.harness for one in tasks if one.sure]
    name = asked[0][0] if asked else sure[0] if sure else None
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


def _is_small(made: Reading, counts: quantities.Quantities, known: Known, answers: Sequence[str], words: str) -> bool:
    """Whether nothing says the number of tasks, and the words are not the name of what is run."""
    told = made.limit or counts.limits or "tasks" in known.capped or any(one.startswith("limit:") for one in answers)
    name = str((made.source or {}).get("name", ""))
    return not told and squash(words) != squash(name)


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
