"""Find by rule: the request's words against the registry and the catalogue."""

from collections.abc import Sequence
from typing import Any

from accounts.principal import Principal
from kernel.errors import DomainError
from registry import catalog, visibility
from runs import providers, suts
from runs.context import Context, PhaseError
from runs.driver.base import Asks, Found
from runs.finding import Known, KnownBenchmark, KnownSubset, Problem, Reading, read
from runs.models import Run
from runs.schemas import Sut
from secrets_vault.connections import queries as connections

INSTEAD = "Pin a benchmark instead: benchmark=, with subset= and impl= where there are several."
_MODEL = 'Name it in the words, like "gpt-4o-mini via OpenRouter", or launch with sut={"model": …, "provider": …}.'
_NUMBER = 'Say it in the words, like "50 samples", or launch with limits={"run": {"tasks": 50}}.'
_HINTS = {"no_model": _MODEL, "unclear_model": _MODEL, "unclear_limit": _NUMBER}


async def find(context: Context) -> Found:
    """What the run's words, hints and its owner's answers mean.

    Raises Asks (there are choices), PhaseError (there are none): ``unresolved_request``, ``unclear_benchmark``,
    ``several_benchmarks``, ``unclear_part``, ``several_subsets``, ``no_model``, ``unclear_model``, ``unclear_limit``.
    """
    run = context.run
    known = await context.orm(known_to, run)
    reading = read(run.request, known, [str(hint) for hint in run.hints], answers(run))
    if reading.problem is not None:
        raise _trouble(reading.problem)
    assert reading.source is not None
    doc: dict[str, Any] = {
        "request": run.request,
        "part": reading.part,
        "params": reading.params,
        "harness": reading.harness,
        "confidence": reading.confidence,
        "candidates": [one.doc() for one in reading.candidates],
        "notes": [*reading.notes, *_unheard(run, reading)],
    }
    return Found(reading.source, reading.sut, reading.limit, reading.trials, doc)


def known_to(run: Run) -> Known:
    """What the run's owner sees of the registry, has connections to, and has keys for."""
    owner = Principal(run.owner, frozenset(), "")
    own = {one.name: one.provider for one in connections.visible(owner).filter(kind="ai_model")}
    return Known(tuple(_benchmarks(owner)), _reachable(owner), own, bound=bool(run.sut))


def answers(run: Run) -> list[str]:
    """What the owner has chosen when Find asked, in order: a second question does not undo the first answer."""
    return [str(said["choice"]) for said in run.answers if said["phase"] == "find" and "choice" in said]


def _benchmarks(owner: Principal) -> list[KnownBenchmark]:
    """With the subsets that can run. Those that hold a catalogue entry's rows are found by that entry."""
    subsets: dict[str, list[KnownSubset]] = {}
    rows = visibility.subsets(owner).filter(state="ready", task_count__gt=0).order_by("created_at", "pk")
    for pk, benchmark, slug, name, source in rows.values_list("pk", "benchmark_id", "slug", "name", "source"):
        if (source or {}).get("kind") != "catalogue":
            subsets.setdefault(benchmark, []).append(KnownSubset(pk, slug, name))
    seen = visibility.benchmarks(owner).filter(pk__in=subsets).values_list("pk", "name", "owner_id")
    return [
        KnownBenchmark(pk, name, by == owner.account.pk, tuple(subsets[pk])) for pk, name, by in seen.order_by("pk")
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


def _trouble(problem: Problem) -> Asks | PhaseError:
    hint = _HINTS.get(problem.code, INSTEAD)
    if not problem.choices:
        return PhaseError(problem.code, problem.question, hint)
    listed = "; ".join(f"{one['name']} ({one['id']})" for one in problem.choices)
    question = {"question": problem.question, "choices": list(problem.choices)}
    how = "Say which one, or launch with metadata.autonomous=false to be asked."
    return Asks(problem.code, question, f"It may mean: {listed}. {how} {hint}")


def _unheard(run: Run, reading: Reading) -> Sequence[str]:
    """What the words want and this run does not do."""
    notes = []
    harness = reading.harness or {}
    wanted = harness.get("name")
    if wanted is not None and wanted != run.harness:
        task = harness.get("task", "a task of it")
        do = f"Launch with harness={wanted!r} for that."
        notes.append(f"The words want {wanted} ({task}); this run uses {run.harness}. {do}")
    entry = catalog.get(reading.source["ref"]) if reading.source and reading.source["kind"] == "catalogue" else None
    if entry is not None and entry.grader_of(reading.part) is None:
        able = ", ".join(entry.harness_of(reading.part)) or "none that is known"
        notes.append(f"No grader of ours scores {entry.name}; harnesses that do: {able}.")
    return notes
