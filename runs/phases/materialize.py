"""Materialize: every planned cell is run and ends in exactly one outcome. The harness drives it."""

from collections.abc import Sequence

from runs.context import Context
from runs.harnesses.benchwright.probing import probes
from runs.harnesses.table import HARNESSES
from runs.models import Run

# Small enough that the guide's own extract, which reads the whole file for each row, stays cheap, and that several
# workers can share a run; large enough that leases cost nothing.
SHARD_TASKS = 100
LEAST_SHARDS = 4


class Materialize:
    def shards(self, run: Run) -> Sequence[tuple[int, int]]:
        size = max(1, min(SHARD_TASKS, -(-run.task_count // LEAST_SHARDS)))
        if probes.come_first(run):  # one shard holds them all
            size = max(size, probes.PROBES)
        return [(start, min(start + size, run.task_count)) for start in range(0, run.task_count, size)]

    async def work(self, context: Context) -> None:
        await HARNESSES[context.run.harness]().materialize(context)
