"""Launch a run: every mode ends in a plan, a row, its first event and a wake-up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import transaction

from accounts.principal import Principal
from kernel import jobs, strict_json
from kernel.errors import DomainError, invalid
from kernel.faults import fault
from registry import queries as registry
from registry.models import Benchmark, Impl, Subset
from runs import events, limits, plan, replays, suts
from runs.models import Phase, Run
from runs.schemas import LaunchBody, ModelChoice, Sut

HARNESSES = ("benchwright", "inspect", "lmeval", "lighteval", "harbor")
BACKENDS = ("local", "e2b", "sandbox0")
MODEL_ROLES = (*limits.PHASES, "judge")
METADATA_BYTES = 64 << 10
METADATA_KEYS = 500
DEFAULT_CONCURRENCY = 16


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


def launch(principal: Principal, body: LaunchBody) -> Run:
    """Validate, then write Run, Phases and RunQueued in one transaction, and wake a worker.

    Raises DomainError: mutually_exclusive, not_available, validation_failed, missing_secret, not_found, gone,
    subset_incomplete, run_not_replayable. Nothing is written then.
    """
    mode = _mode(body)
    what = _pinned(principal, body) if mode == "benchmark" else _replayed(principal, body)
    fields = {**what.inherited, **_options(body)}
    ceilings = limits.parse(fields.get("limits", {}))
    bound = suts.bind(principal, _sut(body, what))
    metadata_cap = _metadata_cap(fields.get("metadata", {}))
    tasks, positions = _tasks(what.scope, ceilings.run.tasks, metadata_cap)
    trials = fields.get("trials", 1)
    run = Run(
        owner=principal.account,
        mode=mode,
        benchmark=what.benchmark,
        subset=what.subset,
        subset_revision=what.scope.revision,
        impl=what.impl,
        parent=what.parent,
        relation="replay" if what.parent else None,
        completes=what.scope.completes,
        sut=bound.sut,
        sut_key=bound.key,
        plan=list(plan.phases(mode)),
        task_count=tasks,
        task_positions=positions,
        planned=plan.cells(tasks, trials),
        **fields,
    )
    _write(run)
    return run


@transaction.atomic
def _write(run: Run) -> None:
    run.save(force_insert=True)
    fault("L2")
    Phase.objects.bulk_create(Phase(run=run, name=name, position=at) for at, name in enumerate(run.plan))
    run.last_seq = events.append(run.id, [("RunQueued", {})])
    transaction.on_commit(partial(fault, "L4"))
    jobs.enqueue("runs.advance", str(run.id))
    transaction.on_commit(partial(fault, "L5"))


def _mode(body: LaunchBody) -> str:
    """Which of the three ways was asked for."""
    given = [name for name in ("request", "benchmark", "replay") if getattr(body, name) is not None]
    if len(given) != 1:
        said = f"{' and '.join(given)} exclude each other" if given else "request, benchmark or replay is missing"
        raise DomainError(
            "mutually_exclusive",
            f"{said}: send exactly one of request, benchmark, replay",
            errors=[
                {"loc": ["body", name], "msg": "send exactly one"} for name in given or ("request", "benchmark", "replay")
            ],
        )
    if given[0] == "request":
        raise DomainError(
            "not_available",
            "Natural-language launches are not available yet. Name a benchmark (benchmark=, with subset= and impl= "
            "where there are several) or replay an earlier run (replay={'from_run': …}).",
            errors=[{"loc": ["body", "request"], "msg": "not available; use benchmark or replay"}],
        )
    if given[0] == "replay" and (body.subset is not None or body.impl is not None):
        pinned = [name for name in ("subset", "impl") if getattr(body, name) is not None]
        raise DomainError(
            "mutually_exclusive",
            f"A replay keeps its parent's subset and impl; leave {' and '.join(pinned)} out",
            errors=[{"loc": ["body", name], "msg": "not with replay"} for name in pinned],
        )
    return given[0]


def _pinned(principal: Principal, body: LaunchBody) -> What:
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


def _replayed(principal: Principal, body: LaunchBody) -> What:
    assert body.replay is not None
    parent = replays.parent(principal, body.replay)
    scope = replays.scope(parent, body.replay)
    assert parent.benchmark is not None
    assert parent.subset is not None
    assert parent.impl is not None
    inherited: dict[str, Any] = {"harness": parent.harness, "trials": parent.trials, "concurrency": parent.concurrency}
    if parent.owner_id == principal.account.pk:  # somebody else's settings are not ours to take over
        own = ("limits", "metadata", "hints", "phase_models", "secrets", "driver")
        inherited |= {name: getattr(parent, name) for name in own}
    return What("replay", parent.benchmark, parent.subset, parent.impl, scope, parent, inherited)


def _sut(body: LaunchBody, what: What) -> Sut:
    """The model asked for; a replay's default is its parent's."""
    if body.sut is not None and body.model is not None:
        raise DomainError(
            "mutually_exclusive",
            "model is another name of sut; send one of them",
            errors=[{"loc": ["body", name], "msg": "send one of them"} for name in ("sut", "model")],
        )
    asked = body.sut or body.model
    if asked is not None:
        return asked
    if what.parent is None:
        raise invalid(["body", "sut"], 'Name the model under test: sut={"model": …, "provider": …}')
    sut = what.parent.sut
    return Sut(model=sut["model"], provider=sut["provider"], params=sut.get("params") or {})


def _options(body: LaunchBody) -> dict[str, Any]:
    """The run fields that the body sets; absent ones keep their default or the parent's."""
    _supported("harness", body.harness, HARNESSES)
    _supported("compute", body.compute, BACKENDS)
    fields: dict[str, Any] = {"backend": body.compute or "local", "visibility": body.visibility or "private"}
    for name in ("harness", "trials", "concurrency", "hints", "secrets"):
        if getattr(body, name) is not None:
            fields[name] = getattr(body, name)
    if body.limits is not None or body.constraints is not None:
        fields["limits"] = limits.from_constraints(body.constraints or {}, body.limits or {})
    if body.metadata is not None:
        fields["metadata"] = checked_metadata(body.metadata)
    if body.phase_models is not None:
        fields["phase_models"] = _phase_models(body.phase_models)
    if isinstance(body.driver, ModelChoice):
        fields["driver"] = body.driver.model_dump()
    return fields


