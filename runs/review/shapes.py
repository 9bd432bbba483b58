"""Flags and remarks as the API and the pages show them. Nobody is named: only in which role they spoke."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Prefetch

from kernel.clock import stamp
from runs.models import ReviewFlag, ReviewRemark, Run


def of_run(run: Run) -> list[dict[str, Any]]:
    """The run's flags, oldest first, each with its remarks."""
    return of_runs([run]).get(run.id, [])


def of_runs(runs: Iterable[Run]) -> Mapping[UUID, list[dict[str, Any]]]:
    """Of several runs at once, in two queries."""
    by_id = {run.id: run for run in runs}
    remarks = ReviewRemark.objects.select_related("author").order_by("created_at", "id")
    rows = ReviewFlag.objects.filter(run__in=by_id).prefetch_related(Prefetch("remarks", remarks)).order_by("id")
    found: dict[UUID, list[dict[str, Any]]] = {}
    for flag in rows:
        found.setdefault(flag.run_id, []).append(_flag(flag, by_id[flag.run_id]))
    return found


def _flag(flag: ReviewFlag, run: Run) -> dict[str, Any]:
    remarks = [_remark(remark, run) for remark in flag.remarks.all()]
    settled = [remark for remark in remarks if remark["settlement"]]
    last = settled[-1] if settled else None
    return {
        "code": flag.code,
        "detail": flag.detail,
        "created_at": stamp(flag.created_at),
        "remarks": remarks,
        # The newest settlement counts; the earlier ones stay among the remarks.
        "settlement": last
        and {"verdict": last["settlement"], "by": last["by"], "note": last["note"], "at": last["created_at"]},
    }


def _remark(remark: ReviewRemark, run: Run) -> dict[str, Any]:
    return {
        "by": _role(remark, run),
        "note": remark.note,
        "settlement": remark.settlement or None,
        "created_at": stamp(remark.created_at),
    }


def _role(remark: ReviewRemark, run: Run) -> str:
    """A settlement is spoken for the board, a comment for the run."""
    owns_benchmark = run.benchmark is not None and remark.author_id == run.benchmark.owner_id
    if remark.author_id is not None and remark.author_id == run.owner_id and not (remark.settlement and owns_benchmark):
        return "owner"
    if remark.author_id is not None and owns_benchmark:
        return "benchmark_owner"
    return "staff" if remark.author is not None and remark.author.is_staff else "former_account"
