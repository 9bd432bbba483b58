"""Atomize: the scorer. One that exists and may be used, or one that the driver authors and that proves itself first."""

from registry import queries as registry
from registry.models import Impl
from runs.context import Context
from runs.driver.table import driver_of
from runs.phases.solo import Done, Solo


class Atomize(Solo):
    async def do(self, context: Context) -> Done:
        run = context.run
        found = run.findings  # of a fork of a run that was launched without words: nothing
        scorer = await driver_of(run).atomize(context, found.get("find", {}), found.get("analyze", {}))
        impl = await context.orm(lambda: Impl.objects.get(pk=scorer.impl_id))
        own = await context.orm(registry.is_own_impl, run.owner, impl)
        doc = {**scorer.doc, "impl": impl.pk, "reused": scorer.reused}
        return Done(doc, {"impl_id": impl.pk, "foreign_impl": not own})
