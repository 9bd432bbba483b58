"""Who sees what of the catalogue: the account's own things, and what is public. None: an anonymous reader."""

from django.db.models import F, Q, QuerySet

from accounts.principal import Principal
from registry.models import Benchmark, ImplRegistration, Subset


def benchmarks(principal: Principal | None) -> QuerySet[Benchmark]:
    return Benchmark.objects.filter(_seen(principal, ""), deleted_at=None).select_related("owner")


def subsets(principal: Principal | None) -> QuerySet[Subset]:
    """Uploads under way are seen by their owner only."""
    whole = ~Q(state="staging")
    if principal is not None:
        whole |= Q(benchmark__owner=principal.account)
    return Subset.objects.filter(
        whole, _seen(principal, "benchmark__"), deleted_at=None, benchmark__deleted_at=None
    ).select_related("benchmark")


def registrations(principal: Principal | None) -> QuerySet[ImplRegistration]:
    """The account's own, and the official ones (the benchmark owner's) of benchmarks that it may see."""
    own_or_official = Q(owner=F("impl__subset__benchmark__owner"))
    if principal is not None:
        own_or_official |= Q(owner=principal.account)
    return ImplRegistration.objects.filter(
        own_or_official,
        _seen(principal, "impl__subset__benchmark__"),
        deleted_at=None,
        impl__subset__deleted_at=None,
        impl__subset__benchmark__deleted_at=None,
    ).select_related("impl__subset__benchmark")


def derive(benchmark_id: str, *, public: bool) -> None:
    """Benchmarks take no visibility of their own: it follows from their runs, and this is the only writer."""
    Benchmark.objects.filter(pk=benchmark_id).update(visibility="public" if public else "private")


def _seen(principal: Principal | None, path: str) -> Q:
    seen = Q(**{f"{path}visibility": "public"})
    return seen if principal is None else seen | Q(**{f"{path}owner": principal.account})
