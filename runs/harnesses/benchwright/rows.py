"""What the engine hands to the writer, and what it says of a scorer that can't be loaded."""

import json

from runs import results
from runs.compute.base import ScorerFault
from runs.context import PhaseError
from runs.harnesses.benchwright.cells import Cell
from runs.hot import OutputRow, ResultRow


def scorer_broken(error: ScorerFault) -> PhaseError:
    """The scorer can't even be loaded: the run fails before a call is paid for."""
    told = f"The scorer could not be loaded in the {error.role} sandbox: {results.told(error.error)}"
    return PhaseError(
        "scorer_broken",
        results.clean(told, 2_200),
        "Register a corrected impl and launch again.",
    )


def output_row(cell: Cell) -> OutputRow:
    text = None if cell.fault is not None else json.dumps(cell.output)
    return OutputRow(cell.shard, cell.ordinal, cell.attempt, text, cell.fault, cell.facts, cell.solve_ms)


def result_row(cell: Cell, ending: results.Ending) -> ResultRow:
    return ResultRow(
        shard=cell.shard,
        ordinal=cell.ordinal,
        position=cell.position,
        task_id=cell.task_id,
        kind=cell.kind,
        trial=cell.trial,
        attempt=cell.attempt,
        outcome=ending.outcome,
        score=ending.score,
        error_class=ending.error_class,
        error_message=ending.message,
        output_preview="" if cell.output is None else results.preview(cell.output),
        explanation=ending.explanation,
        metrics=dict(ending.metrics) if ending.metrics else None,
        duration_ms=cell.solve_ms,
        facts=cell.facts,
        reused=cell.reused,
    )
