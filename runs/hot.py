"""The one statement of the hot path: outputs, results, events and tallies of a batch, fenced, in one round trip.

Raw SQL on purpose: the ORM would cost ten times as much per row. tests/runs/test_hot.py holds it against the models.
"""

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
    reused: bool = False  # of an output that another run paid for
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
    JOIN json_to_recordset(%(fences)s::json) AS mine (number int, attempt_no int)
      ON s.number = mine.number AND s.attempt_no = mine.attempt_no
    WHERE s.run_id = %(run)s AND s.phase = %(phase)s AND s.status = 'leased'
    FOR SHARE OF s
), o AS (
    INSERT INTO runs_output (run_id, ordinal, attempt, output, fault, facts, duration_ms)
    SELECT %(run)s, u.ordinal, u.attempt, u.output, u.fault, u.facts, u.ms
    FROM json_to_recordset(%(outputs)s::json)
      AS u (shard int, ordinal int, attempt int, output text, fault jsonb, facts jsonb, ms int)
    WHERE u.shard IN (SELECT number FROM fence)
    ON CONFLICT DO NOTHING
    RETURNING (facts->>'cost')::bigint - coalesce((facts->>'cost_reused')::bigint, 0) AS cost,
              (facts->>'unpriced')::int AS unpriced,
              CASE WHEN facts->>'reused' = facts->>'calls' THEN 0 ELSE (facts->>'tokens_in')::bigint END AS tokens_in,
              CASE WHEN facts->>'reused' = facts->>'calls' THEN 0 ELSE (facts->>'tokens_out')::bigint END AS tokens_out
), r AS (
    INSERT INTO runs_taskresult (id, run_id, ordinal, position, task_id, kind, trial, attempt, version, live, outcome,
        score, error_class, error_message, output_preview, explanation, metrics, duration_ms, model_ms, tokens_in,
        tokens_out, cost, unpriced, calls, stop_reason, reused)
    SELECT u.id, %(run)s, u.ordinal, u.position, u.task_id, u.kind, u.trial, u.attempt, 1, true, u.outcome,
        u.score, u.error_class, u.error_message, u.preview, u.explanation, u.metrics, u.ms, u.model_ms,
        u.tokens_in, u.tokens_out, u.cost, u.unpriced, u.calls, u.stop, u.reused
    FROM json_to_recordset(%(results)s::json)
      AS u (id text, shard int, ordinal int, position int, task_id text, kind text, trial int, attempt int,
            outcome text, score float8, error_class text, error_message text, preview text, explanation text,
            metrics jsonb, ms int, model_ms int, tokens_in int, tokens_out int, cost bigint, unpriced int, calls int,
            stop text, reused bool)
    WHERE u.shard IN (SELECT number FROM fence)
    ON CONFLICT DO NOTHING
    RETURNING id, outcome
), e AS (
    SELECT u.type, u.data, row_number() OVER (ORDER BY u.n) AS n
    FROM json_to_recordset(%(events)s::json) AS u (n int, shard int, type text, data jsonb, result text)
    WHERE u.shard IN (SELECT number FROM fence) AND (u.result IS NULL OR u.result IN (SELECT id FROM r))
      AND NOT (%(again)s AND EXISTS (
          SELECT 1 FROM runs_runevent told WHERE told.run_id = %(run)s AND told.type = u.type AND told.data = u.data))
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
    SELECT %(run)s, tally.last_seq - (SELECT count(*) FROM e) + e.n, e.type, e.data FROM e, tally
)
SELECT coalesce((SELECT array_agg(number) FROM fence), '{}')
"""


def _json(rows: list[dict[str, Any]]) -> str:
    """One parameter for many rows: psycopg's own arrays cost five times as much. PostgreSQL refuses NUL."""
    text = orjson.dumps(rows).decode()
    return text.replace("\\u0000", "\\ufffd") if "\\u0000" in text else text


def _result_event(row: ResultRow) -> dict[str, Any]:
    unpriced = bool(row.facts.get("unpriced"))
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
        "cost": row.facts.get("cost") or (None if unpriced else 0),
        "unpriced": unpriced,
        "tokens_in": row.facts.get("tokens_in", 0),
        "tokens_out": row.facts.get("tokens_out", 0),
        **({"reused": True} if row.reused else {}),
    }


def _output(row: OutputRow) -> dict[str, Any]:
    return {
        "shard": row.shard,
        "ordinal": row.ordinal,
        "attempt": row.attempt,
        "output": row.output,
        "fault": row.fault,
        "facts": row.facts,
        "ms": row.duration_ms,
    }


def _result(row: ResultRow) -> dict[str, Any]:
    facts = row.facts
    return {
        "id": row.id,
        "shard": row.shard,
        "ordinal": row.ordinal,
        "position": row.position,
        "task_id": row.task_id,
        "kind": row.kind,
        "trial": row.trial,
        "attempt": row.attempt,
        "outcome": row.outcome,
        "score": row.score,
        "error_class": row.error_class,
        "error_message": row.error_message,
        "preview": row.output_preview,
        "explanation": row.explanation,
        "metrics": row.metrics,
        "ms": row.duration_ms,
        "model_ms": int(facts.get("model_ms") or 0),
        "tokens_in": facts.get("tokens_in") or 0,
        "tokens_out": facts.get("tokens_out") or 0,
        "cost": facts.get("cost") or 0,
        "unpriced": facts.get("unpriced") or 0,
        "calls": facts.get("calls") or 0,
        "stop": facts.get("stop_reason"),
        "reused": row.reused,
    }


def _events(batch: Batch) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [
        {"n": n, "shard": row.shard, "type": row.type, "data": row.data, "result": None}
        for n, row in enumerate(batch.events)
    ]
    told += [
        {"n": n, "shard": row.shard, "type": "MaterializeTaskResult", "data": _result_event(row), "result": row.id}
        for n, row in enumerate(batch.results, len(told))
    ]
    return told


async def flush(
    connection: Connection, run: str, phase: str, fences: dict[int, int], batch: Batch, *, again: bool = False
) -> set[int]:
    """Write a batch in one autocommit statement.

    ``fences`` maps each shard we hold to our attempt_no. Returns the shards whose fence still held; rows of the others
    were not written. Rows that are already there (an earlier try of the same batch) stay as they are; ``again`` = there
    was such a try and nobody knows whether it was committed, so events that are there are not told again either.
    """
    shards = {row.shard for row in batch.outputs} | {row.shard for row in batch.results}
    shards |= {row.shard for row in batch.events}
    mine = sorted(shards & fences.keys())
    parameters = {
        "run": run,
        "phase": phase,
        "again": again,
        "fences": _json([{"number": number, "attempt_no": fences[number]} for number in mine]),
        "outputs": _json([_output(row) for row in batch.outputs]),
        "results": _json([_result(row) for row in batch.results]),
        "events": _json(_events(batch)),
    }
    cursor = await connection.execute(_FLUSH, parameters)
    row = await cursor.fetchone()
    return set(row[0]) if row else set()
