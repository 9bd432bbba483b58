"""Acts of a benchmark's owner on benchmarks and subsets. Rows and freezing: uploads; scorers: scorers."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from accounts.principal import Principal
from kernel import ids, secret_signs
from kernel.clock import now
from kernel.errors import DomainError, invalid
from registry import graders, rows, scorers, uploads, visibility
from registry.models import Benchmark, Subset

_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_EDITABLE = ("name", "description", "category", "tags")


def create_benchmark(
    principal: Principal, name: str, description: str = "", category: str = "", tags: Sequence[str] = ()
) -> Benchmark:
    secret_signs.refuse({"name": name, "description": description, "category": category, "tags": tags}, "body")
    return Benchmark.objects.create(
        id=ids.prefixed_uuid("bm"),
        owner=principal.account,
        name=name,
        description=description,
        category=category,
        tags=list(dict.fromkeys(tags)),
    )


def update_benchmark(benchmark: Benchmark, changes: Mapping[str, Any]) -> Benchmark:
    """``benchmark`` from ``own_benchmark(…, lock=True)``."""
    secret_signs.refuse(changes, "body")
    for field in _EDITABLE:
        if field in changes:
            setattr(benchmark, field, changes[field])
    benchmark.tags = list(dict.fromkeys(benchmark.tags))
    benchmark.save()
    return benchmark


def delete_benchmark(principal: Principal, benchmark_id: str) -> None:
    """Hide it and all below it. The rows stay: runs that were scored by them stay readable."""
    with transaction.atomic():
        benchmark = own_benchmark(principal, benchmark_id, lock=True)
        benchmark.deleted_at = now()
        benchmark.save()


def own_benchmark(principal: Principal, benchmark_id: str, *, lock: bool = False) -> Benchmark:
    """The principal's own benchmark; DomainError ``not_found`` for any other, public ones too."""
    found = visibility.benchmarks(principal).filter(pk=benchmark_id, owner=principal.account)
    benchmark = (found.select_for_update(of=("self",), no_key=True) if lock else found).first()
    if benchmark is None:
        raise DomainError("not_found", "There is no such benchmark.")
    return benchmark


def own_subset(principal: Principal, subset_id: str, *, lock: bool = False) -> Subset:
    """The principal's own subset; DomainError ``not_found`` for any other."""
    found = visibility.subsets(principal).filter(pk=subset_id, benchmark__owner=principal.account)
    subset = (found.select_for_update(of=("self",)) if lock else found).first()
    if subset is None:
        raise DomainError("not_found", "There is no such subset.")
    return subset


def create_subset(
    principal: Principal,
    benchmark_id: str,
    slug: str,
    *,
    name: str = "",
    description: str = "",
    tasks: Sequence[Any] = (),
    texts: Sequence[str] | None = None,
    rolling: bool = False,
    staged: bool = False,
    answers: str = "open",
    grader: Mapping[str, Any] | None = None,
) -> Subset:
    """A new subset: frozen at once, rolling, or (``staged``) open for further pieces until one says ``complete``.

    DomainError ``validation_failed``, ``duplicate_task_id``, ``too_many_rows``, ``slug_taken``, ``subset_exists``,
    ``secret_in_payload``.
    """
    benchmark = own_benchmark(principal, benchmark_id)
    _check_form(slug, tasks, rolling, staged)
    secret_signs.refuse({"name": name, "description": description}, "body")
    secret_signs.refuse(grader, "body", "grader", names=False)
    full = graders.validate_grader(grader) if grader is not None else None
    read = rows.read(tasks, texts)
    graders.check_rows(full, tasks)
    with transaction.atomic():
        benchmark = own_benchmark(principal, benchmark_id, lock=True)
        _refuse_taken_slug(benchmark, slug)
        subset = Subset(
            id=ids.prefixed_uuid("sub"),
            benchmark=benchmark,
            slug=slug,
            name=name,
            description=description,
            rolling=rolling,
            state="ready" if rolling else "staging",
            answers=answers,
            grader=full,
        )
        subset.save(force_insert=True)
        uploads.add(subset, read, revision=1)
        if not rolling and not staged:
            subset = uploads.freeze_upload(subset)
        if subset.state == "ready":
            scorers.register_grader(principal, subset)
    return subset


