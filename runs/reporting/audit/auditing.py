"""The audit of a run: which outputs a second reader reads otherwise than the scorer did. Free, without a model."""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import connection

from runs import gateway_keys
from runs.call_bodies import assembled, unpack
from runs.models import Run
from runs.pages import words
from runs.reporting.audit.choosing import Chooser
from runs.reporting.audit.matching import Matcher
from runs.reporting.audit.readers import Reading

MOST_NOT_PASSED, MOST_PASSED = 3000, 1000  # outputs that are read again, evenly over the run
MOST_BYTES = 64 << 10  # of an output, of a row, and of a judge's reply: longer ones are left out
MOST_ROWS = 200  # disagreements that are listed
_CHUNK = 200
MUCH = 0.02  # a larger share of disagreement is worth a flag
SIDES = ("missed", "differs", "lenient")  # as they are listed

_OUTPUTS = """
SELECT r.id, r.task_id, r.trial, r.outcome, r.error_class, r.metrics ->> 'extracted', r.output_preview, r.ordinal,
       o.output, t.row
FROM runs_taskresult r
JOIN runs_output o ON o.run_id = r.run_id AND o.ordinal = r.ordinal AND o.attempt = r.attempt
JOIN registry_task t ON t.subset_id = %(subset)s AND t.position = r.position
WHERE r.run_id = %(run)s AND r.live AND r.ordinal = ANY(%(ordinals)s)
  AND octet_length(o.output) <= %(most)s AND octet_length(t.row) <= %(most)s
ORDER BY r.ordinal
"""
# The last thing that the judge said of each cell: after a repair that is the repaired reply.
_REPLIES = """
SELECT DISTINCT ON (ordinal) ordinal, response, streamed FROM runs_modelcall
WHERE run_id = %(run)s AND ordinal = ANY(%(places)s) AND status = 'settled' AND octet_length(response) <= %(most)s
ORDER BY ordinal, id DESC
"""
_EVENLY = """
SELECT ordinal FROM (
    SELECT ordinal, row_number() OVER (ORDER BY ordinal) - 1 AS at, count(*) OVER () AS every
    FROM runs_taskresult WHERE run_id = %(run)s AND live AND outcome = ANY(%(outcomes)s)
) AS cells
WHERE at %% greatest(1, (every + %(most)s - 1) / %(most)s) = 0 ORDER BY ordinal
"""


class _Cell(NamedTuple):
    """``row``: as it was uploaded. ``reply``: what a judge said of it, where it was asked."""

    result: Mapping[str, Any]
    output: Any
    row: Mapping[str, Any]
    reply: str | None


def audit(run: Run) -> dict[str, Any]:
    """The whole audit with its rows. It depends on the run alone: the same run gives the same audit."""
    with Matcher() as matcher:
        looked = _Looked(run, Chooser(run, matcher))
        for cell in _cells(run, judged=looked.chooser.judged):
            looked.at(cell)
        return looked.document()


class _Looked:
    """What the second reader has found so far."""

    def __init__(self, run: Run, chooser: Chooser) -> None:
        self.run, self.chooser = run, chooser
        self.counts = {"looked_at": 0, "unread": 0, "agreed": 0, "missed": 0, "lenient": 0, "differs": 0}
        self.rows: list[dict[str, Any]] = []
        self.how: dict[str, int] = {}
        self.read = 0

    def at(self, cell: _Cell) -> None:
        self.read += 1
        reader = self.chooser.of(cell.row, cell.reply)
        if reader is None:
            return
        self.counts["looked_at"] += 1
        self.how[reader.words] = self.how.get(reader.words, 0) + 1
        second = reader.read(cell.output, cell.row, cell.reply)
        side = _side(cell.result["outcome"] == "passed", second)
        self.counts[side] += 1
        if side in SIDES and len(self.rows) < MOST_ROWS:
            self.rows.append(_row(cell.result, second, side))

    def document(self) -> dict[str, Any]:
        scored = self.run.passed + self.run.failed + self.run.unscored
        how = sorted(self.how, key=lambda each: (-self.how[each], each))
        applicable = bool(self.counts["looked_at"])
        reason = None if applicable else self.chooser.why_none(scored, self.read)
        return {
            "applicable": applicable,
            "reason": reason,
            "how": how,
            "own_code": self.chooser.own_code,
            "of": scored,
            **self.counts,
            "sentence": reason or sentence(self.counts, scored),
            "rows": sorted(self.rows, key=lambda row: SIDES.index(row["side"])),
        }


