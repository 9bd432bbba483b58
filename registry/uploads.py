"""Rows into subsets, and freezing: where a subset's content becomes its id."""

from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet

from kernel.clock import now
from kernel.errors import DomainError, invalid
from registry import rows
from registry.content_ids import subset_id
from registry.models import Subset, Task
from registry.rows import Row

_MAX_KINDS = 100
ABANDONED_AFTER = timedelta(hours=24)  # without a new piece
_SWEPT = 20  # uploads a round, so that no transaction grows long


def refuse_closed(subset: Subset, complete: bool) -> None:
    """DomainError unless rows may still be added."""
    if subset.state == "staging":
        return
    if not subset.rolling:
        raise frozen(subset)
    if complete:
        raise invalid(
            ["body", "complete"], "Only a staged upload is completed. A rolling subset is frozen by rolling: false."
        )


def frozen(subset: Subset) -> DomainError:
    return DomainError(
        "subset_frozen",
        f"The subset {subset.pk} is frozen: its tasks can't change. Create a new subset, or use a rolling one.",
    )


def add(subset: Subset, new: Sequence[Row], revision: int) -> None:
    """Store rows and count them. The caller holds the subset's lock."""
    if not new:
        return
    rows.refuse_stored(subset.pk, new)
    rows.store(subset.pk, new, start=subset.task_count, revision=revision)
    subset.task_count += len(new)
    subset.revision = revision
    known = {*subset.kinds, *(row.kind for row in new if row.kind)}
    subset.kinds = sorted(known)[:_MAX_KINDS]
    subset.save()


def abandoned() -> QuerySet[Subset]:
    """Staged uploads that got no new piece for ABANDONED_AFTER."""
    return Subset.objects.filter(state="staging", updated_at__lt=now() - ABANDONED_AFTER)


def sweep_abandoned() -> int:
    """Remove abandoned uploads with their rows, so that their slugs are free again. Returns how many went."""
    with transaction.atomic():
        found = list(abandoned().select_for_update(skip_locked=True, of=("self",))[:_SWEPT])
        for subset in found:
            remove(subset)
    return len(found)


def remove(subset: Subset) -> None:
    """Really remove an upload that was never finished: nothing can refer to it. The caller holds its lock."""
    subset.tasks.all().delete()
    subset.delete()


def freeze_upload(subset: Subset) -> Subset:
    """End an upload: the subset moves to the id made of its content. A deleted one of the same content returns."""
    content = _content(subset)
    _refuse_twin(subset, content)
    hidden = Subset.objects.select_for_update().filter(pk=content).first()
    if hidden is not None:
        return _revive(hidden, subset)
    old = subset.pk
    Subset.objects.filter(pk=old).update(id=content, state="ready", content_id=content)
    Task.objects.filter(subset_id=old).update(subset_id=content)
    return Subset.objects.select_related("benchmark").get(pk=content)


def _revive(hidden: Subset, upload: Subset) -> Subset:
    remove(upload)
    for field in ("slug", "name", "description", "answers", "grader"):
        setattr(hidden, field, getattr(upload, field))
    hidden.deleted_at, hidden.state = None, "ready"
    hidden.save()
    return Subset.objects.select_related("benchmark").get(pk=hidden.pk)


def freeze_rolling(subset: Subset) -> None:
    """One way: the id stays, the content gets its own. The caller saves."""
    content = _content(subset)
    _refuse_twin(subset, content)
    subset.rolling, subset.content_id = False, content


def _content(subset: Subset) -> str:
    if not subset.task_count:
        raise invalid(["body", "tasks"], "A frozen subset needs at least one task.")
    digests = Task.objects.filter(subset_id=subset.pk).order_by("position").values_list("digest", flat=True)
    return subset_id(subset.benchmark_id, digests.iterator())


def _refuse_twin(subset: Subset, content: str) -> None:
    twin = (
        Subset.objects.filter(benchmark_id=subset.benchmark_id, content_id=content, deleted_at=None)
        .exclude(pk=subset.pk)
        .first()
    )
    if twin is not None:
        raise DomainError(
            "subset_exists",
            f"The benchmark already has these tasks as the subset {twin.slug} ({twin.pk}). Use that one.",
            subset=twin.pk,
            slug=twin.slug,
        )
