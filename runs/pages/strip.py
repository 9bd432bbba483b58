"""Every task of a run at a glance, from one query, whatever its size."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from django.db import connection
from django.utils.safestring import SafeString

from runs.models import Run, TaskResult
from runs.plots import marks

TICKS = 400  # up to this many cells each has a tick of its own
BINS = 300

_BINNED = """
SELECT ordinal::bigint * %(bins)s / %(planned)s, outcome, count(*)
FROM runs_taskresult WHERE run_id = %(run)s AND live GROUP BY 1, 2
"""


def drawn(run: Run, in_flight: Iterable[int] = ()) -> SafeString | None:
    """The strip of a run; ``in_flight`` are the ordinals of cells at work. None where nothing is planned."""
    if not run.planned:
        return None
    if run.planned <= TICKS:
        return _ticks(run, set(in_flight))
    return _bins(run)


def _ticks(run: Run, in_flight: set[int]) -> SafeString:
    states = ["now" if ordinal in in_flight else "waiting" for ordinal in range(run.planned)]
    rows = TaskResult.objects.filter(run=run, live=True, ordinal__lt=run.planned)
    for ordinal, outcome in rows.values_list("ordinal", "outcome"):
        states[ordinal] = outcome
    return marks.strip(states, _label(Counter(states)))


def _bins(run: Run) -> SafeString:
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    totals: Counter[str] = Counter()
    with connection.cursor() as cursor:
        cursor.execute(_BINNED, {"bins": BINS, "planned": run.planned, "run": run.id})
        for number, outcome, count in cursor.fetchall():
            counts[number][outcome] = count
            totals[outcome] += count
    # The share is of the bin's planned cells, so that what has not ended yet stays hollow.
    starts = [-(-number * run.planned // BINS) for number in range(BINS + 1)]
    shares = [
        {outcome: count / (starts[number + 1] - starts[number]) for outcome, count in counts[number].items()}
        for number in range(BINS)
    ]
    totals["waiting"] = max(run.planned - totals.total(), 0)
    return marks.binned_strip(shares, _label(totals))


def _label(totals: Counter[str]) -> str:
    words = {"now": "in flight"}
    order = ("passed", "failed", "errored", "unscored", "skipped", "now", "waiting")
    said = ", ".join(f"{totals[name]:,} {words.get(name, name)}" for name in order if totals[name])
    return f"Tasks in order: {said or 'none'}"


def cells_per_bar(run: Run) -> int:
    """How many cells one bar stands for: 1 where each has its own tick."""
    return 1 if run.planned <= TICKS else round(run.planned / BINS)
