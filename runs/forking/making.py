"""Fork a run: what is taken over from the parent, from which phase on it goes, and every refusal."""

from dataclasses import dataclass
from typing import Any

from accounts.principal import Principal
from kernel.errors import DomainError, invalid
from registry import queries as registry
from registry.models import Impl
from runs import launch_options, launching, limits, pinning, plan, queries, replays, suts
from runs.forking import reuse
from runs.models import Run
from runs.schemas import ForkBody

# What the phases before each one found, which the fork takes over.
_FOUND_BEFORE = {"find": (), "analyze": ("find",), "atomize": ("find", "analyze"), "materialize": ("find", "analyze")}


@dataclass(frozen=True)
class _Wish:
    """What is asked of whom: the parent, the phase where the fork sets in, a scorer that is given."""

    parent: Run
    own: bool  # the parent is the caller's
    phase: str
    impl: Impl | None
    rescore: bool


def fork(principal: Principal, run_id: str, body: ForkBody) -> Run:
    """Write the fork with its plan and its first event, and wake a worker.

    Raises DomainError as ``drafted`` does, and too_many_runs. Nothing is written then.
    """
    made = drafted(principal, run_id, body)
    launching.write(made)
    return made


def drafted(principal: Principal, run_id: str, body: ForkBody) -> Run:
    """What ``fork`` would write, whole and checked, but written nowhere.

    Raises DomainError: not_found, gone, run_not_replayable, mutually_exclusive, not_available, validation_failed,
    secret_in_payload, missing_secret.
    """
    launch_options.refuse_secrets(body, description=body.description)
    wish = _wish(principal, run_id, body)
    fields = {**pinning.inherited(wish.parent, own=wish.own), **launch_options.fields(body)}
    if wish.rescore:
        _check_rescore(wish, body)
        fields["secrets"] = []  # it reaches nobody
    bound = _bound(principal, body, wish, limits.parse(fields.get("limits", {})))
    suts.check_names(principal, fields.get("secrets", []))
    impl = wish.impl
    suts.check_judge(principal, impl.judge if impl else None, fields.get("phase_models", {}))
    return Run(
        owner=principal.account,
        mode="fork",
        relation="fork",
        parent=wish.parent,
        request=wish.parent.request if wish.own else "",
        description=body.description or "",
        from_phase=wish.phase,
        fork_mode=body.mode,
        impl=impl,
        foreign_impl=impl is not None and not registry.is_own_impl(principal.account, impl),
        sut=bound.sut,
        sut_key=bound.key,
        plan=list(plan.forked(wish.phase)),
        findings=_findings(wish),
        **_tasks(wish, fields),
        **fields,
    )


def _wish(principal: Principal, run_id: str, body: ForkBody) -> _Wish:
    parent = queries.run(principal, run_id)
    if parent.status not in queries.TERMINAL:
        raise DomainError("run_not_replayable", refusal(parent))
    own = parent.owner_id == principal.account.pk
    phase, rescore = body.from_phase or "atomize", body.mode == "rescore"
    if body.impl is not None and phase in ("find", "analyze"):
        raise DomainError(
            "mutually_exclusive",
            f"A scorer belongs to the tasks that it scores, and {phase} looks for tasks anew: leave impl out, or fork "
            "from atomize.",
            errors=[{"loc": ["body", name], "msg": "send one of them"} for name in ("impl", "from_phase")],
        )
    if body.impl is not None:
        phase = "materialize"  # nothing is left to author
    _check_phase(parent, phase, own=own, rescore=rescore, description=body.description)
    impl = _impl(principal, parent, body.impl) if phase == "materialize" else None
    return _Wish(parent, own, phase, impl, rescore)


def refusal(run: Run, phase: str = "atomize") -> str:
    """Why nobody can fork the run from that phase (atomize or a later one) on; "" where somebody who sees it can."""
    if run.status not in queries.TERMINAL:
        return f"Run {run.id} is {run.status}. Wait for its end, or halt it."
    if run.subset_id is None:
        return f"Run {run.id} ended before it had a task list, so there is nothing to {phase}; fork it from find."
    return ""


