"""The one statement of the hot path: outputs, results, events and tallies of a batch, fenced, in one round trip.

Raw SQL on purpose: the ORM would cost ten times as much per row. tests/runs/test_hot.py holds it against the models.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from psycopg import AsyncConnection

from kernel import ids

Connection = AsyncConnection[tuple[Any, ...]]


@dataclass(slots=True)
class OutputRow:
    """What solve returned for one attempt at a cell; ``output`` is JSON text."""

    shard: int
    ordinal: int
    attempt: int
    output: str | None
    fault: dict[str, Any] | None
    facts: dict[str, Any]
    duration_ms: int


@dataclass(slots=True)
class ResultRow:
    """How a cell ended."""

    shard: int
    ordinal: int
    position: int
    task_id: str
    kind: str
    trial: int
    attempt: int
    outcome: str
    score: float | None
    error_class: str | None
    error_message: str | None
    output_preview: str
    explanation: str | None
    metrics: dict[str, Any] | None
    duration_ms: int
    facts: dict[str, Any]
    id: str = field(default_factory=lambda: ids.prefixed_ulid("tsk"))


@dataclass(slots=True)
class EventRow:
    """An event that belongs to a shard (dropped with it when the fence has moved)."""

    shard: int
    type: str
    data: dict[str, Any]


@dataclass(slots=True)
class Batch:
    outputs: list[OutputRow] = field(default_factory=list)
    results: list[ResultRow] = field(default_factory=list)
    events: list[EventRow] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.outputs or self.results or self.events)


_FLUSH = """
WITH fence AS MATERIALIZED (
    SELECT s.number FROM runs_shard s
    JOIN unnest(%(shards)s::int[], %(fences)s::int[]) AS mine (number, attempt_no)
      ON s.number = mine.number AND s.attempt_no = mine.attempt_no
    WHERE s.run_id = %(run)s AND s.phase = %(phase)s AND s.status = 'leased'
    FOR SHARE OF s
), o AS (
    INSERT INTO runs_output (run_id, ordinal, attempt, output, fault, facts, duration_ms)
    SELECT %(run)s, u.ordinal, u.attempt, u.output, u.fault::jsonb, u.facts::jsonb, u.ms
    FROM unnest(%(o_shard)s::int[], %(o_ordinal)s::int[], %(o_attempt)s::int[], %(o_output)s::text[],
                %(o_fault)s::text[], %(o_facts)s::text[], %(o_ms)s::int[])
      AS u (shard, ordinal, attempt, output, fault, facts, ms)
    WHERE u.shard IN (SELECT number FROM fence)
    ON CONFLICT DO NOTHING
    RETURNING (facts->>'cost')::bigint - coalesce((facts->>'cost_reused')::bigint, 0) AS cost,
              (facts->>'unpriced')::int AS unpriced,
              CASE WHEN facts->>'reused' = facts->>'calls' THEN 0 ELSE (facts->>'tokens_in')::bigint END AS tokens_in,
              CASE WHEN facts->>'reused' = facts->>'calls' THEN 0 ELSE (facts->>'tokens_out')::bigint END AS tokens_out
), r AS (
    INSERT INTO runs_taskresult (id, run_id, ordinal, position, task_id, kind, trial, attempt, version, live, outcome,
        score, error_class, error_message, output_preview, explanation, metrics, duration_ms, model_ms, tokens_in,
        tokens_out, cost, calls, stop_reason, reused)
    SELECT u.id, %(run)s, u.ordinal, u.position, u.task_id, u.kind, u.trial, u.attempt, 1, true, u.outcome,
        u.score, u.error_class, u.error_message, u.preview, u.explanation, u.metrics::jsonb, u.ms, u.model_ms,
        u.tokens_in, u.tokens_out, u.cost, u.calls, u.stop_reason, false
    FROM unnest(%(r_id)s::text[], %(r_shard)s::int[], %(r_ordinal)s::int[], %(r_position)s::int[],
                %(r_task_id)s::text[], %(r_kind)s::text[], %(r_trial)s::int[], %(r_attempt)s::int[],
                %(r_outcome)s::text[], %(r_score)s::float8[], %(r_error_class)s::text[], %(r_error_message)s::text[],
                %(r_preview)s::text[], %(r_explanation)s::text[], %(r_metrics)s::text[], %(r_ms)s::int[],
                %(r_model_ms)s::int[], %(r_tokens_in)s::int[], %(r_tokens_out)s::int[], %(r_cost)s::bigint[],
                %(r_calls)s::int[], %(r_stop)s::text[])
      AS u (id, shard, ordinal, position, task_id, kind, trial, attempt, outcome, score, error_class, error_message,
            preview, explanation, metrics, ms, model_ms, tokens_in, tokens_out, cost, calls, stop_reason)
    WHERE u.shard IN (SELECT number FROM fence)
    ON CONFLICT DO NOTHING
    RETURNING id, outcome
), e AS (
    SELECT u.type, u.data, row_number() OVER (ORDER BY u.ord) AS n
    FROM unnest(%(e_shard)s::int[], %(e_type)s::text[], %(e_data)s::text[], %(e_result)s::text[])
      WITH ORDINALITY AS u (shard, type, data, result, ord)
    WHERE u.shard IN (SELECT number FROM fence) AND (u.result IS NULL OR u.result IN (SELECT id FROM r))
), tally AS (
    UPDATE runs_run SET
        last_seq = last_seq + (SELECT count(*) FROM e),
        passed = passed + (SELECT count(*) FROM r WHERE outcome = 'passed'),
        failed = failed + (SELECT count(*) FROM r WHERE outcome = 'failed'),
        unscored = unscored + (SELECT count(*) FROM r WHERE outcome = 'unscored'),
        errored = errored + (SELECT count(*) FROM r WHERE outcome = 'errored'),
        skipped = skipped + (SELECT count(*) FROM r WHERE outcome = 'skipped'),
        cost_model = cost_model + (SELECT coalesce(sum(cost), 0) FROM o),
        unpriced_calls = unpriced_calls + (SELECT coalesce(sum(unpriced), 0) FROM o),
        tokens_in = tokens_in + (SELECT coalesce(sum(tokens_in), 0) FROM o),
        tokens_out = tokens_out + (SELECT coalesce(sum(tokens_out), 0) FROM o)
    WHERE id = %(run)s AND EXISTS (SELECT 1 FROM fence)
    RETURNING last_seq
), told AS (
    INSERT INTO runs_runevent (run_id, seq, type, data)
    SELECT %(run)s, tally.last_seq - (SELECT count(*) FROM e) + e.n, e.type, e.data::jsonb FROM e, tally
)
SELECT coalesce((SELECT array_agg(number) FROM fence), '{}')
"""


_NUMERIC = frozenset({
    "o_shard", "o_ordinal", "o_attempt", "o_ms", "r_shard", "r_ordinal", "r_position", "r_trial", "r_attempt",
    "r_score", "r_ms", "r_model_ms", "r_tokens_in", "r_tokens_out", "r_cost", "r_calls", "e_shard", "shards", "fences",
})  # fmt: skip


def _json(value: Any) -> str | None:
    """JSON that jsonb takes: it refuses NUL, which a model may write."""
    if value is None:
        return None
    text = orjson.dumps(value).decode()
    return text.replace("\\u0000", "\\ufffd") if "\\u0000" in text else text


def _numbers(values: Sequence[Any]) -> str:
    """An array literal: one parameter type whatever the values, so that the prepared statement is found again."""
    return "{" + ",".join("NULL" if value is None else str(value) for value in values) + "}"


def _result_event(row: ResultRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "task_id": row.task_id,
        "trial": row.trial,
        "ordinal": row.ordinal,
        "attempt": row.attempt,
        "outcome": row.outcome,
        "passed": True if row.outcome == "passed" else False if row.outcome == "failed" else None,
        "score": row.score,
        "error_class": row.error_class,
        "duration_ms": row.duration_ms,
        "cost": row.facts.get("cost") or 0,
        "tokens_in": row.facts.get("tokens_in", 0),
        "tokens_out": row.facts.get("tokens_out", 0),
    }


def _output_columns(rows: Sequence[OutputRow]) -> dict[str, list[Any]]:
    return {
        "o_shard": [row.shard for row in rows],
        "o_ordinal": [row.ordinal for row in rows],
        "o_attempt": [row.attempt for row in rows],
        "o_output": [row.output for row in rows],
        "o_fault": [_json(row.fault) for row in rows],
        "o_facts": [_json(row.facts) for row in rows],
        "o_ms": [row.duration_ms for row in rows],
    }


def _result_columns(rows: Sequence[ResultRow]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        f"r_{name}": [getattr(row, name) for row in rows]
        for name in (
            "id", "shard", "ordinal", "position", "task_id", "kind", "trial", "attempt", "outcome", "score",
            "error_class", "error_message", "explanation",
        )
    }  # fmt: skip
    facts = [row.facts for row in rows]
    columns["r_preview"] = [row.output_preview for row in rows]
    columns["r_metrics"] = [_json(row.metrics) for row in rows]
    columns["r_ms"] = [row.duration_ms for row in rows]
    columns["r_model_ms"] = [int(fact.get("model_ms") or 0) for fact in facts]
    columns["r_tokens_in"] = [fact.get("tokens_in") or 0 for fact in facts]
    columns["r_tokens_out"] = [fact.get("tokens_out") or 0 for fact in facts]
    columns["r_cost"] = [fact.get("cost") or 0 for fact in facts]
    columns["r_calls"] = [fact.get("calls") or 0 for fact in facts]
    columns["r_stop"] = [fact.get("stop_reason") for fact in facts]
    return columns


def _event_columns(batch: Batch) -> dict[str, list[Any]]:
    told: list[tuple[int, str, dict[str, Any], str | None]] = [
        (row.shard, row.type, row.data, None) for row in batch.events
    ]
    told += [(row.shard, "MaterializeTaskResult", _result_event(row), row.id) for row in batch.results]
    return {
        "e_shard": [row[0] for row in told],
        "e_type": [row[1] for row in told],
        "e_data": [_json(row[2]) for row in told],
        "e_result": [row[3] for row in told],
    }


async def flush(connection: Connection, run: str, phase: str, fences: dict[int, int], batch: Batch) -> set[int]:
    """Write a batch in one autocommit statement.

    ``fences`` maps each shard we hold to our attempt_no. Returns the shards whose fence still held; rows of the others
    were not written. Rows that are already there (an earlier try of the same batch) stay as they are.
    """
    shards = {row.shard for row in batch.outputs} | {row.shard for row in batch.results}
    shards |= {row.shard for row in batch.events}
    mine = sorted(shards & fences.keys())
    parameters: dict[str, Any] = {"run": run, "phase": phase, "shards": mine, "fences": [fences[n] for n in mine]}
    parameters |= _output_columns(batch.outputs) | _result_columns(batch.results) | _event_columns(batch)
    for name in _NUMERIC:
        parameters[name] = _numbers(parameters[name])
    cursor = await connection.execute(_FLUSH, parameters)
    row = await cursor.fetchone()
    return set(row[0]) if row else set()
