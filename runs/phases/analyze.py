"""Analyze: from a source to a subset that can run, and the plan. Here the denominator is fixed."""

from registry.models import Subset
from runs import launch_options, limits, plan
from runs.context import Context
from runs.driver.table import driver_of
from runs.phases.solo import Done, Solo


class Analyze(Solo):
    async def do(self, context: Context) -> Done:
        run = context.run
        rows = await driver_of(run).analyze(context, run.findings["find"])
        subset = await context.orm(lambda: Subset.objects.get(pk=rows.subset_id))
        asked = rows.doc.get("limit", run.findings["find"].get("limit"))
        caps = (limits.parse(run.limits).run.tasks, launch_options.metadata_cap(run.metadata), asked)
        if rows.positions is not None:
            positions: list[int] | None = plan.sliced(rows.positions, *caps)
            tasks = len(positions or ())
        else:
            positions, tasks = None, plan.capped(rows.tasks, *caps)
        doc = {**rows.doc, "tasks": tasks, "cells": plan.cells(tasks, run.trials)}
        return Done(
            doc,
            {
                "benchmark_id": subset.benchmark_id,
                "subset_id": subset.pk,
                "subset_revision": rows.revision,
                "task_count": tasks,
                "task_positions": positions,
                "planned": plan.cells(tasks, run.trials),
            },
        )
