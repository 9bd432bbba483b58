"""Reads of the catalogue. Each starts from what the principal may see; what it may not see doesn't exist for it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from accounts.models import User
from accounts.principal import Principal
from kernel.errors import DomainError
from registry import visibility
from registry.models import Benchmark, Impl, ImplRegistration, Subset, Task

KIND_LIMIT = 80
# Labels of scorers that runs made: by the plan's own rule, by a plan that was edited, by a fork's description.
BY_RULE, BY_EDIT, BY_FORK = "builtin: ", "edited: ", "fork: "
_EXPERIMENT = Q(label__startswith=BY_EDIT) | Q(label__startswith=BY_FORK)


class TaskRow(NamedTuple):
    """One sample: its place in the subset, its id, and its JSON text on one line, as uploaded."""

    position: int
    task_id: str
    row_text: str


def benchmark(principal: Principal | None, benchmark_id: str) -> Benchmark:
    """DomainError ``not_found`` unless it is the principal's or public."""
    found = visibility.benchmarks(principal).filter(pk=benchmark_id).first()
    if found is None:
        raise DomainError("not_found", "There is no such benchmark.")
    return found


def subset(principal: Principal | None, subset_id: str) -> Subset:
    """DomainError ``not_found`` unless it is the principal's or public."""
    found = visibility.subsets(principal).filter(pk=subset_id).first()
    if found is None:
        raise DomainError("not_found", "There is no such subset.")
    return found


def subset_named(principal: Principal | None, benchmark_id: str, slug: str) -> Subset:
    """By its benchmark and slug. DomainError ``not_found`` as for ``subset``."""
    found = visibility.subsets(principal).filter(benchmark_id=benchmark_id, slug=slug).order_by("-created_at").first()
    if found is None:
        raise DomainError("not_found", "There is no such subset.")
    return found


def runnable_subset(principal: Principal | None, subset_id: str) -> Subset:
    """As ``subset``; DomainError ``subset_incomplete`` while its upload is under way."""
    found = subset(principal, subset_id)
    if found.state == "staging":
        raise DomainError(
            "subset_incomplete",
            'The upload of this subset is not finished. Send its last rows with "complete": true; it then gets '
            "its final id.",
        )
    return found


def subsets_of(principal: Principal | None, benchmark: Benchmark) -> QuerySet[Subset]:
    return visibility.subsets(principal).filter(benchmark=benchmark).order_by("created_at", "pk")


def registration(principal: Principal | None, impl_id: str) -> ImplRegistration:
    """The account's own registration of an impl, else the official one; DomainError ``not_found`` otherwise."""
    found = list(visibility.registrations(principal).filter(impl_id=impl_id))
    if not found:
        raise DomainError("not_found", "There is no such impl.")
    return next((one for one in found if principal is not None and one.owner_id == principal.account.pk), found[0])


def registrations(principal: Principal, subset_id: str | None) -> QuerySet[ImplRegistration]:
    """The account's own; with a subset: also the official ones of it that the account has not registered itself."""
    own = ImplRegistration.objects.filter(owner=principal.account, deleted_at=None, impl_id=OuterRef("impl_id"))
    rows = visibility.registrations(principal)
    if subset_id is None:
        return rows.filter(owner=principal.account)
    subset(principal, subset_id)
    return rows.filter(impl__subset_id=subset_id).filter(Q(owner=principal.account) | ~Exists(own))


def official_among(impls: Iterable[str]) -> set[str]:
    """Those impls that the owner of their benchmark has registered."""
    official = ImplRegistration.objects.filter(
        impl__in=set(impls), deleted_at=None, owner=F("impl__subset__benchmark__owner")
    )
    return set(official.values_list("impl_id", flat=True))


def is_own_impl(account: User, impl: Impl) -> bool:
    """True where the account itself sent this code (or the grader that it was compiled from), now or once.

    A scorer that was copied from a run of somebody else's code is not the account's own, whatever its label.
    """
    return ImplRegistration.objects.filter(impl=impl, owner=account, copied=False).exists()


