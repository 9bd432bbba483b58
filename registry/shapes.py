"""What the API answers about the catalogue, as plain JSON values."""

from collections.abc import Iterable, Mapping
from typing import Any

from accounts.principal import Principal
from kernel.clock import stamp
from registry import verdicts
from registry.models import Benchmark, ImplRegistration, Subset


def benchmark_object(benchmark: Benchmark, subsets: Iterable[Any]) -> dict[str, Any]:
    """``subsets``: their ids, or their objects."""
    return {
        "object": "benchmark",
        "id": benchmark.pk,
        "name": benchmark.name,
        "description": benchmark.description,
        "category": benchmark.category,
        "tags": benchmark.tags,
        "visibility": benchmark.visibility,
        "owner": {"object": "account", "id": str(benchmark.owner_id), "name": benchmark.owner.name},
        "created_at": stamp(benchmark.created_at),
        "updated_at": stamp(benchmark.updated_at),
        "subsets": list(subsets),
    }


def subset_object(subset: Subset, benchmark: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """``benchmark``: its object where it was expanded. ``state``: staging while an upload is under way, else ready."""
    return {
        "object": "subset",
        "id": subset.pk,
        "slug": subset.slug,
        "name": subset.name,
        "description": subset.description,
        "rolling": subset.rolling,
        "state": subset.state,
        "revision": subset.revision,
        "task_count": subset.task_count,
        "kinds": subset.kinds,
        "answers": subset.answers,
        "grader": subset.grader,
        "retired": subset.state == "retired",
        "visibility": subset.visibility,
        "benchmark": subset.benchmark_id if benchmark is None else benchmark,
        "content_id": subset.content_id,
        "created_at": stamp(subset.created_at),
        "updated_at": stamp(subset.updated_at),
    }


def impl_object(
    registration: ImplRegistration,
    viewer: Principal | None,
    *,
    official: bool,
    subset: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """``official``: the benchmark's owner has registered it. ``subset``: its object where it was expanded."""
    impl = registration.impl
    return {
        "object": "impl",
        "id": impl.pk,
        "label": registration.label,
        "language": impl.language,
        "description": registration.description,
        "subset": impl.subset_id if subset is None else subset,
        "benchmark": impl.subset.benchmark_id,
        "code_sha256": impl.code_sha256,
        "pass_threshold": impl.pass_threshold,
        "network": impl.network,
        "judge": impl.judge,
        "isolation": impl.isolation,
        "grader": impl.grader,
        "badge": None if impl.verdict is None else impl.verdict["badge"],
        "verdict": verdicts.of_impl(impl, viewer),
        "visibility": impl.visibility,
        "official": official,
        "mine": viewer is not None and registration.owner_id == viewer.account.pk,
        "created_at": stamp(registration.created_at),
        "updated_at": stamp(registration.updated_at),
    }
