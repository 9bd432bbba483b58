"""Where a run comes from and what was made of it."""

from typing import NamedTuple

from django.db.models import F, QuerySet

from accounts.principal import Principal
from kernel.errors import DomainError
from runs import queries
from runs.models import Run


class Origin(NamedTuple):
    """The scorer that another one was made of, and the fork that did so."""

    impl_id: str
    fork: Run


def parent(run: Run, viewer: Principal | None) -> Run | None:
    """The run that this one was made of, where the viewer may see it."""
    if run.parent_id is None:
        return None
    return queries.visible(viewer).select_related("benchmark").filter(id=run.parent_id).first()


def children(run: Run, viewer: Principal | None) -> QuerySet[Run]:
    """The forks and replays of a run that the viewer may see."""
    return queries.visible(viewer).filter(parent=run)


def origin(impl_id: str, viewer: Principal | None) -> Origin | None:
    """The scorer that this one was first derived from by a fork that the viewer may see; None where it was not."""
    forks = queries.visible(viewer).filter(relation="fork", impl=impl_id).exclude(parent=None)
    first = (
        forks.exclude(parent__impl=None)
        .exclude(parent__impl=F("impl"))
        .select_related("parent")
        .order_by("created_at", "id")
        .first()
    )
    if first is None or first.parent is None or first.parent.impl_id is None:
        return None
    return Origin(first.parent.impl_id, first)


def compared_with(run: Run, viewer: Principal | None) -> Run:
    """The parent, whose cells can be held against this run's. Raises not_comparable."""
    if run.parent_id is None:
        raise DomainError(
            "not_comparable", f"Run {run.id} was made of no other run; only forks and replays have flips."
        )
    found = parent(run, viewer)
    if found is None:
        raise DomainError("not_comparable", f"The run that {run.id} was made of is destroyed, or not yours to see.")
    if run.subset_id is None or run.subset_id != found.subset_id:
        raise DomainError("not_comparable", f"Run {run.id} has other tasks than {found.id}, the run it was made of.")
    return found
