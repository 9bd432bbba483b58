"""Launch a run: every mode ends in a plan, a row, its first event and a wake-up."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db import transaction

from accounts.principal import Principal
from kernel import jobs
from kernel.errors import DomainError, invalid
from kernel.faults import fault
from registry import queries as registry
from runs import crowding, events, launch_options, limits, pinning, plan, publishing, replays, suts
from runs.forking.reuse import rescores
from runs.models import Phase, Run
from runs.schemas import How, LaunchBody, Sut
from secrets_vault import leases


def launch(principal: Principal, body: LaunchBody) -> Run:
    """Validate, then write Run, Phases and RunQueued in one transaction, and wake a worker.

    Raises DomainError as ``drafted`` does. Nothing is written then.
    """
    run = drafted(principal, body)
    write(run, replays.told(run, body.replay))
    return run


def drafted(principal: Principal, body: LaunchBody) -> Run:
    """What ``launch`` would write, whole and checked, but written nowhere: for whoever looks before launching.

    Raises DomainError: mutually_exclusive, not_available, validation_failed, secret_in_payload, missing_secret,
    not_found, gone, subset_incomplete, run_not_replayable.
    """
    launch_options.refuse_secrets(body, request=body.request)
    mode = _mode(body)
    if mode == "request":
        return _requested(principal, body)
    what = pinning.pinned(principal, body) if mode == "benchmark" else pinning.replayed(principal, body)
    fields = {**what.inherited, **launch_options.fields(body, body.constraints)}
    ceilings = limits.parse(fields.get("limits", {}))
    bound = suts.bind(principal, sut_of(principal, body, what.parent))
    suts.check_priced(bound, ceilings)
    suts.check_judge(principal, what.impl.judge, fields.get("phase_models", {}))
    suts.check_names(principal, fields.get("secrets", []))
    metadata_cap = launch_options.metadata_cap(fields.get("metadata", {}))
    tasks, positions = tasks_of(what.scope, ceilings.run.tasks, metadata_cap)
    trials = fields.get("trials", 1)
    return Run(
        owner=principal.account,
        mode=mode,
        benchmark=what.benchmark,
        subset=what.subset,
        subset_revision=what.scope.revision,
        impl=what.impl,
        parent=what.parent,
        relation="replay" if what.parent else None,
        completes=_completes(what, bound.sut, trials, tasks),
        sut=bound.sut,
        sut_key=bound.key,
        foreign_impl=not registry.is_own_impl(principal.account, what.impl),
        plan=list(plan.phases(mode)),
        task_count=tasks,
        task_positions=positions,
        planned=plan.cells(tasks, trials),
        **fields,
    )


def _requested(principal: Principal, body: LaunchBody) -> Run:
    """A run whose words say what it measures: Find, Analyze and Atomize settle the rest, the denominator too."""
    assert body.request is not None
    for name in ("subset", "impl"):
        if getattr(body, name) is not None:
            raise invalid(["body", name], f"{name} belongs to benchmark; a request says in words what it wants")
    fields = launch_options.fields(body, body.constraints)
    ceilings = limits.parse(fields.get("limits", {}))
    launch_options.metadata_cap(fields.get("metadata", {}))
    asked = _asked(body)
    bound = suts.bind(principal, asked) if asked is not None else suts.BoundSut({}, {})
    if asked is not None:
        suts.check_priced(bound, ceilings)
    suts.check_drivers(principal, fields.get("driver"), fields.get("phase_models", {}))
    suts.check_names(principal, fields.get("secrets", []))
    return Run(
        owner=principal.account,
        mode="request",
        request=body.request,
        sut=bound.sut,
        sut_key=bound.key,
        plan=list(plan.phases("request")),
        **fields,
    )


def _completes(what: pinning.What, sut: Mapping[str, Any], trials: int, tasks: int) -> bool:
    """Whether this run's cells may stand in for its parent's errored ones: the same question, asked the same way."""
    parent = what.parent
    if parent is None or not what.scope.completes:
        return False
    where = ("model", "provider", "params", "connection", "base_url")
    same_model = all((parent.sut.get(name) or None) == (sut.get(name) or None) for name in where)
    whole = tasks == len(what.scope.positions or ())
    return same_model and whole and (parent.trials, parent.subset_revision) == (trials, what.scope.revision)


@transaction.atomic
def write(run: Run, queued: Mapping[str, Any] | None = None) -> None:
    """Write a drafted run with its phases and its first event (``queued`` is its data), and wake a worker.

    Raises too_many_runs.
    """
    crowding.admit(run.owner)
    run.save(force_insert=True)
    if not rescores(run):  # it reaches nobody
        leases.grant(run.owner, str(run.id), own_impl=not run.foreign_impl, names=run.secrets)
    fault("L2")
    Phase.objects.bulk_create(Phase(run=run, name=name, position=at) for at, name in enumerate(run.plan))
    run.last_seq = events.append(run.id, [("RunQueued", dict(queued or {}))])
    if run.visibility == "public":
        Run.objects.filter(id=run.id).update(scan_state=publishing.first_state(run))
        publishing.follow(run)
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
                {"loc": ["body", name], "msg": "send exactly one"}
                for name in given or ("request", "benchmark", "replay")
            ],
        )
    if given[0] == "replay" and (body.subset is not None or body.impl is not None):
        pinned = [name for name in ("subset", "impl") if getattr(body, name) is not None]
        raise DomainError(
            "mutually_exclusive",
            f"A replay keeps its parent's subset and impl; leave {' and '.join(pinned)} out",
            errors=[{"loc": ["body", name], "msg": "not with replay"} for name in pinned],
        )
    return given[0]


def _asked(body: How) -> Sut | None:
    """The model that the launch names, under either name. Raises mutually_exclusive for both."""
    if body.sut is not None and body.model is not None:
        raise DomainError(
            "mutually_exclusive",
            "model is another name of sut; send one of them",
            errors=[{"loc": ["body", name], "msg": "send one of them"} for name in ("sut", "model")],
        )
    return body.sut or body.model


def sut_of(principal: Principal, body: How, parent: Run | None) -> Sut:
    """The model asked for, else the parent's, by the same connection where that is the caller's.

    Raises mutually_exclusive (under both names), validation_failed (none is named).
    """
    asked = _asked(body)
    if asked is not None:
        return asked
    if parent is None or not parent.sut:
        raise invalid(["body", "sut"], 'Name the model under test: sut={"model": …, "provider": …}')
    sut = parent.sut
    own = parent.owner_id == principal.account.pk
    return Sut(
        model=sut["model"],
        provider=sut["provider"],
        params=sut.get("params") or {},
        connection=sut.get("connection") if own else None,
    )


def tasks_of(scope: replays.Scope, *caps: int | None) -> tuple[int, list[int] | None]:
    """How many tasks run, and which (None = the first ones). Raises validation_failed where there are none."""
    if scope.positions is not None:
        positions = plan.sliced(scope.positions, *caps)
        return len(positions), positions
    if scope.available == 0:
        raise invalid(["body", "subset"], "The subset has no tasks yet; append some first")
    return plan.capped(scope.available, *caps), None
