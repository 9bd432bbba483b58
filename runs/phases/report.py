"""Report: settle the cost with the journal, freeze the summary of the whole run, and make its report."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from kernel import strict_json
from runs import finishing, queries
from runs.context import Context
from runs.models import Run
from runs.reporting import storing

_STORE = """
UPDATE runs_run SET summary = %s::jsonb
WHERE id = %s AND EXISTS (
    SELECT 1 FROM runs_shard
    WHERE run_id = %s AND phase = 'report' AND number = 0 AND attempt_no = %s AND status = 'leased' FOR SHARE
)
"""


class Report:
    def shards(self, run: Run) -> Sequence[tuple[int, int]]:
        return [(0, run.task_count)]

    async def work(self, context: Context) -> None:
        for lease in await context.leases.claim(1):
            summary = await context.orm(_summary, context.run.id)
            run = str(context.run.id)
            await context.control.execute(_STORE, [strict_json.dumps(summary).decode(), run, run, lease.attempt_no])
            await context.orm(_report, context.run.id)
            await context.leases.finish(lease.number)


def _report(run_id: UUID) -> None:
    storing.at_the_end(Run.objects.select_related("benchmark", "impl", "subset").get(id=run_id))


def _summary(run_id: UUID) -> dict[str, Any]:
    finishing.settle(run_id)
    return queries.summary(Run.objects.get(id=run_id))
