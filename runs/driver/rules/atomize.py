"""Atomize by rule: a scorer that exists already, or the kit for the kind of rows; it proves itself first."""

from collections.abc import Mapping
from typing import Any

from accounts.principal import Principal
from kernel import strict_json
from kernel.errors import DomainError
from registry import graders, queries, scorers, verdicts
from registry.models import Impl, Subset
from runs.analysis import grading
from runs.artifacts import records
from runs.compute.base import Compute, ComputeFault
from runs.compute.table import COMPUTE
from runs.context import Context, PhaseError
from runs.driver.base import Scorer
from runs.driver.deciding import answer_to
from runs.driver.rules.wishes import NotUnderstood, grader_with
from runs.models import Run
from runs.selftest import keeping
from runs.selftest.prove import Verdict, prove

OTHERWISE = (
    "Name a model as the run's driver, which can rewrite a scorer; or register the scorer that you mean "
    "(POST /v1/impls) and launch with impl=."
)
NO_GRADER = (
    'Choose one in the plan (metadata: {"autonomous": false}, then edits.grader, such as {"kind": "contains"}), name a '
    "model as the run's driver or as judge (phase_models.judge), or register a scorer of the subset (POST /v1/impls) "
    "and launch with impl=."
)
MEND = "Register a corrected scorer (POST /v1/impls) and launch with impl=, or choose another grader in the plan."


async def atomize(context: Context, found: Mapping[str, Any], plan: Mapping[str, Any]) -> Scorer:
    """``plan``: what Analyze stored. Raises PhaseError ``scorer_unproven`` (it failed its self-test, or there is none
    for these rows), ``cannot_apply`` (a fork's description that no grader's field says), ``sandbox_unavailable``.
    """
    run = context.run
    if run.description:
        return await _proven(context, plan, *await context.orm(_changed, run, plan))
    if plan.get("impl") is not None:
        return await _proven(context, plan, await context.orm(_named, run, plan["impl"]), reused=True)
    grader = plan.get("grader")
    if grader is None:
        raise PhaseError("scorer_unproven", "No scorer of these rows exists, and their kind has no grader.", NO_GRADER)
    edits = (answer_to(run, "analyze") or {}).get("edits") or {}
    by = queries.BY_EDIT if edits.get("grader") is not None else queries.BY_RULE
    return await _proven(context, plan, *await context.orm(_authored, run, grader, by))


def _named(run: Run, impl: str) -> Impl:
    """The impl that the plan names."""
    try:
        return queries.impl(_owner(run), impl, _subset(run))
    except DomainError as error:
        raise PhaseError(error.code, error.detail, MEND) from None


def _authored(run: Run, grader: Mapping[str, Any], by: str, threshold: float = 1.0) -> tuple[Impl, bool]:
    """The grader as an impl of the run's owner: the same one each time; and whether it was there already.

    ``by``: how a new one's label begins. One that is there keeps its own label.
    """
    owner, subset = _owner(run), _subset(run)
    held = set(queries.registrations(owner, None).filter(impl__subset=subset).values_list("impl_id", flat=True))
    try:
        label = f"{by}{grader.get('kind')}"
        made = scorers.create(owner, subset.pk, grader=grader, label=label, pass_threshold=threshold, relabel=False)
    except DomainError as error:
        raise PhaseError("scorer_unproven", f"The plan's grader can't be used: {error.detail}", MEND) from None
    return made.impl, made.impl_id in held


def _changed(run: Run, plan: Mapping[str, Any]) -> tuple[Impl, bool]:
    """The scorer that a fork starts from, with what its description asks for."""
    base = _base(run, plan)
    if base is None:
        words = "The scorer that this fork starts from is code, which the builtin driver can't rewrite."
        raise PhaseError("cannot_apply", words, OTHERWISE)
    grader, threshold = base
    try:
        made = graders.validate_grader(grader_with(run.description, grader))
    except NotUnderstood as why:
        words = f"The builtin driver changes a grader by its fields, and the description can't be told in them: {why}."
        raise PhaseError("cannot_apply", words[:1000], OTHERWISE) from None
    except DomainError as error:
        raise PhaseError(
            "cannot_apply", f"With that change the grader can't be used: {error.detail}", OTHERWISE
        ) from None
    if made == grader:
        words = "The scorer does so already: its grader says what the description asks for, so nothing would change."
        raise PhaseError("cannot_apply", words, OTHERWISE)
    return _authored(run, made, queries.BY_FORK, threshold)


def _base(run: Run, plan: Mapping[str, Any]) -> tuple[dict[str, Any], float] | None:
    """The grader, with its defaults, that a fork changes, and its threshold: its parent's; the plan's where tasks are
    looked for anew. None where that is code, or nothing.
    """
    impl = None
    if run.parent is not None and run.from_phase not in ("find", "analyze"):
        impl = run.parent.impl
    if impl is None and plan.get("impl"):
        impl = Impl.objects.filter(pk=plan["impl"]).first()
    grader = impl.grader if impl is not None else plan.get("grader")
    if grader is None:
        return None
    return graders.validate_grader(grader), impl.pass_threshold if impl is not None else 1.0


async def _proven(context: Context, plan: Mapping[str, Any], impl: Impl, reused: bool) -> Scorer:
    verdict = await _verdict(context, impl, plan.get("chance"))
    await context.orm(_store, context.run, verdict)
    if not verdict["ok"]:
        answers = await context.orm(_may_see_answers, context.run)
        raise PhaseError("scorer_unproven", _told(verdict, answers=answers), MEND)
    doc: dict[str, Any] = {"verdict": verdicts.shown(verdict, answers=False)}
    if impl.grader is not None:
        doc |= {"grader": impl.grader, "scorer": f"{grading.in_words(impl.grader)} ({graders.told(impl.grader)})"}
    return Scorer(impl.pk, reused, doc)


async def _verdict(context: Context, impl: Impl, chance: float | None) -> Verdict:
    """The kept one, or a new one, which is kept."""
    revision = context.run.subset_revision
    impl = await context.orm(lambda: Impl.objects.select_related("subset").get(pk=impl.pk))
    kept = keeping.kept_verdict(impl, revision)
    if kept is not None:
        return kept
    subject = await context.orm(keeping.subject_of, impl, revision, chance)
    compute: Compute = COMPUTE[context.run.backend]()
    try:
        verdict = await prove(subject, compute)
    except ComputeFault as error:
        raise PhaseError("sandbox_unavailable", str(error)[:1000], "Run `manage.py doctor` on the worker.") from error
    await context.orm(keeping.keep, impl.pk, verdict)
    return verdict


def _store(run: Run, verdict: Verdict) -> None:
    records.put(run.id, "verdict", "verdict.json", strict_json.dumps(verdict))


def _told(verdict: Verdict, *, answers: bool) -> str:
    """What failed, with one row. ``answers``: the reader may see what was expected."""
    failed = [one for one in verdict["checks"] if not one["ok"]]
    words = f"The scorer did not prove itself ({verdict['badge']}): {failed[0]['words']}"
    example = failed[0].get("example")
    if example is not None and answers:
        why = f": {example['why']}" if example.get("why") else ""
        words += f" For example, task {example['task_id']}: “{example['output']}” scores {example['score']}{why}"
    return words[:1500]


def _may_see_answers(run: Run) -> bool:
    subset = _subset(run)
    return subset.answers == "open" or subset.benchmark.owner_id == run.owner_id


def _subset(run: Run) -> Subset:
    return Subset.objects.select_related("benchmark").get(pk=run.subset_id)


def _owner(run: Run) -> Principal:
    return Principal(run.owner, frozenset(), "")
