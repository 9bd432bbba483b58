"""The tasks of a run: slim rows with the whole run's summary, and one task in full."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Router

from accounts.door import allows_public, answer, principal_or_none
from kernel import listing, paging
from kernel.errors import DomainError
from runs import objects, payloads, queries, representation
from runs.asked import scope
from runs.fingerprint import fingerprint
from runs.models import Run, TaskResult
from runs.summary import OUTCOMES

router = Router()

SORTS = {
    "task": "ordinal",
    "score": "score",
    "duration_ms": "duration_ms",
    "cost": "cost",
    "tokens_in": "tokens_in",
    "tokens_out": "tokens_out",
    "created_at": "created_at",
    "task_id": "task_id",
}
FILTERS = {"passed": listing.flag, "outcome": listing.text, "version": listing.whole, "kind": listing.text}


@router.get("/runs/{run_id}/tasks", auth=allows_public("runs:read"), response=Any)
def tasks(request: HttpRequest, run_id: str) -> dict[str, Any]:
    """Slim rows in task order, and the summary of the whole run. `passed=false` lists only failed ones."""
    viewer = principal_or_none(request)
    run = queries.run(viewer, run_id)
    query = listing.parse(request.GET, sorts=tuple(SORTS), default="task", filters=FILTERS, default_limit=100)
    rows = _filtered(run, query)
    account = viewer.account.pk if viewer else None
    found = paging.page(rows, query, scope=(account, "tasks", run.id), columns=SORTS)
    answers, ran = payloads.may_see_answers(run, viewer), scope.of(run)
    return {
        "object": "list",
        "summary": queries.recent_summary(run),
        "scope": ran.document() if ran else None,
        "data": [objects.task_row(row, answers=answers) for row in found.rows],
        "next_page_token": found.next_page_token,
    }


def _filtered(run: Run, query: listing.ListQuery) -> QuerySet[TaskResult]:
    rows = TaskResult.objects.filter(run=run)
    version, outcome = query.value("version"), query.value("outcome")
    rows = rows.filter(live=True) if version is None else rows.filter(version=version)
    if (passed := query.value("passed")) is not None:
        rows = rows.filter(outcome="passed" if passed else "failed")
    if outcome is not None:
        rows = rows.filter(outcome__in=_outcomes(outcome))
    if (kind := query.value("kind")) is not None:
        rows = rows.filter(kind=kind)
    return rows


def _outcomes(asked: str) -> list[str]:
    """One outcome or several, comma-separated. Raises invalid_parameter."""
    words = asked.split(",")
    for word in words:
        if word not in OUTCOMES:
            raise DomainError(
                "invalid_parameter",
                f"outcome={word} is unknown. Known: {', '.join(OUTCOMES)}.",
                errors=[{"loc": ["query", "outcome"], "msg": f"Known: {', '.join(OUTCOMES)}."}],
            )
    return words


# A task's id may hold a slash, such as HumanEval/0.
@router.get("/runs/{run_id}/tasks/{path:result_id}", auth=allows_public("runs:read", "artifacts:read"), response=Any)
def payload(request: HttpRequest, run_id: str, result_id: str) -> HttpResponse:
    """One task in full: input, expected, output, explanation, metrics, model calls and artifacts. `fields=`.

    By the id of its result (`tsk_…`), or by the task's own where it has one trial.
    """
    viewer = principal_or_none(request)
    representation.only(request, representation.FIELDS)
    run = queries.run(viewer, run_id)
    found = payloads.payload(run, payloads.result(run, result_id), viewer)
    return answer(representation.selected(request, found))


@router.get("/runs/{run_id}/fingerprint", auth=allows_public("runs:read"), response=Any)
def run_fingerprint(request: HttpRequest, run_id: str) -> dict[str, Any]:
    """What decides the score, in one hash: subset, impl, runtime, trials, model and its parameters. `fields=`."""
    representation.only(request, representation.FIELDS)
    found = fingerprint(queries.run(principal_or_none(request), run_id))
    return representation.selected(request, found)
