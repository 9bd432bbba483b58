"""How time and cost spread over the cells of a run: a histogram, counted by the database whatever the run's size."""

import math
from typing import Any

from django.db import connection

from runs.models import Run
from runs.queries import quantiles
from runs.summary import whole

BINS = 24
_SCORED = "FROM runs_taskresult r WHERE r.live AND r.run_id = %(run)s AND r.outcome IN ('passed', 'failed', 'unscored')"
# Put together from constants: {} is one of two columns. The steps are of equal ratio, so that a cell that took ten
# times as long as most still has its place beside them.
_RANGE = f"SELECT count(*), min(r.{{0}}), max(r.{{0}}), sum(r.{{0}}) {_SCORED}"
_COUNTED = (
    "SELECT least(width_bucket(ln(greatest(r.{0}, 1)), %(low)s, %(high)s, %(bins)s), %(bins)s), count(*) "
    f"{_SCORED} GROUP BY 1"
)
_QUANTILES = f"SELECT {quantiles('r.{0}')} {_SCORED}"


def of_latency(run: Run) -> dict[str, Any] | None:
    """Milliseconds of the scored cells; None where none was scored."""
    return _spread(run, "duration_ms")


def of_cost(run: Run) -> dict[str, Any] | None:
    """Micro-cents of the scored cells; None where they cost nothing, or nobody knows what."""
    found = None if run.unpriced_calls else _spread(run, "cost")
    return found if found and found["most"] else None


def _spread(run: Run, column: str) -> dict[str, Any] | None:
    """{"cells", "least", "most", "sum", "p50", "p95", "bins": [{"from", "to", "count"}]}; of one value: one bin."""
    with connection.cursor() as cursor:
        cursor.execute(_RANGE.format(column), {"run": run.id})
        cells, least, most, total = cursor.fetchone()
        if not cells:
            return None
        cursor.execute(_QUANTILES.format(column), {"run": run.id})
        p50, p95 = map(whole, cursor.fetchone()[0])
        low, high = math.log(max(least, 1)), math.log(max(most, 1))
        if high - low < 1e-9:
            bins = [{"from": least, "to": most, "count": cells}]
        else:
            cursor.execute(_COUNTED.format(column), {"run": run.id, "low": low, "high": high, "bins": BINS})
            bins = _bins(dict(cursor.fetchall()), low, high)
    return {"cells": cells, "least": least, "most": most, "sum": int(total), "p50": p50, "p95": p95, "bins": bins}


def _bins(counts: dict[int, int], low: float, high: float) -> list[dict[str, Any]]:
    step = (high - low) / BINS
    return [
        {
            "from": round(math.exp(low + at * step)),
            "to": round(math.exp(low + (at + 1) * step)),
            # What lies below the first step (nothing was measured) stands in it.
            "count": counts.get(at + 1, 0) + (counts.get(0, 0) if at == 0 else 0),
        }
        for at in range(BINS)
    ]
