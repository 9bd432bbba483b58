"""Reading runs. Every read starts from what the principal may see; nobody else's private run exists for them."""

from collections import OrderedDict
from collections.abc import Sequence
from time import monotonic
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from accounts.principal import Principal
from kernel.errors import DomainError
from runs import states
from runs.models import ModelCall, Run
from runs.statistics import TaskTally
from runs.summary import OUTCOMES, Figures, assemble, in_order

TERMINAL = states.TERMINAL


def visible(principal: Principal | None) -> QuerySet[Run]:
    """Runs that may be read: one's own and the public ones, destroyed ones not."""
    may = Q(visibility="public")
    if principal is not None:
        may |= Q(owner=principal.account)
    return Run.objects.filter(may, destroyed_at=None)


def own(principal: Principal) -> QuerySet[Run]:
    """The caller's own runs, destroyed ones not."""
    return Run.objects.filter(owner=principal.account, destroyed_at=None)


def run(principal: Principal | None, run_id: str | UUID, *, write: bool = False) -> Run:
    """One run with its benchmark, subset and impl. ``write`` = only the owner's.

    Raises not_found (unknown, or somebody else's and private), gone (destroyed; told only to its owner).
    """
    found = _row(run_id)
    mine = found is not None and principal is not None and found.owner_id == principal.account.pk
    if found is None or not (mine or (found.visibility == "public" and not write and found.destroyed_at is None)):
        raise DomainError("not_found", "There is no such run, or it is not yours to see.")
    if found.destroyed_at is not None:
        raise DomainError("gone", f"Run {found.id} was destroyed. Its results can't be brought back.")
    return found


def _row(run_id: str | UUID) -> Run | None:
    try:
        key = run_id if isinstance(run_id, UUID) else UUID(run_id)
    except ValueError:
        return None
    if str(key) != str(run_id):  # one spelling per run
        return None
    # Only what every reader needs: each joined table costs more to compile than the database takes to look it up.
    return next(iter(Run.objects.select_related("benchmark").filter(id=key)), None)


def summary(run: Run) -> dict[str, Any]:
    """The contract's summary of the whole run; the frozen one where the run has ended."""
    if run.summary is not None and run.status in TERMINAL:
        return in_order(run.summary)
    return live_summary(run)


def live_summary(run: Run, *, over: bool = False) -> dict[str, Any]:
    """The summary counted from the live results as they are now.

    ``over``: nobody works on the run any more, so a call that is still open was cut off.
    """
    found = assemble(figures(run, over=over))
    if run.completes and run.parent_id is not None:
        found["completed"] = assemble(_completed(run, over=over))
    return found


_REUSED_FOR = 20  # times as long as it took to count, but at most:
_REUSED_SECONDS = 10.0
_QUICK_SECONDS = 0.05
_recent: "OrderedDict[UUID, tuple[float, dict[str, Any]]]" = OrderedDict()


def recent_summary(run: Run) -> dict[str, Any]:
    """As ``summary``; of a large running run, whose counting takes long, it may be some seconds old.

    Reading the pages of a million cells must not count them anew for each page.
    """
    if run.status in TERMINAL:
        return summary(run)
    until, known = _recent.get(run.id, (0.0, {}))
    began = monotonic()
    if began < until:
        return known
    found = live_summary(run)
    took = monotonic() - began
    if took > _QUICK_SECONDS:
        _recent[run.id] = (monotonic() + min(took * _REUSED_FOR, _REUSED_SECONDS), found)
        while len(_recent) > 200:
            _recent.popitem(last=False)
    return found


# Fixed text, put together from constants: only the ids are parameters.
_CELLS = "FROM runs_taskresult r WHERE r.live AND r.run_id = %(run)s"
# Each task's cells from the newest run of the chain that ran it: what a completion did not run again stays as it was.
_CELLS_OF_CHAIN = (
    "FROM runs_taskresult r JOIN (SELECT position, min(array_position(%(runs)s::uuid[], run_id)) AS age "
    "FROM runs_taskresult WHERE run_id = ANY(%(runs)s::uuid[]) AND live GROUP BY position) newest "
    "ON newest.position = r.position WHERE r.live AND r.run_id = (%(runs)s::uuid[])[newest.age]"
)
_SCORED = "r.outcome IN ('passed', 'failed', 'unscored')"


