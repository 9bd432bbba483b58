"""What the driver's calls cost, taken from the journal onto the phase and the run: as often as one likes."""

from django.db import connection

from runs import limits

_PHASE = """
UPDATE runs_phase p SET cost = greatest(p.cost, journal.cost), tokens = greatest(p.tokens, journal.tokens)
FROM (
    SELECT coalesce(sum(cost), 0)::bigint AS cost, coalesce(sum(tokens_in + tokens_out), 0)::bigint AS tokens
    FROM runs_modelcall WHERE run_id = %(run)s AND ordinal = ANY(%(places)s)
) AS journal WHERE p.run_id = %(run)s AND p.name = %(phase)s
"""
_RUN = """
UPDATE runs_run SET cost_driver = greatest(cost_driver, journal.cost), unpriced_beside = journal.unpriced
FROM (
    SELECT coalesce(sum(cost), 0)::bigint AS cost,
           (count(*) FILTER (WHERE cost IS NULL AND status = 'settled'))::int AS unpriced
    FROM runs_modelcall WHERE run_id = %(run)s AND ordinal < 0
) AS journal WHERE id = %(run)s
"""


def place_of(phase: str) -> int:
    """Where the driver's calls of a phase stand in the run's journal."""
    return -1 - limits.PHASES.index(phase)


def count(run: str, phase: str, *places: int) -> None:
    """``places``: where the phase's calls stand in the run's journal."""
    with connection.cursor() as cursor:
        cursor.execute(_PHASE, {"run": run, "phase": phase, "places": list(places)})
        cursor.execute(_RUN, {"run": run})