def impl(principal: Principal | None, ref: str | None, subset: Subset) -> Impl:
    """The scorer that ``ref`` means on this subset.

    ``ref``: an id, ``latest``, ``latest:<label>`` (``latest:official``: only the benchmark owner's), or None: the
    subset's own grader, else the newest of the benchmark's owner, else the account's newest: none that a fork or an
    edited plan made, and one that failed its self-test only where there is no other.

    DomainError ``not_found``, or ``validation_failed`` where the impl belongs to another subset.
    """
    if ref is not None and ref != "latest" and not ref.startswith("latest:"):
        found = registration(principal, ref).impl
        if found.subset_id != subset.pk:
            raise DomainError(
                "validation_failed",
                f"The impl {ref} scores the subset {found.subset_id}, not {subset.pk}.",
                errors=[{"loc": ["body", "impl"], "msg": "It belongs to another subset."}],
            )
        return found
    newest = _newest(principal, ref, subset)
    if newest is None:
        raise DomainError(
            "not_found",
            f"The subset {subset.pk} has no scorer{f' for {ref!r}' if ref else ''} that you can use. Register one with "
            "POST /v1/impls, or create the subset with a grader.",
        )
    return newest.impl


def own_scorer(principal: Principal, subset: Subset) -> ImplRegistration | None:
    """The scorer that somebody registered for this subset: its own grader, else the newest of the benchmark's owner,
    else the account's.

    None that a run made of a plan or for a fork, and none that failed its self-test.
    """
    rows = visibility.registrations(principal).filter(impl__subset=subset).select_related("impl")
    rows = rows.exclude(_EXPERIMENT).exclude(label__startswith=BY_RULE).exclude(impl__verdict__ok=False)
    return _default(rows.order_by("-created_at", "-pk"), subset)


def _default(rows: QuerySet[ImplRegistration], subset: Subset) -> ImplRegistration | None:
    official = rows.filter(owner=subset.benchmark.owner_id)
    own = official.filter(impl__grader=subset.grader).first() if subset.grader is not None else None
    return own or official.first() or rows.first()


def _newest(principal: Principal | None, ref: str | None, subset: Subset) -> ImplRegistration | None:
    rows = visibility.registrations(principal).filter(impl__subset=subset).order_by("-created_at", "-pk")
    official = rows.filter(owner=subset.benchmark.owner_id)
    if ref is None:
        tried = rows.exclude(_EXPERIMENT)
        return _default(tried.exclude(impl__verdict__ok=False), subset) or _default(tried, subset)
    label = ref.partition(":")[2]
    if label == "official":
        return official.first()
    return rows.filter(label=label).first() if label else rows.first()


def task_rows(
    subset_id: str,
    revision: int,
    positions: Sequence[int] | None = None,
    start: int = 0,
    stop: int | None = None,
) -> list[TaskRow]:
    """Samples of a revision in order: those at ``positions``, or of the range [start, stop) of positions."""
    rows = Task.objects.filter(subset_id=subset_id, revision__lte=revision)
    if positions is not None:
        rows = rows.filter(position__in=positions)
    else:
        rows = rows.filter(position__gte=start)
        if stop is not None:
            rows = rows.filter(position__lt=stop)
    return [TaskRow(*row) for row in rows.order_by("position").values_list("position", "task_id", "row")]


def task_count(subset_id: str, revision: int) -> int:
    return Task.objects.filter(subset_id=subset_id, revision__lte=revision).count()


def kind_of(row: Mapping[str, Any]) -> str:
    """What sort of task a row is: ``input.kind``, else ``kind``; "" where it doesn't say."""
    given = row.get("input")
    inner = given.get("kind") if isinstance(given, dict) else None
    kind = inner if isinstance(inner, str) and inner else row.get("kind")
    return kind[:KIND_LIMIT] if isinstance(kind, str) else ""


def positions_of(subset_id: str, revision: int, task_ids: Sequence[str]) -> dict[str, int]:
    """task_id -> position, of those among ``task_ids`` that the revision has."""
    rows = Task.objects.filter(subset_id=subset_id, revision__lte=revision, task_id__in=list(task_ids))
    return dict(rows.values_list("task_id", "position"))
