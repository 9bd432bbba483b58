"""A benchmark that the registry has already: which of its subsets is meant, and what it holds."""

from collections.abc import Mapping
from typing import Any

from accounts.principal import Principal
from kernel import strict_json
from kernel.errors import DomainError
from registry import queries
from registry.catalog.entries import KINDS
from registry.models import Benchmark, Subset
from runs.analysis import checks, grading
from runs.analysis.edits import Edits
from runs.analysis.making import Made
from runs.analysis.planning import JUDGED
from runs.context import PhaseError
from runs.driver.base import Asks
from runs.driver.rules import plans, uploaded
from runs.models import Run

Json = dict[str, Any]
_BY_GRADER = {"choice": "multiple_choice", "numeric": "math", "tool_calls": "function_call", "code": "code"}
_LOOKED_AT = 5000  # rows that are looked through


def subset_of(run: Run, source: Mapping[str, Any], chosen: list[str]) -> Subset:
    """The ready subset that is meant. Raises Asks where several are, PhaseError where none is."""
    principal = Principal(run.owner, frozenset(), "")
    try:
        named = chosen[-1] if chosen else source.get("subset")
        if named:
            return queries.runnable_subset(principal, str(named))
        benchmark = queries.benchmark(principal, str(source["ref"]))
    except DomainError as error:
        raise PhaseError(error.code, error.detail, "Name another benchmark or subset.") from None
    found = list(queries.subsets_of(principal, benchmark).filter(state="ready", task_count__gt=0))
    return _only(benchmark, found, source.get("part"))


def fill(benchmark_id: str) -> str:
    """How a benchmark without tasks comes to some."""
    return (
        f"Add tasks (“Add a subset” on its page, or benchwright bench subset create {benchmark_id} --slug all "
        "--file tasks.jsonl), or finish its upload."
    )


def _only(benchmark: Benchmark, found: list[Subset], part: Any) -> Subset:
    if not found:
        raise PhaseError(
            "rows_unavailable",
            f"{benchmark.name} ({benchmark.pk}) has no tasks yet.",
            fill(benchmark.pk),
        )
    fitting = [one for one in found if part and _folded(part) in (_folded(one.slug), _folded(one.name))]
    if len(fitting) == 1:
        return fitting[0]
    if len(found) == 1 and not part:
        return found[0]
    choices = [
        {"id": one.pk, "name": one.name or one.slug, "reason": f"{one.task_count:,} tasks, slug {one.slug}"}
        for one in found
    ]
    said = f"has no subset {part!r}" if part else f"has {len(found)} subsets"
    raise Asks(
        "several_subsets",
        {"question": f"The benchmark {benchmark.name} {said}. Which one is meant?", "choices": choices},
        f"Name one of them in the request: {', '.join(one.slug for one in found[:10])}. Or pin it by its id.",
    )


def _folded(text: Any) -> str:
    return "".join(sign for sign in str(text).casefold() if sign.isalnum())


def plan_of(run: Run, subset: Subset, found: Mapping[str, Any], edits: Edits, *, scored: bool = False) -> Json:
    """The plan of rows that are here already. ``scored``: a scorer was registered for them.

    Own tasks without a grader and a scorer get one by their shape, which a risk tells.
    """
    rows = queries.task_rows(subset.pk, subset.revision, stop=_LOOKED_AT)
    tasks = [{"expected": None, **strict_json.loads(row.row_text.encode())} for row in rows]
    source = subset.source or {}
    bare = subset.grader is None and not scored and subset.benchmark.owner_id == run.owner_id
    guessed = uploaded.guess(tasks) if bare and source.get("kind") != "catalogue" else None
    grader = edits.grader_over(_grader(run, guessed) if guessed else subset.grader)
    kind = edits.kind or source.get("task_kind") or (guessed.kind if guessed else _kind(subset))
    counted = plans.counts(run, found, edits, subset.task_count)
    return {
        "dataset": {
            "words": f"{subset.benchmark.name}, subset {subset.name or subset.slug}, from the registry",
            "locator": {"source": "registry", "benchmark": subset.benchmark_id, "subset": subset.pk},
            "revision": str(subset.revision),
            "licence": source.get("licence", ""),
            "snapshot": None,
            "sha256": None,
        },
        "n": subset.task_count,
        "kind": kind,
        "fields": source.get("fields") or (guessed.fields if guessed else {}),
        "grader": grader,
        "impl": None,
        "scorer": grading.in_words(grader),
        "metric": grading.metric(kind, grader),
        "chance": grading.chance(kind, grader, tasks),
        "risks": [
            *(guessed.risks if guessed and not edits.grader else ()),
            *checks.risks(Made(tasks), kind, source.get("licence") or "own rows (CC0)", {}),
        ],
        "estimate": plans.estimate(run, tasks, kind, grader, counted),
        **counted,
    }


def _grader(run: Run, guessed: uploaded.Guessed) -> Json | None:
    """The guessed one; for texts that no rule compares the judge that the launch names."""
    judge = run.phase_models.get("judge")
    if guessed.grader is None and judge is not None and guessed.kind in ("free_text", "multi_turn"):
        return {"kind": "judge", "judge": dict(judge), "rubric": JUDGED}
    return guessed.grader


def _kind(subset: Subset) -> str:
    if subset.grader is not None:
        return _BY_GRADER.get(subset.grader["kind"], "free_text")
    return next((kind for kind in subset.kinds if kind in KINDS), "free_text")
