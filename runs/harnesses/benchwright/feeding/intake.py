"""From a leased shard to cells: rows, what is already known of them, and what extract makes of them."""

import asyncio
import json
import logging
from typing import Any

from registry import queries as registry
from runs.artifacts.keeping import Keeping
from runs.compute.base import Death, RoleDead, Roles
from runs.context import Context, PhaseError
from runs.forking.reuse import rescores, take_over
from runs.harnesses.benchwright.cells import Cell, Past, Piece
from runs.harnesses.benchwright.feeding.loading import Extracted, past_of, rows_of
from runs.leases import Lease

log = logging.getLogger(__name__)
EXTRACT_TRIES = 3
EXTRACT_SECONDS = 120.0


class Intake:
    """Loads shards. Extract is a sandbox role like the others."""

    def __init__(self, context: Context, roles: Roles, kept: Extracted, keeping: Keeping) -> None:
        self._context, self._roles, self._kept = context, roles, kept
        self._keeping = keeping
        self._replies: dict[int, tuple[asyncio.Future[None], dict[int, dict[str, Any]], int]] = {}
        self._attach()

    def _attach(self) -> None:
        self._roles.extract.on_messages = self._take
        self._roles.extract.on_death = self._died

    async def load(self, lease: Lease) -> tuple[Piece, Past]:
        """The shard's cells that have no result yet, in order, with what earlier workers left of them.

        Raises PhaseError where extract can't be run at all; LeaseLost.
        """
        context = self._context
        rows = await context.orm(rows_of, context.run, lease)
        if len(rows) != lease.stop - lease.start:
            raise PhaseError("subset_changed", "The subset no longer holds the tasks that this run was launched on.")
        reused = rescores(context.run)
        kept = await take_over(context, lease) if reused else {}
        past = await past_of(context.control, context.run, lease)
        past.kept = kept
        plain = [json.loads(row.row_text) for row in rows]
        items = await self._extract(lease.number, [row.row_text for row in rows])
        changed = {
            row.position: {"input": item.get("input"), "expected": item.get("expected")}
            for row, item, given in zip(rows, items, plain, strict=True)
            if "error" not in item and _differs(item, given)
        }
        if changed:
            self._keeping.extracted(lease.number, changed)
        trials = context.run.trials
        cells = []
        for index, (row, item) in enumerate(zip(rows, items, strict=True)):
            for trial in range(trials):
                ordinal = (lease.start + index) * trials + trial
                if ordinal not in past.done:
                    cell = _cell(ordinal, lease.number, index, trial, row, item)
                    cell.kind, cell.claim = registry.kind_of(plain[index]), lease.attempt_no
                    cell.reused = reused
                    cells.append(cell)
        return Piece(lease, cells, len(cells)), past

    async def _extract(self, shard: int, rows: list[str]) -> list[dict[str, Any]]:
        kept = await asyncio.to_thread(self._kept.load, rows)
        if kept is not None:
            return kept
        for attempt in range(EXTRACT_TRIES):
            try:
                items = await self._ask(shard, rows)
            except (ConnectionError, TimeoutError, RoleDead) as error:
                log.warning("extract failed for shard %s, try %s: %s", shard, attempt + 1, error)
                self._roles.extract.kill()
                await self._roles.restart("extract")
                self._attach()
                continue
            if not any("error" in item for item in items):
                await asyncio.to_thread(self._kept.keep, rows, items)
            return items
        told = {"class": "sandbox_dead", "message": "extract() ended its sandbox or did not come to an end"}
        return [{"index": index, "error": told} for index in range(len(rows))]

    async def _ask(self, shard: int, rows: list[str]) -> list[dict[str, Any]]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        items: dict[int, dict[str, Any]] = {}
        self._replies[shard] = (future, items, len(rows))
        try:
            self._roles.extract.send([{"op": "rows", "shard": shard, "rows": rows}])
            async with asyncio.timeout(EXTRACT_SECONDS):
                await future
        finally:
            del self._replies[shard]
        return [items[index] for index in range(len(rows))]

    def _take(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            waiting = self._replies.get(message.get("shard", -1))
            if waiting is None:
                continue
            future, items, total = waiting
            items.update((item["index"], item) for item in message["items"])
            if len(items) == total and not future.done():
                future.set_result(None)

    def _died(self, death: Death) -> None:
        for future, _, _ in self._replies.values():
            if not future.done():
                future.set_exception(ConnectionError(f"extract ended: {death.reason} {death.detail}"))


def _differs(item: dict[str, Any], given: dict[str, Any]) -> bool:
    """Whether solve and score are given something else than the uploaded row says."""
    return bool(item.get("input") != given.get("input") or item.get("expected") != given.get("expected"))


def _cell(ordinal: int, shard: int, index: int, trial: int, row: registry.TaskRow, item: dict[str, Any]) -> Cell:
    """The host checks the id that extract returned: an extract that mixes up rows must not score one by another."""
    cell = Cell(ordinal, shard, index, row.position, row.task_id, trial, "", item.get("input"), item.get("expected"))
    if "error" in item:
        cell.fault = dict(item["error"])
    elif item.get("task_id", row.task_id) != row.task_id:
        said = f"extract() returned task_id {item.get('task_id')!r} for the row of {row.task_id!r}"
        cell.fault = {"class": "ValueError", "message": said[:500]}
    return cell