def _supported(field_name: str, value: str | None, known: tuple[str, ...]) -> None:
    """The first of ``known`` is here; the others are named but not installed."""
    if value is None or value == known[0]:
        return
    loc = ["body", field_name]
    if value not in known:
        raise invalid(loc, f"Unknown {field_name} {value!r}: {limits.nearest(value, known)}")
    raise DomainError(
        "not_available",
        f"{field_name} {value!r} is not available on this installation; leave it out to use {known[0]!r}",
        errors=[{"loc": loc, "msg": f"use {known[0]!r}"}],
    )


def _phase_models(asked: Mapping[str, ModelChoice]) -> dict[str, Any]:
    for name in asked:
        if name not in MODEL_ROLES:
            raise invalid(["body", "phase_models", name], f"{name!r} is not a phase: {limits.nearest(name, MODEL_ROLES)}")
    return {name: choice.model_dump() for name, choice in asked.items()}


def checked_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """The caller's metadata, within its size. Raises validation_failed."""
    if len(metadata) > METADATA_KEYS:
        raise invalid(["body", "metadata"], f"metadata may hold {METADATA_KEYS} keys, not {len(metadata)}")
    size = len(strict_json.dumps(metadata))
    if size > METADATA_BYTES:
        raise invalid(["body", "metadata"], f"metadata may hold {METADATA_BYTES} bytes, not {size}")
    return metadata


def _metadata_cap(metadata: Mapping[str, Any]) -> int | None:
    """``metadata.limit``: how many samples run."""
    asked = metadata.get("limit")
    return None if asked is None else limits.count(asked, ["metadata", "limit"])


def _tasks(scope: replays.Scope, *caps: int | None) -> tuple[int, list[int] | None]:
    """How many tasks run, and which (None = the first ones). Raises validation_failed where there are none."""
    if scope.positions is not None:
        positions = plan.sliced(scope.positions, *caps)
        return len(positions), positions
    if scope.available == 0:
        raise invalid(["body", "subset"], "The subset has no tasks yet; append some first")
    return plan.capped(scope.available, *caps), None
