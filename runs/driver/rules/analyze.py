"""Analyze by rule: fetch the rows, recognise their fields and kind, make a subset of them, write the plan."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from registry import catalog
from runs.analysis import grading, planning
from runs.analysis.edits import Edits, grader_faults
from runs.analysis.planning import Analysed
from runs.analysis.recognising import Unclear
from runs.context import Context, PhaseError
from runs.driver.base import Asks, Rows
from runs.driver.rules import places, plans, ready, subsets
from runs.driver.rules.places import Whole
from runs.models import Run
from runs.sources.troubles import SourceError
from runs.sources.way_out import way_out

Json = dict[str, Any]
LEAST_SHARE = 0.5  # of the rows that must become tasks
MAP = (
    'Say which columns are meant, as hints ("question column is q", "answer column is gold", "choices are a, b, c"), '
    "or pin a benchmark of your own: upload the rows as task_id, input, expected."
)


async def analyze(context: Context, found: Mapping[str, Any]) -> Rows:
    """``found``: what Find stored.

    Raises Asks (a choice, a mapping, the plan's approval), PhaseError: the codes of docs/sources.md, ``no_tasks``.
    """
    run = context.run
    edits = plans.edits_of(run)
    edits = _with_a_known_part(found["source"], edits)
    source = {**found["source"], **({"part": edits.part} if edits.part else {})}
    if source["kind"] == "registry":
        return await _ready(context, found, source, edits)
    try:
        whole = await places.fetched(source, run, context.orm, partial(way_out, context), plans.choices(run))
    except SourceError as trouble:
        raise _told(trouble) from None
    # In a thread: many rows take seconds, in which the lease must be kept.
    analysed = await asyncio.to_thread(_analysed, run, whole, edits)
    doc = await _doc(context, found, whole, analysed, edits)
    if not edits.grader:
        doc |= plans.scored_by(await context.orm(subsets.scorer_known, run.owner, whole, analysed))
    plans.approved(run, doc, analysed.faults)
    subset = await context.orm(subsets.kept, run.owner, whole, analysed)
    return plans.rows_of(subset.pk, subset.revision, subset.task_count, doc, edits)


def _with_a_known_part(source: Mapping[str, Any], edits: Edits) -> Edits:
    """Without a part that the benchmark of the catalogue has not, which becomes a fault."""
    if edits.part is None or source["kind"] != "catalogue":
        return edits
    entry = catalog.get(str(source["ref"]))
    if edits.part in [one.slug for one in entry.parts]:
        return edits
    known = f"known: {', '.join(one.slug for one in entry.parts[:40])}" if entry.parts else "it has no parts"
    fault = {"loc": ["edits", "part"], "msg": f"{entry.name} has no part {edits.part!r}; {known}."}
    return replace(edits, part=None, faults=[*edits.faults, fault])


async def _ready(context: Context, found: Mapping[str, Any], source: Mapping[str, Any], edits: Edits) -> Rows:
    """Rows that the registry has already."""
    run = context.run
    subset = await context.orm(ready.subset_of, run, source, plans.choices(run))
    own = await context.orm(subsets.scorer_of, run.owner, subset)
    doc = await context.orm(partial(ready.plan_of, scored=own is not None), run, subset, found, edits)
    if not edits.grader:
        doc |= plans.scored_by(own)
    plans.approved(run, doc, [*edits.faults, *grader_faults(doc["grader"] if edits.grader else None)])
    return plans.rows_of(subset.pk, subset.revision, subset.task_count, doc, edits)


def _analysed(run: Run, whole: Whole, edits: Edits) -> Analysed:
    try:
        made = planning.analyse(
            whole.held,
            whole.known,
            edits,
            hints=[str(hint) for hint in run.hints],
            licence=whole.licence,
            facts=whole.facts,
            judge=run.phase_models.get("judge"),
        )
    except Unclear as unclear:
        raise Asks(
            "unclear_rows",
            {
                "question": f"{whole.name}: {unclear.words}. {_columns(unclear.columns)} Which columns are meant?",
                "choices": [],
                "columns": unclear.columns,
            },
            MAP,
        ) from None
    _refuse_too_few(whole, made)
    return made


def _columns(seen: list[Json]) -> str:
    told = [f"{column['name']}: {', '.join(map(repr, column['examples'])) or '(empty)'}" for column in seen[:12]]
    return f"The columns are {'; '.join(told)}."


def _refuse_too_few(whole: Whole, analysed: Analysed) -> None:
    made = analysed.made
    count, total = len(made.tasks), len(made.tasks) + sum(made.left_out.values())
    if count >= max(1, LEAST_SHARE * total):
        return
    why = [f"{many:,} × {words} (as {', '.join(made.examples[words])})" for words, many in made.left_out.items()]
    raise PhaseError(
        "no_tasks",
        f"{whole.name}: of {total:,} rows only {count:,} can become tasks. {'; '.join(why) or 'No row is meant.'}",
        MAP,
    )


async def _doc(context: Context, found: Mapping[str, Any], whole: Whole, analysed: Analysed, edits: Edits) -> Json:
    """The plan, as `findings["analyze"]` keeps it."""
    run, tasks = context.run, analysed.made.tasks
    counted = plans.counts(run, found, edits, len(tasks))
    return {
        "dataset": {
            "words": _words(whole),
            "locator": whole.locator,
            "revision": whole.revision,
            "licence": whole.licence,
            "snapshot": whole.snapshots[0] if len(whole.snapshots) == 1 else whole.snapshots,
            "sha256": whole.sha256,
        },
        "n": len(tasks),
        "kind": analysed.kind,
        "fields": analysed.fields,
        "grader": analysed.grader,
        "impl": None,
        "scorer": grading.in_words(analysed.grader),
        "metric": analysed.metric,
        "chance": analysed.chance,
        "risks": [*whole.risks, *plans.too_few(whole, analysed), *analysed.risks],
        "estimate": plans.estimate(run, tasks, analysed.kind, analysed.grader, counted),
        **counted,
    }


def _words(whole: Whole) -> str:
    revision = f" at {whole.revision[:12]}" if whole.revision else ""
    return f"{whole.name}, from {whole.where}{revision}"


def _told(trouble: SourceError) -> Asks | PhaseError:
    if trouble.choices and trouble.asks:
        named = [{**choice, "id": f"{trouble.asks}:{choice['id']}"} for choice in trouble.choices]
        return Asks(trouble.code, {"question": trouble.message, "choices": named}, trouble.hint)
    return PhaseError(trouble.code, trouble.message, trouble.hint)