def _check_phase(parent: Run, phase: str, *, own: bool, rescore: bool, description: str | None) -> None:
    """Whether the parent has what the phase begins with. Raises validation_failed, run_not_replayable."""
    loc = ["body", "from_phase"]
    if phase in ("find", "analyze"):
        if rescore:
            raise invalid(loc, "A rescore grades the parent's own tasks: fork from atomize or materialize")
        if not own:
            raise invalid(
                loc, f"The words of a run are its owner's, so nobody else can {phase} anew: fork from atomize"
            )
        if not parent.request:
            raise invalid(loc, f"Run {parent.id} was not launched in words, so there is nothing to {phase} anew")
        if phase == "analyze" and "find" not in parent.findings:
            raise invalid(loc, "What Find found is not there to go on with: fork from find")
        return
    if why := refusal(parent, phase):
        raise DomainError("run_not_replayable", why)
    if phase == "atomize" and not description:
        raise invalid(
            ["body", "description"], "Say what to change in the scorer (description), or name another one (impl)"
        )


def _impl(principal: Principal, parent: Run, ref: str | None) -> Impl:
    """The scorer that is named, else the parent's own. Raises not_found, validation_failed, run_not_replayable."""
    assert parent.subset is not None
    if ref is not None:
        return registry.impl(principal, ref, parent.subset)
    if parent.impl is None:
        raise DomainError("run_not_replayable", f"Run {parent.id} ended before it had a scorer; fork it from atomize.")
    return parent.impl


def _bound(principal: Principal, body: ForkBody, wish: _Wish, ceilings: limits.Ceilings) -> suts.BoundSut:
    """The model under test and its key. A rescore asks no model: it only says whose answers it grades."""
    if wish.rescore:
        shown = ("model", "provider", "params")  # how a stranger reached it is theirs
        return suts.BoundSut({name: value for name, value in wish.parent.sut.items() if wish.own or name in shown}, {})
    if wish.phase == "find" and not (body.sut or body.model or wish.parent.sut):
        return suts.BoundSut({}, {})  # Find is to say which
    bound = suts.bind(principal, launching.sut_of(principal, body, wish.parent))
    suts.check_priced(bound, ceilings)
    return bound


def _tasks(wish: _Wish, fields: dict[str, Any]) -> dict[str, Any]:
    """The parent's own task list, cut by what caps the fork; nothing yet where Analyze is to settle it."""
    cap = launch_options.metadata_cap(fields.get("metadata", {}))
    if wish.phase in ("find", "analyze"):
        return {}
    parent = wish.parent
    assert parent.subset_revision is not None
    scope = replays.Scope(parent.subset_revision, parent.task_count, parent.task_positions)
    tasks, positions = launching.tasks_of(scope, limits.parse(fields.get("limits", {})).run.tasks, cap)
    if wish.rescore and tasks != parent.task_count:
        raise invalid(["body", "limits"], "A rescore keeps its parent's denominator: leave the cap on tasks out")
    return {
        "benchmark": parent.benchmark,
        "subset": parent.subset,
        "subset_revision": parent.subset_revision,
        "task_count": tasks,
        "task_positions": positions,
        "planned": plan.cells(tasks, fields["trials"]),
    }


def _findings(wish: _Wish) -> dict[str, Any]:
    """What the phases before found. A stranger's findings are not shown to others, so they are not taken over."""
    found = wish.parent.findings if wish.own else {}
    kept = {name: found[name] for name in _FOUND_BEFORE[wish.phase] if name in found}
    if wish.rescore and "analyze" in kept:
        kept["analyze"] = {**kept["analyze"], "estimate": _of_rescore(wish.impl)}
    return kept


def _of_rescore(impl: Impl | None) -> dict[str, Any]:
    """What a rescore will cost, as a plan tells it. ``impl``: None where it is still to be authored."""
    judged = impl is not None and bool(impl.judge)
    basis = "No call of the model: the parent's stored outputs are graded anew"
    if judged:
        basis += ". The scorer's judge is asked about each, and costs what it costs."
    else:
        basis += ", which costs nothing." if impl is not None else ". Only a judge costs, where the new scorer has one."
    free = 0 if impl is not None and not judged else None
    return {"cost_micro_cents": free, "seconds": None, "tokens": free, "basis": basis}


def _check_rescore(wish: _Wish, body: ForkBody) -> None:
    """Raises validation_failed for what would ask the model, run_not_replayable where there is no output."""
    for name in ("sut", "model", "trials", "compute", "secrets"):
        if getattr(body, name) is not None:
            raise invalid(
                ["body", name], f"A rescore grades stored outputs and asks no model: leave {name} out, or mode=rerun"
            )
    if not reuse.any_output(wish.parent.id):
        raise DomainError("run_not_replayable", f"Run {wish.parent.id} stored no output that could be graded anew.")
