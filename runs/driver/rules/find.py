"""Find by rule: the request's words against the registry and the catalogue."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Q

from accounts.principal import Principal
from kernel.errors import DomainError
from registry import catalog, visibility
from runs import launch_options, limits, providers, suts
from runs.context import Context, PhaseError
from runs.driver.base import Asks, Found
from runs.driver.deciding import split_hints
from runs.driver.rules import hub_names, ready
from runs.finding import Known, KnownBenchmark, KnownSubset, Problem, Reading, read
from runs.harnesses.table import HARNESSES
from runs.models import Run
from runs.schemas import Sut
from runs.sources.troubles import SourceError
from secrets_vault.connections import queries as connections

FIRST = (
    "You have no benchmark with tasks yet. Name a well-known one (such as GSM8K or MMLU), or make your own: "
    "/benchmarks, or benchwright bench create."
)
_NAMED = 3  # own benchmarks that a hint names
_MODEL = 'Name it in the words, like "gpt-4o-mini via OpenRouter", or launch with sut={"model": …, "provider": …}.'
_NUMBER = 'Say it in the words, like "50 samples", or launch with limits={"run": {"tasks": 50}}.'
_CEILING = (
    'Launch with limits={"run": {"cost": 0.5, "duration": 600}}, or --limit-to run.cost=0.5: US dollars and seconds.'
)
_HINTS = {"no_model": _MODEL, "unclear_model": _MODEL, "unclear_limit": _NUMBER, "unclear_ceiling": _CEILING}


async def find(context: Context) -> Found:
    """What the run's words, hints and its owner's answers mean. A name that nobody here knows is looked for at the Hub.

    Raises Asks (there are choices), PhaseError (there are none): ``unresolved_request``, ``unclear_benchmark``,
    ``harness_only``, ``several_benchmarks``, ``unclear_part``, ``several_subsets``, ``no_model``, ``unclear_model``,
    ``unclear_limit``, ``unclear_ceiling``, ``rows_unavailable``; those of docs/sources.md where the Hub can't be asked
    and nothing else was found.
    """
    run = context.run
    known = await context.orm(known_to, run)
    hints, chosen = split_hints(run.hints)
    reading = read(run.request, known, hints, [*chosen, *answers(run)])
    if reading.problem is not None and reading.problem.unknown:
        reading = await _searched(context, known, reading)
    if reading.problem is not None:
        raise _trouble(reading.problem, known)
    assert reading.source is not None
    doc: dict[str, Any] = {
        "request": run.request,
        "part": reading.part,
        "params": reading.params,
        "harness": reading.harness,
        "confidence": reading.confidence,
        "candidates": [one.doc() for one in reading.candidates],
        "same_tasks": _same_tasks(reading),
        "notes": [*reading.notes, *_unheard(run, reading)],
    }
    return Found(reading.source, reading.sut, reading.limit, reading.trials, doc)


async def _searched(context: Context, known: Known, reading: Reading) -> Reading:
    """The reading with what the Hub has for the unknown name. Raises PhaseError where it can't be asked."""
    run, problem = context.run, reading.problem
    assert problem is not None
    try:
        hits = await hub_names.looked_up(context, problem.unknown)
    except SourceError as trouble:
        if problem.code != "unresolved_request":
            return reading  # a question that can be answered without the Hub
        raise _unasked(problem, trouble, known) from None
    if hits.taken is None or problem.code != "unresolved_request" or problem.choices:
        return replace(reading, problem=hub_names.extended(problem, hits))
    hints, chosen = split_hints(run.hints)
    made = read(run.request, known, hints, [*chosen, *answers(run), hits.taken.id])
    note = (
        f"{hits.taken.name} was found by a search of the Hugging Face Hub: nobody here has looked at its rows before."
    )
    return replace(made, confidence=hub_names.SURE, candidates=hits.candidates, notes=(*made.notes, note))


def known_to(run: Run) -> Known:
    """What the run's owner sees of the registry, has connections to, and has keys for."""
    owner = Principal(run.owner, frozenset(), "")
    own = {one.name: one.provider for one in connections.visible(owner).filter(kind="ai_model")}
    return Known(tuple(_benchmarks(owner)), _reachable(owner), own, bool(run.sut), _capped(run))


def _capped(run: Run) -> frozenset[str]:
    level = limits.parse(run.limits).run
    money = level.cost is not None or level.model_cost is not None
    tasks = level.tasks is not None or launch_options.metadata_cap(run.metadata) is not None
    return frozenset([*["money"] * money, *["time"] * (level.duration is not None), *["tasks"] * tasks])


def answers(run: Run) -> list[str]:
    """What the owner has chosen when Find asked, in order: a second question does not undo the first answer."""
    return [str(said["choice"]) for said in run.answers if said["phase"] == "find" and "choice" in said]