def _check_form(slug: str, tasks: Sequence[Any], rolling: bool, staged: bool) -> None:
    if not _SLUG.fullmatch(slug):
        raise invalid(["body", "slug"], "A slug has 1 to 80 letters, digits, dots, dashes and underscores.")
    if rolling and staged:
        raise DomainError(
            "mutually_exclusive",
            "A rolling subset needs no staged upload: create it, then append to it.",
            errors=[{"loc": ["body", "staged"], "msg": "Not together with rolling."}],
        )
    if not tasks and not rolling and not staged:
        raise invalid(
            ["body", "tasks"],
            "A frozen subset needs at least one task. Give tasks, or create it with rolling or staged.",
        )


def _refuse_taken_slug(benchmark: Benchmark, slug: str) -> None:
    taken = Subset.objects.filter(benchmark=benchmark, slug=slug, deleted_at=None)
    holder = taken.select_for_update().first()
    if holder is not None and uploads.abandoned().filter(pk=holder.pk).exists():
        uploads.remove(holder)
        return
    if holder is not None:
        state = ", whose upload is not finished" if holder.state == "staging" else ""
        raise DomainError(
            "slug_taken",
            f"The benchmark already has a subset {slug} ({holder.pk}{state}). Choose another slug, or delete that one.",
            errors=[{"loc": ["body", "slug"], "msg": f"Taken by {holder.pk}."}],
            subset=holder.pk,
        )


def append_tasks(
    principal: Principal,
    subset_id: str,
    tasks: Sequence[Any],
    texts: Sequence[str] | None = None,
    *,
    complete: bool = False,
) -> Subset:
    """Add rows to a rolling subset (a new revision) or to a staged upload; ``complete`` ends the latter.

    The subset's id changes when an upload is completed: from then on it is made of its content.
    DomainError ``subset_frozen``, ``duplicate_task_id``, ``too_many_rows``, ``validation_failed``, ``subset_exists``.
    """
    found = own_subset(principal, subset_id)
    uploads.refuse_closed(found, complete)
    if not tasks and not complete:
        raise invalid(["body", "tasks"], "There is nothing to append.")
    read = rows.read(tasks, texts)
    graders.check_rows(found.grader, tasks)
    with transaction.atomic():
        own_benchmark(principal, found.benchmark_id, lock=True)  # the same order of locks as in create_subset
        subset = own_subset(principal, subset_id, lock=True)
        uploads.refuse_closed(subset, complete)
        uploads.add(subset, read, revision=1 if subset.state == "staging" else subset.revision + 1)
        if complete:
            subset = uploads.freeze_upload(subset)
            scorers.register_grader(principal, subset)
    return subset


def update_subset(subset: Subset, changes: Mapping[str, Any]) -> Subset:
    """``subset`` from ``own_subset(…, lock=True)``. ``rolling: false`` freezes, for good."""
    secret_signs.refuse(changes, "body")
    for field in ("name", "description", "answers"):
        if field in changes:
            setattr(subset, field, changes[field])
    if changes.get("rolling") is True and not subset.rolling:
        raise uploads.frozen(subset)
    if changes.get("rolling") is False and subset.rolling:
        uploads.freeze_rolling(subset)
    subset.save()
    return subset


def delete_subset(principal: Principal, subset_id: str) -> None:
    """Hide it. An upload that was never finished is really removed."""
    with transaction.atomic():
        subset = own_subset(principal, subset_id, lock=True)
        if subset.state == "staging":
            uploads.remove(subset)
            return
        subset.deleted_at = now()
        subset.save()
