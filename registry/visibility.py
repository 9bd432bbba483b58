"""Who sees what of the catalogue: the account's own things, and what is public. None: an anonymous reader.

Nothing here is made public by itself: a benchmark, each of its subsets and each scorer follow from the public runs
that used them. What no public run used stays with its owner, also where its benchmark is public.
"""

from collections.abc import Collection
from typing import Any

from django.db.models import F, Q, QuerySet

from accounts.principal import Principal
from registry.models import Benchmark, Impl, ImplRegistration, Subset


def benchmarks(principal: Principal | None) -> QuerySet[Benchmark]:
    seen = Q(visibility="public")
    if principal is not None:
        seen |= Q(owner=principal.account)
    return Benchmark.objects.filter(seen, deleted_at=None).select_related("owner")


def subsets(principal: Principal | None) -> QuerySet[Subset]:
    """Uploads under way are seen by their owner only."""
    seen = ~Q(state="staging") & Q(visibility="public", benchmark__visibility="public")
    if principal is not None:
        seen |= Q(benchmark__owner=principal.account)
    return Subset.objects.filter(seen, deleted_at=None, benchmark__deleted_at=None).select_related("benchmark")


def registrations(principal: Principal | None) -> QuerySet[ImplRegistration]:
    """The account's own, and the official ones (the benchmark owner's) that are public, of subsets that it may see."""
    seen = Q(owner=F("impl__subset__benchmark__owner"), impl__visibility="public") & _subset_seen(None)
    if principal is not None:
        seen |= Q(owner=principal.account) & _subset_seen(principal)
    return ImplRegistration.objects.filter(
        seen, deleted_at=None, impl__subset__deleted_at=None, impl__subset__benchmark__deleted_at=None
    ).select_related("impl__subset__benchmark")


def hold(benchmark_id: str) -> None:
    """Lock the benchmark until the transaction ends: what is derived beside it waits, and then sees what it wrote."""
    Benchmark.objects.select_for_update(no_key=True).filter(pk=benchmark_id).values_list("pk").first()


def derive(benchmark_id: str, *, public: bool, subsets: Collection[str], impls: Collection[str]) -> None:
    """Write what follows from a benchmark's public runs, read under ``hold``. This is the only writer.

    ``public``: there is such a run. ``subsets``, ``impls``: the ids of those that such runs used; all others of the
    benchmark are private.
    """
    Benchmark.objects.filter(pk=benchmark_id).update(visibility="public" if public else "private")
    _show(Subset.objects.filter(benchmark=benchmark_id), subsets)
    _show(Impl.objects.filter(subset__benchmark=benchmark_id), impls)


def _show(rows: QuerySet[Any], shown: Collection[str]) -> None:
    rows.filter(pk__in=shown, visibility="private").update(visibility="public")
    rows.filter(visibility="public").exclude(pk__in=shown).update(visibility="private")


def _subset_seen(principal: Principal | None) -> Q:
    public = Q(impl__subset__visibility="public", impl__subset__benchmark__visibility="public")
    return public if principal is None else public | Q(impl__subset__benchmark__owner=principal.account)