def _benchmarks(owner: Principal) -> list[KnownBenchmark]:
    """With the subsets that can run. Those that hold a catalogue entry's rows are found by that entry. The caller's own
    without any subset that can run are there too: a request that names one is told so.
    """
    full = set()
    subsets: dict[str, list[KnownSubset]] = {}
    rows = visibility.subsets(owner).filter(state="ready", task_count__gt=0).order_by("created_at", "pk")
    for pk, benchmark, slug, name, source in rows.values_list("pk", "benchmark_id", "slug", "name", "source"):
        full.add(benchmark)
        if (source or {}).get("kind") != "catalogue":
            place = f"{source['kind']}:{source['ref']}" if source else ""
            subsets.setdefault(benchmark, []).append(KnownSubset(pk, slug, name, place))
    mine = Q(owner=owner.account) & ~Q(pk__in=full)
    seen = visibility.benchmarks(owner).filter(Q(pk__in=subsets) | mine).values_list("pk", "name", "owner_id")
    return [
        KnownBenchmark(pk, name, by == owner.account.pk, tuple(subsets.get(pk, ())))
        for pk, name, by in seen.order_by("pk")
    ]


def _reachable(owner: Principal) -> frozenset[str]:
    """Providers whose key the account has, or that need none. (Whether one answers, only a call tells.)"""
    found = set()
    for name in providers.names():
        try:
            suts.bind(owner, Sut(model="any", provider=name))
        except DomainError:
            continue
        found.add(name)
    return frozenset(found)


def instead(known: Known, listed: str = "") -> str:
    """What can be run: the caller's own benchmarks by name, but for those in ``listed``, or how to come to one."""
    runnable = [one for one in known.benchmarks if one.own and one.subsets]
    own = [one for one in runnable if one.id not in listed]
    if not own:
        return "Or name a well-known benchmark, such as GSM8K or MMLU." if runnable else FIRST
    named = ", ".join(f"{one.name} ({one.id})" for one in own[:_NAMED])
    more = f" and {len(own) - _NAMED} more (benchwright bench list)" if len(own) > _NAMED else ""
    return f"Name a well-known benchmark (such as GSM8K or MMLU), or one of yours: {named}{more}."


def _trouble(problem: Problem, known: Known) -> Asks | PhaseError:
    listed = _listed(problem) if problem.choices else ""
    hint = _HINTS.get(problem.code) or instead(known, listed)
    if problem.empty:
        hint = f"{ready.fill(problem.empty)} {hint}"
    if not problem.choices:
        return PhaseError(problem.code, problem.question, hint)
    question = {"question": problem.question, "choices": list(problem.choices)}
    return Asks(problem.code, question, f"{listed} {hint}")


def _listed(problem: Problem) -> str:
    listed = "; ".join(f"{one['name']} ({one['id']})" for one in problem.choices)
    how = 'Say which one, launch with its id as a hint (hints=["choice:…"]), or be asked (metadata.autonomous=false).'
    return f"It may mean: {listed}. {how}"


def _unasked(problem: Problem, trouble: SourceError, known: Known) -> Asks | PhaseError:
    """Nobody knows whether there is such a benchmark: the way to the Hub is at fault, not the request."""
    words = f"{problem.question} Whether the Hugging Face Hub knows it can't be told: {trouble.message}"
    listed = _listed(problem) if problem.choices else ""
    hint = f"{trouble.hint} {instead(known, listed)}"
    if not problem.choices:
        return PhaseError(trouble.code, words, hint)
    return Asks(trouble.code, {"question": words, "choices": list(problem.choices)}, f"{listed} {hint}")


def _same_tasks(reading: Reading) -> dict[str, Any]:
    """harness -> {"task", "args"?}: what measures the same there; empty where the catalogue knows none."""
    if reading.source is None or reading.source["kind"] != "catalogue":
        return {}
    return catalog.get(reading.source["ref"]).harness_of(reading.part)


def _unheard(run: Run, reading: Reading) -> Sequence[str]:
    """What the words want and this run does not do."""
    notes = []
    harness = reading.harness or {}
    wanted = harness.get("name")
    if wanted is not None and wanted != run.harness:
        task = harness.get("task", "a task of it")
        here = wanted in HARNESSES
        do = f"Launch with harness={wanted!r} for that." if here else f"This installation has no harness={wanted!r}."
        notes.append(f"The words want {wanted} ({task}); this run uses {run.harness}. {do}")
    entry = catalog.get(reading.source["ref"]) if reading.source and reading.source["kind"] == "catalogue" else None
    if entry is not None and entry.grader_of(reading.part) is None:
        able = ", ".join(entry.harness_of(reading.part)) or "none that is known"
        notes.append(f"No grader of ours scores {entry.name}; harnesses that do: {able}.")
    return notes
