"""The classes of what did not pass: how many, what each means, and cells of a class that ended alike."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, Exists, Min, OuterRef, Q

from runs.models import ModelCall, Output, Run, TaskResult
from runs.reporting.failures import likeness
from runs.results import shown_message

MEANINGS = {
    "wrong": "The answer could be read and was not the expected one. This is the model.",
    "no_answer": "The model ended without an answer.",
    "format_miss": "The answer is not in the form that the scorer reads.",
    "truncated": "The answer was cut at the token limit; the model may never have got to answer.",
    "refused": "The model, or its provider's filter, declined to answer.",
    "scorer_exception": "The scorer raised an exception on this output. It counts as not passed.",
    "invalid_score": "The scorer returned no number from 0 to 1. It counts as not passed.",
    "judge_unparsed": "The judge's reply could not be read as a verdict.",
    "scorer_timeout": "The scorer did not end in time. It counts as not passed.",
    "provider_error": "The provider failed. This is not in the rate.",
    "rate_limited": "The provider kept saying that there were too many calls. This is not in the rate.",
    "timeout": "No answer came in time. This is not in the rate.",
    "sandbox_dead": "The sandbox was lost. Not the model's doing; not in the rate.",
    "worker_lost": "The worker was lost. Not the model's doing; not in the rate.",
    "blocked_host": "The scorer wanted a host that it may not reach: see the hosts that were blocked. Not in the rate.",
    "missing_secret": "There was no key for the provider.",
    "judge_error": "The judge model failed. This is not in the rate.",
    "budget": "A ceiling was reached before this task began.",
    "halted": "The run was stopped before this task began.",
}
# Of skipped cells: what ended them, where all of them had begun, and where some had.
_STOPS = {"budget": "A ceiling was reached", "halted": "The run was stopped"}
MOST_CLASSES = 30
LOOKED_AT = 150  # cells of a class that are compared with each other: its first ones
# A cell without a score whose output is there: where solve raised it is not, and nothing of it can be graded anew.
_STORED = (Q(outcome="unscored") | Q(error_class="judge_error")) & Q(
    Exists(
        Output.objects.filter(
            run=OuterRef("run"), ordinal=OuterRef("ordinal"), attempt=OuterRef("attempt"), fault__isnull=True
        )
    )
)
GROUPS = 6  # shown of a class
EXAMPLES = 3  # shown of a group


def meaning(name: str, begun: int = 0, count: int = 1) -> str:
    """What an error class means, in a sentence or two; "" for an unknown one.

    ``begun``: how many of the ``count`` cells had begun.
    """
    if name in _STOPS and begun:
        if begun >= count:
            return f"{_STOPS[name]} while {'this task was' if count == 1 else 'these tasks were'} under way."
        some = f"{begun:,} of these tasks {'was' if begun == 1 else 'were'}"
        return f"{_STOPS[name]} while {some} under way, before the other {count - begun:,} began."
    if name.startswith("resource_exhausted"):
        return f"The sandbox ran out of {name.partition(':')[2] or 'a resource'}. This is not in the rate."
    return MEANINGS.get(name, "")


def told(error_class: str | None, message: str | None, *, answers: bool) -> str:
    """A cell's message for this reader: what a scorer said may quote the expected answer."""
    return shown_message(error_class, message, answers=answers) or ""


def classes(run: Run, *, answers: bool = True) -> list[dict[str, Any]]:
    """What did not pass, by class, largest first: {"outcome", "error_class", "count", "first", "message"}.

    ``message`` is the first that a cell of the class ended with, in task order, ``first`` that cell; "" and None where
    none left a message. Without ``answers`` the words of scorers are left out. ``stored``: how many of them left an
    output that a rescore grades, though they have no score; ``gradable``: how many cells of the run it grades in all.
    ``begun``: how many that were skipped had begun; ``meaning``: the class in words.
    """
    live = TaskResult.objects.filter(run=run, live=True)
    grouped = live.exclude(outcome="passed").values("outcome", "error_class")
    asked = Exists(ModelCall.objects.filter(run=run, ordinal=OuterRef("ordinal")))  # of this run alone: an index's way
    counted = grouped.annotate(
        count=Count("id"),
        first=Min("ordinal", filter=Q(error_message__gt="")),
        stored=Count("id", filter=_STORED),
        begun=Count("id", filter=Q(outcome="skipped") & (Q(attempt__gt=0) | Q(asked))),
    )
    ordered = counted.order_by("-count", "outcome", "error_class")
    groups: list[dict[str, Any]] = [dict(row) for row in ordered[:MOST_CLASSES]]
    firsts = [group["first"] for group in groups if group["first"] is not None]
    messages = dict(live.filter(ordinal__in=firsts).values_list("ordinal", "error_message")) if firsts else {}
    gradable = run.passed + run.failed + sum(group["stored"] for group in groups)
    return [
        {
            **group,
            "gradable": gradable,
            "meaning": meaning(group["error_class"] or "", group["begun"], group["count"]),
            "message": told(group["error_class"], messages.get(group["first"]), answers=answers),
        }
        for group in groups
    ]


def meaning_of(row: TaskResult) -> str:
    """What the class of one cell means."""
    begun = row.outcome == "skipped" and (
        row.attempt > 0 or ModelCall.objects.filter(run=row.run_id, ordinal=row.ordinal).exists()
    )
    return meaning(row.error_class or "", int(begun))


def alike(run: Run, group: Mapping[str, Any], *, answers: bool) -> list[dict[str, Any]]:
    """The cells of one class in groups that ended alike, largest first: {"count", "examples"}.

    Infrastructure faults and unscored cells are compared by their message, answers by their beginning.
    """
    rows = TaskResult.objects.filter(
        run=run, live=True, outcome=group["outcome"], error_class=group["error_class"]
    ).order_by("ordinal")
    columns = ("id", "task_id", "trial", "error_class", "error_message", "output_preview")
    cells = list(rows.values(*columns)[:LOOKED_AT])
    texts = [
        told(cell["error_class"], cell["error_message"], answers=answers) or cell["output_preview"] or ""
        for cell in cells
    ]
    return [_group(cells, texts, members) for members in likeness.groups(texts)[:GROUPS]]


def _group(cells: Sequence[Mapping[str, Any]], texts: Sequence[str], members: Sequence[int]) -> dict[str, Any]:
    shown = members[:EXAMPLES]
    return {
        "count": len(members),
        "examples": [
            {
                "id": cells[at]["id"],
                "task_id": cells[at]["task_id"],
                "trial": cells[at]["trial"],
                "text": texts[at][:300],
            }
            for at in shown
        ],
    }
