"""The audit of a run: which outputs a second reader reads otherwise than the scorer did. Free, without a model."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db import connection

from runs.models import Run, TaskResult
from runs.pages import words
from runs.reporting.audit import readers

MOST_NOT_PASSED, MOST_PASSED = 3000, 1000  # outputs that are read again, evenly over the run
MOST_BYTES = 64 << 10  # of an output, and of a row: longer ones are left out
MOST_ROWS = 200  # disagreements that are listed
_CHUNK = 200
MUCH = 0.02  # a larger share of disagreement is worth a flag

_OUTPUTS = """
SELECT r.id, r.task_id, r.trial, r.outcome, r.error_class, r.metrics ->> 'extracted', r.output_preview,
       o.output, t.row
FROM runs_taskresult r
JOIN runs_output o ON o.run_id = r.run_id AND o.ordinal = r.ordinal AND o.attempt = r.attempt
JOIN registry_task t ON t.subset_id = %(subset)s AND t.position = r.position
WHERE r.run_id = %(run)s AND r.live AND r.ordinal = ANY(%(ordinals)s)
  AND octet_length(o.output) <= %(most)s AND octet_length(t.row) <= %(most)s
ORDER BY r.ordinal
"""


def audit(run: Run) -> dict[str, Any]:
    """The whole audit with its rows. It depends on the run alone: the same run gives the same audit."""
    looked = _Looked(run)
    for cell in _cells(run):
        looked.at(*cell)
    return looked.document()


class _Looked:
    """What the second reader has found so far."""

    def __init__(self, run: Run) -> None:
        self.run = run
        grader = run.impl.grader if run.impl is not None else None
        self.own_code = grader is None
        self.reader = readers.of_grader(grader) if grader is not None else None
        self.counts = {"looked_at": 0, "unread": 0, "agreed": 0, "missed": 0, "lenient": 0}
        self.rows: list[dict[str, Any]] = []
        self.how: dict[str, int] = {}

    def at(self, result: Mapping[str, Any], output: Any, row: Mapping[str, Any]) -> None:
        reader = self.reader if not self.own_code else readers.of_row(row)
        if reader is None:
            return
        self.counts["looked_at"] += 1
        self.how[reader.words] = self.how.get(reader.words, 0) + 1
        second = reader.read(output, row)
        if second.passed is None:
            self.counts["unread"] += 1
            return
        side = _side(result["outcome"] == "passed", second.passed)
        self.counts[side] += 1
        if side != "agreed" and len(self.rows) < MOST_ROWS:
            self.rows.append(_row(result, second.answer, second.passed, side))

    def document(self) -> dict[str, Any]:
        scored = self.run.passed + self.run.failed + self.run.unscored
        how = sorted(self.how, key=lambda each: (-self.how[each], each))
        return {
            "applicable": bool(self.counts["looked_at"]),
            "how": how,
            "own_code": self.own_code,
            "of": scored,
            **self.counts,
            "sentence": sentence(self.counts, scored, self.own_code),
            "rows": sorted(self.rows, key=lambda row: row["side"] != "missed"),
        }


def _side(first: bool, second: bool) -> str:
    return "agreed" if first == second else "missed" if second else "lenient"


def _row(result: Mapping[str, Any], answer: str | None, passed: bool, side: str) -> dict[str, Any]:
    first = result["extracted"] or result["output_preview"]
    return {
        "id": result["id"],
        "task_id": result["task_id"],
        "trial": result["trial"],
        "side": side,
        "first": {"answer": first[:300], "passed": result["outcome"] == "passed", "outcome": result["outcome"],
                  "error_class": result["error_class"]},
        "second": {"answer": (answer or "")[:300], "passed": passed},
    }  # fmt: skip


def sentence(counts: Mapping[str, int], scored: int, own_code: bool) -> str:
    """What the audit says, in one or two sentences."""
    if not scored:
        return "There is no output to read again."
    if not counts["looked_at"]:
        return (
            "No second reader knows rows of this form, so nothing was read again."
            if own_code
            else "No second reader is known for graders of this kind, so nothing was read again."
        )
    looked = f"A second reader looked at {words.plural(counts['looked_at'], 'output')}"
    looked += f" of {scored:,}" if counts["looked_at"] < scored else ""
    said = []
    if counts["missed"]:
        said.append(f"your scorer probably misses {words.plural(counts['missed'], 'right answer')}")
    if counts["lenient"]:
        said.append(f"it passes {words.plural(counts['lenient'], 'answer')} that the second reader reads as wrong")
    if not said:
        return f"{looked} and read none otherwise than the scorer."
    return f"{looked}: {', and '.join(said)}."


def much(document: Mapping[str, Any]) -> bool:
    """Whether the two readers differ so often that a person should look."""
    differ = int(document["missed"]) + int(document["lenient"])
    return differ > MUCH * int(document["looked_at"])


def _cells(run: Run) -> Iterator[tuple[dict[str, Any], Any, dict[str, Any]]]:
    """(result, output, row as uploaded) of the cells that are read again, in task order."""
    chosen = _chosen(run)
    for start in range(0, len(chosen), _CHUNK):
        params = {
            "run": run.id, "subset": run.subset_id, "ordinals": chosen[start : start + _CHUNK], "most": MOST_BYTES
        }  # fmt: skip
        with connection.cursor() as cursor:
            cursor.execute(_OUTPUTS, params)
            found = cursor.fetchall()
        names = ("id", "task_id", "trial", "outcome", "error_class", "extracted", "output_preview")
        for *told, output, row in found:
            given, expected = _parsed(output), _parsed(row)
            if isinstance(expected, dict):
                yield dict(zip(names, told, strict=True)), given, expected


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _chosen(run: Run) -> list[int]:
    """Ordinals, evenly over the run, more of those that did not pass."""
    live = TaskResult.objects.filter(run=run, live=True)
    not_passed = _evenly(
        live.filter(outcome__in=("failed", "unscored")).order_by("ordinal").values_list("ordinal", flat=True),
        MOST_NOT_PASSED,
    )
    passed = _evenly(live.filter(outcome="passed").order_by("ordinal").values_list("ordinal", flat=True), MOST_PASSED)
    return sorted([*not_passed, *passed])


def _evenly(found: Iterable[int], most: int) -> Sequence[int]:
    every = list(found)
    return every[:: max(1, -(-len(every) // most))]