def _side(passed: bool, second: Reading) -> str:
    """Of an answer that passed its tests no other program is asked for: the right one was found."""
    if second.other is not None:
        return "differs" if second.other and not passed else "agreed"
    if second.passed is None:
        return "unread"
    return "agreed" if passed == second.passed else "missed" if second.passed else "lenient"


def _row(result: Mapping[str, Any], second: Reading, side: str) -> dict[str, Any]:
    first = second.first if second.first is not None else result["extracted"] or result["output_preview"]
    return {
        "id": result["id"],
        "task_id": result["task_id"],
        "trial": result["trial"],
        "side": side,
        "first": {"answer": first[:300], "passed": result["outcome"] == "passed", "outcome": result["outcome"],
                  "error_class": result["error_class"]},
        "second": {"answer": (second.answer or "")[:300], "passed": second.passed},
    }  # fmt: skip


def sentence(counts: Mapping[str, int], scored: int) -> str:
    """What an audit that looked at outputs says, in one or two sentences."""
    looked = f"A second reader looked at {words.plural(counts['looked_at'], 'output')}"
    looked += f" of {scored:,}" if counts["looked_at"] < scored else ""
    looked += f" and could not read {counts['unread']:,} of them" if counts.get("unread") else ""
    said = []
    if counts["missed"]:
        said.append(f"your scorer probably misses {words.plural(counts['missed'], 'right answer')}")
    if counts["lenient"]:
        said.append(f"it passes {words.plural(counts['lenient'], 'answer')} that the second reader reads as wrong")
    if counts["differs"]:
        said.append(f"from {words.plural(counts['differs'], 'answer')} that did not pass it takes another program")
    if not said:
        none = "none" if not counts.get("unread") else "of the others none"
        return f"{looked} and read {none} otherwise than the scorer."
    return f"{looked}: {', and '.join(said)}."


def much(document: Mapping[str, Any]) -> bool:
    """Whether the two readers differ so often that a person should look."""
    differ = sum(int(document[side]) for side in SIDES)
    return differ > MUCH * int(document["looked_at"])


def _cells(run: Run, *, judged: bool) -> Iterator[_Cell]:
    """The cells that are read again, in task order; a chunk of them is in memory at a time."""
    chosen = _chosen(run)
    for start in range(0, len(chosen), _CHUNK):
        ordinals = chosen[start : start + _CHUNK]
        params = {"run": run.id, "subset": run.subset_id, "ordinals": ordinals, "most": MOST_BYTES}
        with connection.cursor() as cursor:
            cursor.execute(_OUTPUTS, params)
            found = cursor.fetchall()
        replies = _replies(run, ordinals) if judged else {}
        names = ("id", "task_id", "trial", "outcome", "error_class", "extracted", "output_preview")
        for *told, ordinal, output, row in found:
            given, uploaded = _parsed(output), _parsed(row)
            if isinstance(uploaded, dict):
                yield _Cell(dict(zip(names, told, strict=True)), given, uploaded, replies.get(ordinal))


def _replies(run: Run, ordinals: Sequence[int]) -> dict[int, str]:
    """The judge's last words by cell."""
    places = [gateway_keys.judged(ordinal) for ordinal in ordinals]
    with connection.cursor() as cursor:
        cursor.execute(_REPLIES, {"run": run.id, "places": places, "most": MOST_BYTES})
        found = cursor.fetchall()
    said = {gateway_keys.judged(place): _said(stored, streamed) for place, stored, streamed in found}
    return {ordinal: text for ordinal, text in said.items() if text is not None}


def _said(stored: bytes | memoryview, streamed: bool) -> str | None:
    """The text of a stored answer to a chat completion; None where it holds none."""
    try:
        body = unpack(stored)
        answer = assembled(body) if streamed else json.loads(body)
        text = answer["choices"][0]["message"]["content"] if answer else None
    except (ValueError, KeyError, IndexError, TypeError, RecursionError, zlib.error):
        return None
    return text if isinstance(text, str) else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _chosen(run: Run) -> list[int]:
    """Ordinals, evenly over the run, more of those that did not pass."""
    wanted = ((("failed", "unscored"), MOST_NOT_PASSED), (("passed",), MOST_PASSED))
    found: list[int] = []
    with connection.cursor() as cursor:
        for outcomes, most in wanted:
            cursor.execute(_EVENLY, {"run": run.id, "outcomes": list(outcomes), "most": most})
            found += [row[0] for row in cursor.fetchall()]
    return sorted(found)
