"""Tasks into the registry: the owner's benchmark and subset for a place's rows, made once, then found again."""

import re
from collections.abc import Sequence
from typing import Any

from django.db import connection, transaction

from accounts.models import User
from accounts.principal import Principal
from registry import authoring, queries
from registry.content_ids import row_digest, subset_id
from registry.models import Benchmark, ImplRegistration, Subset
from registry.rows import MAX_ROWS
from runs.analysis.planning import Analysed
from runs.driver.rules.places import Whole

Json = dict[str, Any]
_SLUG_CHARS = 60


@transaction.atomic
def kept(owner: User, whole: Whole, analysed: Analysed) -> Subset:
    """The subset that holds these tasks; the same tasks of the same benchmark are the same subset."""
    principal = Principal(owner, frozenset(), "")
    _alone(owner, whole)
    benchmark = _known(principal, whole) or _new(principal, whole, analysed)
    return _held(benchmark, analysed) or _created(principal, benchmark, whole, analysed, analysed.made.tasks)


def scorer_known(owner: User, whole: Whole, analysed: Analysed) -> ImplRegistration | None:
    """The scorer that was registered for these tasks, if they are here already. Nothing is stored."""
    benchmark = _known(Principal(owner, frozenset(), ""), whole)
    subset = _held(benchmark, analysed) if benchmark is not None else None
    return scorer_of(owner, subset) if subset is not None else None


def scorer_of(owner: User, subset: Subset) -> ImplRegistration | None:
    """The scorer that was registered for this subset, with its impl."""
    return queries.own_scorer(Principal(owner, frozenset(), ""), subset)


def _held(benchmark: Benchmark, analysed: Analysed) -> Subset | None:
    content = subset_id(benchmark.pk, (row_digest(task) for task in analysed.made.tasks))
    held = Subset.objects.filter(benchmark=benchmark, content_id=content, deleted_at=None)
    return held.select_related("benchmark").first()


def _alone(owner: User, whole: Whole) -> None:
    """Two runs at once make one benchmark."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"rows {owner.pk} {whole.kind} {whole.ref}"]
        )


def _known(principal: Principal, whole: Whole) -> Benchmark | None:
    held = Subset.objects.filter(
        benchmark__owner=principal.account,
        benchmark__deleted_at=None,
        source__kind=whole.kind,
        source__ref=whole.ref,
    )
    known = held.order_by("created_at", "pk").select_related("benchmark").first()
    return known.benchmark if known is not None else None


def _new(principal: Principal, whole: Whole, analysed: Analysed) -> Benchmark:
    name = whole.name.partition(", ")[0] if whole.kind == "catalogue" else whole.name
    return authoring.create_benchmark(principal, name[:200], whole.description, analysed.kind)


def _created(
    principal: Principal, benchmark: Benchmark, whole: Whole, analysed: Analysed, tasks: Sequence[Json]
) -> Subset:
    slug = _free_slug(benchmark, whole.part or "all")
    pieces = [tasks[at : at + MAX_ROWS] for at in range(0, len(tasks), MAX_ROWS)]
    subset = authoring.create_subset(
        principal, benchmark.pk, slug, name=(whole.part or "All")[:200], tasks=pieces[0], staged=len(pieces) > 1
    )
    for number, piece in enumerate(pieces[1:], 2):
        subset = authoring.append_tasks(principal, subset.pk, piece, complete=number == len(pieces))
    subset.source = {
        "kind": whole.kind,
        "ref": whole.ref,
        "part": whole.part,
        "locator": whole.locator,
        "revision": whole.revision,
        "licence": whole.licence,
        "sha256": whole.sha256,
        "fields": analysed.fields,
        "task_kind": analysed.kind,
    }
    subset.save(update_fields=["source"])
    return subset


def _free_slug(benchmark: Benchmark, wanted: str) -> str:
    """Other tasks of the same name (a newer revision, another mapping) get a number."""
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", wanted).strip("-._")[:_SLUG_CHARS] or "all"
    taken = set(Subset.objects.filter(benchmark=benchmark, deleted_at=None).values_list("slug", flat=True))
    number, slug = 1, base
    while slug in taken:
        number += 1
        slug = f"{base}-{number}"
    return slug
