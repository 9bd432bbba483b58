"""The event log of a run: gapless, stored before anybody is told."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from kernel import strict_json

TYPES = (
    "RunQueued",
    "RunStarted",
    "PhaseStarted",
    "PhaseProgress",
    "PhaseCompleted",
    "PhaseFailed",
    "MaterializeTaskStarted",
    "MaterializeTaskResult",
    "ModelRetry",
    "HostBlocked",
    "LimitWarning",
    "InputNeeded",
    "RunHalted",
    "RunFailed",
    "RunCompleted",
)
TERMINAL = ("RunHalted", "RunFailed", "RunCompleted")

AUTHORING = ("find", "analyze", "atomize")
_PRIVATE = "The run could not be prepared. Its page tells its owner why."


def told_error(error: Mapping[str, Any] | None, *, mine: bool) -> dict[str, Any] | None:
    """What a reader may be told of a failure. A phase that authors may name what only the run's owner sees."""
    if error is None or mine or error.get("phase") not in AUTHORING:
        return dict(error) if error is not None else None
    told = {name: value for name, value in error.items() if name not in ("choices", "model")}
    return {**told, "message": _PRIVATE, "hint": ""}


# The lock on the run's row orders the numbers: a reader never sees n + 1 before n exists.
_APPEND = """
WITH taken AS (
    UPDATE runs_run SET last_seq = last_seq + %(count)s WHERE id = %(run)s RETURNING last_seq
), stored AS (
    INSERT INTO runs_runevent (run_id, seq, type, data)
    SELECT %(run)s, taken.last_seq - %(count)s + item.ord, item.type, item.data::jsonb
    FROM taken, unnest(%(types)s::text[], %(data)s::text[]) WITH ORDINALITY AS item (type, data, ord)
)
SELECT last_seq FROM taken
"""


def append(run_id: UUID | str, items: Sequence[tuple[str, Mapping[str, Any]]]) -> int:
    """Store events in order; returns the last ``seq``. Must be called inside a transaction.

    Raises LookupError where the run does not exist.
    """
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("events are stored in the transaction of what they tell")
    with connection.cursor() as cursor:
        cursor.execute(
            _APPEND,
            {
                "run": str(run_id),
                "count": len(items),
                "types": [kind for kind, _ in items],
                "data": [strict_json.dumps(data).decode() for _, data in items],
            },
        )
        row = cursor.fetchone()
    if row is None:
        raise LookupError(f"no run {run_id}")
    return int(row[0])
