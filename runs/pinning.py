"""What runs: the catalogue rows that a launch pins, or those that its parent pinned."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from accounts.principal import Principal
from kernel.errors import DomainError, invalid
from registry import queries as registry
from registry.models import Benchmark, Impl, Subset
from runs import replays
from runs.models import Run
from runs.schemas import LaunchBody


@dataclass(frozen=True)
class What:
    """What runs: the pinned rows, which of their tasks, and what is inherited."""

    mode: str
    benchmark: Benchmark
    subset: Subset
    impl: Impl
    scope: replays.Scope
    parent: Run | None = None
    inherited: Mapping[str, Any] = field(default_factory=dict)


def pinned(principal: Principal, body: LaunchBody) -> What:
    assert body.benchmark is not None
    benchmark = registry.benchmark(principal, body.benchmark)
    subset = _subset(principal, benchmark, body.subset)
    if subset.state == "staging":
        raise DomainError("subset_incomplete", f"The upload of {subset.id} is not finished. Send its last piece first.")
    if subset.state == "retired":
        raise invalid(["body", "subset"], f"{subset.id} was retired; {_choices(benchmark)}")
    impl = registry.impl(principal, body.impl, subset)
    scope = replays.Scope(subset.revision, registry.task_count(subset.id, subset.revision))
    return What("benchmark", benchmark, subset, impl, scope)


def _subset(principal: Principal, benchmark: Benchmark, ref: str | None) -> Subset:
    """By id, by slug within the benchmark, or the only ready one."""
    ready = _ready(benchmark)
    if ref is None:
        if len(ready) == 1:
            return ready[0]
        raise invalid(["body", "subset"], f"Name a subset: {_choices(benchmark)}")
    by_slug = [subset for subset in ready if subset.slug == ref]
    subset = by_slug[0] if by_slug else registry.subset(principal, ref)
    if subset.benchmark_id != benchmark.id:
        raise invalid(["body", "subset"], f"{ref} is not a subset of {benchmark.id}; {_choices(benchmark)}")
    return subset


def _ready(benchmark: Benchmark) -> list[Subset]:
    return list(benchmark.subsets.filter(state="ready", deleted_at=None).order_by("created_at")[:50])


def _choices(benchmark: Benchmark) -> str:
    ready = _ready(benchmark)
    if not ready:
        return f"{benchmark.name} has no subset that is ready"
    return f"{benchmark.name} has " + ", ".join(f"{subset.slug} ({subset.id})" for subset in ready)


def replayed(principal: Principal, body: LaunchBody) -> What:
    assert body.replay is not None
    parent = replays.parent(principal, body.replay)
    scope = replays.scope(parent, body.replay)
    assert parent.benchmark is not None
    assert parent.subset is not None
    assert parent.impl is not None
    own = parent.owner_id == principal.account.pk
    if not own:  # nor is somebody else's run ours to complete
        scope = replace(scope, completes=False)
    return What("replay", parent.benchmark, parent.subset, parent.impl, scope, parent, inherited(parent, own=own))


def inherited(parent: Run, *, own: bool) -> dict[str, Any]:
    """The settings that a run takes over from the run it is made of; a stranger's are not ours to take over."""
    found: dict[str, Any] = {"harness": parent.harness, "trials": parent.trials, "concurrency": parent.concurrency}
    if own:
        names = ("limits", "metadata", "hints", "phase_models", "secrets", "driver")
        found |= {name: getattr(parent, name) for name in names}
    return found
