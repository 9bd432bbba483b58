"""What a replay runs: the parent's whole scope, or a slice of it. One place decides which tasks."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from accounts.principal import Principal
from kernel.errors import DomainError, invalid
from registry import queries as registry
from registry.models import Task
from runs import queries
from runs.models import Run, RunEvent, TaskResult
from runs.schemas import Replay

ONLY = {"only_failed": ("failed", "unscored"), "only_errored": ("errored", "skipped")}
SLICES = (*ONLY, "task_ids")


@dataclass(frozen=True)
class Scope:
    """Which tasks of the subset run. ``positions`` None = the first ``available`` of the revision."""

    revision: int
    available: int
    positions: list[int] | None = None
    completes: bool = False


def parent(principal: Principal, asked: Replay) -> Run:
    """The run to replay. Raises not_found (foreign private), gone, run_not_replayable."""
    run = queries.run(principal, asked.from_run)
    if why := refusal(run):
        raise DomainError("run_not_replayable", why)
    return run


def refusal(run: Run) -> str:
    """Why the run can't be replayed: it goes on, or has no scorer or no tasks; "" where it can be."""
    if run.status not in queries.TERMINAL:
        return f"Run {run.id} is {run.status}. Wait for its end, or halt it first."
    if run.impl_id is None or run.subset_id is None:
        return f"Run {run.id} ended before it had a scorer and a task list, so there is nothing to run again."
    return ""


def told(run: Run, asked: Replay | None) -> dict[str, str | int]:
    """What a run's first event says of the slice that it runs: by what its tasks were chosen. {} for no slice.

    ``repeated``: how many of the task ids named a task again; it runs once for each trial all the same.
    """
    if asked is None or run.task_positions is None:
        return {}
    named = asked.task_ids or []
    repeated = {"repeated": len(named) - len(set(named))} if len(set(named)) < len(named) else {}
    name = next((name for name in SLICES if getattr(asked, name)), None)
    if name is None and run.parent is not None:  # all that a slice ran
        name = chosen_by([run.parent.id]).get(run.parent.id)
    return {"slice": name, **repeated} if name else {}


def chosen_by(runs: Sequence[UUID]) -> dict[UUID, str]:
    """By what the tasks of slices were chosen, one of SLICES; nothing of other runs, and where nobody wrote it down."""
    first = RunEvent.objects.filter(run__in=runs, seq=1).values_list("run_id", "data") if runs else ()
    return {run: data["slice"] for run, data in first if data.get("slice") in SLICES}


def scope(run: Run, asked: Replay) -> Scope:
    """The slice that was asked for, else what the parent ran.

    Raises validation_failed: several slices at once, unknown task ids (named), a revision that does not exist,
    nothing to run.
    """
    assert run.subset_id is not None
    assert run.subset_revision is not None
    revision = _revision(run, asked)
    chosen = [name for name in SLICES if getattr(asked, name)]
    if len(chosen) > 1:
        raise DomainError(
            "mutually_exclusive",
            f"{' and '.join('replay.' + name for name in chosen)} exclude each other; send one",
            errors=[{"loc": ["body", "replay", name], "msg": "send one of them"} for name in chosen],
        )
    available = registry.task_count(run.subset_id, revision)
    if asked.task_ids:
        positions = _named(run, revision, asked.task_ids)
        return Scope(revision, available, positions)
    if chosen:
        return Scope(revision, available, _ended(run, chosen[0]), completes=asked.only_errored)
    if run.task_positions is not None:
        return Scope(revision, available, list(run.task_positions))
    whole = run.task_count == registry.task_count(run.subset_id, run.subset_revision)
    return Scope(revision, available if whole else min(run.task_count, available))


def _revision(run: Run, asked: Replay) -> int:
    """The current revision of a rolling subset, unless one is pinned; the parent's of a frozen one."""
    assert run.subset is not None
    if asked.revision is None:
        return run.subset.revision
    if asked.revision > run.subset.revision:
        raise invalid(["body", "replay", "revision"], f"The subset's newest revision is {run.subset.revision}")
    return asked.revision


def _named(run: Run, revision: int, task_ids: list[str]) -> list[int]:
    wanted = list(dict.fromkeys(task_ids))
    rows = Task.objects.filter(subset_id=run.subset_id, revision__lte=revision, task_id__in=wanted)
    found = dict(rows.values_list("task_id", "position"))
    unknown = [name for name in wanted if name not in found]
    if unknown:
        raise DomainError(
            "validation_failed",
            f"{len(unknown)} task id(s) are not in the subset: {', '.join(unknown[:10])}",
            errors=[
                {"loc": ["body", "replay", "task_ids", wanted.index(name)], "msg": f"unknown task id {name!r}"}
                for name in unknown[:100]
            ],
        )
    return sorted(found.values())


def _ended(run: Run, name: str) -> list[int]:
    """Positions of the tasks with a cell that ended so; all trials of such a task run again."""
    rows = TaskResult.objects.filter(run=run, live=True, outcome__in=ONLY[name])
    positions = sorted(set(rows.values_list("position", flat=True)))
    if not positions:
        raise invalid(
            ["body", "replay", name], f"Run {run.id} has no cell that ended {' or '.join(ONLY[name])}: nothing to run"
        )
    return positions