def quantiles(column: str) -> str:
    """SQL: [p50, p95] of a column, interpolated between the two nearest cells. The one definition of both.

    Summaries, pages and reports show it; rounded by ``summary.whole``.
    """
    return f"percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY {column})"


_COUNTS = ", ".join(f"count(*) FILTER (WHERE r.outcome = '{name}')" for name in OUTCOMES)
_MOMENTS = (
    # An output that could not be scored has earned nothing: leaving it out would shrink the denominator.
    f"SELECT {_COUNTS}, avg(coalesce(r.score, 0)) FILTER (WHERE {_SCORED}), "
    f"{quantiles('r.duration_ms')} FILTER (WHERE {_SCORED}) "
)
_KINDS = f"SELECT r.kind, {_COUNTS} "
_TALLIES = (
    "SELECT scored, passed, count(*) FROM (SELECT r.position, "  # noqa: S608 (constants only)
    f"count(*) FILTER (WHERE {_SCORED}) AS scored, count(*) FILTER (WHERE r.outcome = 'passed') AS passed "
)
# From the tallies, which count every attempt's calls; a cell tells only of the attempt that ended it.
_SPENT = (
    "SELECT coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0), coalesce(sum(cost_model), 0), "
    "coalesce(sum(unpriced_calls), 0), coalesce(sum(estimated_calls), 0) FROM runs_run WHERE id = ANY(%(runs)s)"
)


def unknown_calls(runs: Sequence[UUID], *, over: bool) -> int:
    """How many calls of these runs were cut off at the provider, so that nobody knows what they cost.

    ``over`` as of ``live_summary``.
    """
    cut = ("unknown", "sent") if over else ("unknown",)
    return ModelCall.objects.filter(run__in=runs, status__in=cut).count()


def figures(run: Run, *, over: bool = False) -> Figures:
    """What the database counts over a run's live results; ``over`` as of ``live_summary``."""
    return _figures(run, _CELLS, run.planned, [run.id], over=over)


def _completed(run: Run, *, over: bool) -> Figures:
    """A completion and what it completes (which may be a completion too), as one run of the first one's plan."""
    chain = [run]
    while chain[-1].completes and chain[-1].parent is not None:
        chain.append(chain[-1].parent)
    return _figures(run, _CELLS_OF_CHAIN, chain[-1].planned, [one.id for one in chain], over=over)


def _figures(run: Run, cells: str, total: int, spenders: list[UUID], *, over: bool) -> Figures:
    params: dict[str, Any] = {"run": run.id, "runs": spenders}
    with connection.cursor() as cursor:
        cursor.execute(_MOMENTS + cells, params)
        moments = cursor.fetchone()
        cursor.execute(_KINDS + cells + " AND r.kind <> '' GROUP BY r.kind", params)
        kinds = {row[0]: dict(zip(OUTCOMES, row[1:], strict=True)) for row in cursor.fetchall()}
        tallies: list[TaskTally] = []
        if run.trials > 1:
            cursor.execute(_TALLIES + cells + " GROUP BY r.position) AS tasks GROUP BY scored, passed", params)
            tallies = [TaskTally(scored, passed, tasks) for scored, passed, tasks in cursor.fetchall()]
        cursor.execute(_SPENT, params)
        tokens_in, tokens_out, cost, unpriced, estimated = map(int, cursor.fetchone())
    mean_score, (p50, p95) = moments[len(OUTCOMES)], moments[-1] or (None, None)
    return Figures(
        total=total,
        trials=run.trials,
        counts=dict(zip(OUTCOMES, moments[: len(OUTCOMES)], strict=True)),
        mean_score=mean_score,
        duration_ms_p50=p50,
        duration_ms_p95=p95,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=cost,
        unpriced=unpriced,
        estimated=estimated,
        unknown=unknown_calls(spenders, over=over),
        kinds=kinds,
        tallies=tallies,
    )
