"""Materialize by our own harness: open the sandbox, connect it to the gateway, let the engine work."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from django.conf import settings

from accounts.principal import Principal
from kernel.errors import DomainError
from kernel.faults import fault
from registry import graders
from runs import gateway_keys, suts
from runs.artifacts.keeping import Keeping
from runs.compute import runtime
from runs.compute.base import Compute, ComputeFault, Roles, RolesSpec, ScorerFault, WayOut
from runs.compute.table import COMPUTE
from runs.context import Context, LeaseLost, PhaseError
from runs.driver.asking import CLAIMED, Asker
from runs.forking.reuse import rescores
from runs.gateway_client import LeaseRefused
from runs.harnesses.benchwright.engine import Engine
from runs.harnesses.benchwright.feeding.intake import Intake
from runs.harnesses.benchwright.feeding.loading import Extracted
from runs.harnesses.benchwright.line import Door, Line, NoLine
from runs.harnesses.benchwright.rows import scorer_broken
from runs.harnesses.benchwright.telling.pulse import Halted

log = logging.getLogger(__name__)
IDLE = "from bench_task import BenchTask\n\n\nclass Task(BenchTask):\n    pass\n"
SCORE_SECONDS = 60.0  # one score() call; a shorter limits.attempt.duration bounds it too


class Benchwright:
    async def materialize(self, context: Context) -> None:
        impl = context.run.impl
        if impl is None:
            raise PhaseError("impl_unavailable", "The run has no scorer.")
        door = None if rescores(context.run) else await _door(context)
        roles = await self._open(context, _spec(context, await _way_out(door)))
        try:
            if not roles.sandboxed:
                await context.control.execute("UPDATE runs_run SET unsandboxed = true WHERE id = %s", [context.run.id])
            made = await asyncio.to_thread(runtime.ensure)
            kept = Extracted(settings.DATA_DIR / "cache" / "extract", impl.code_sha256, made.sha256)
            await self._work(context, roles, kept, door)
        except Halted as halt:
            log.info("run %s stops: %s", context.run.id, halt)
        finally:
            await roles.close()

    async def _open(self, context: Context, spec: RolesSpec) -> Roles:
        """Refuses scorers where the sandbox's own test found a way out of it."""
        compute: Compute = COMPUTE[context.run.backend]()
        test = await compute.self_test()
        if not test.ok:
            broken = "; ".join(test.failures())
            raise PhaseError(
                "sandbox_unavailable",
                f"The sandbox of this machine does not hold, so no scorer was run. {broken}"[:1000],
                "Run `manage.py doctor` on the worker's machine; it says what is missing and how to add it.",
            )
        fault("P3")
        try:
            roles = await compute.open(spec)
            fault("P4")
            return roles
        except ComputeFault as error:
            if await self._starts_without(compute, spec):
                lost = {"class": "sandbox", "message": f"it ended or hung while it was loaded ({error})"}
                raise scorer_broken(ScorerFault("solve", lost)) from error
            raise PhaseError("sandbox_unavailable", str(error), "Run `manage.py doctor` on the worker.") from error
        except ScorerFault as error:
            raise scorer_broken(error) from error

    async def _starts_without(self, compute: Compute, spec: RolesSpec) -> bool:
        """Whether the sandbox starts with a scorer that does nothing: then it is the scorer that does not."""
        try:
            roles = await compute.open(replace(spec, code=IDLE))
        except (ComputeFault, ScorerFault):
            return False
        await roles.close()
        return True

    async def _work(self, context: Context, roles: Roles, kept: Extracted, door: Door | None) -> None:
        line = NoLine(str(context.run.id)) if rescores(context.run) else Line(str(context.run.id), door)
        others_go_on = False
        try:
            keeping = Keeping(context)
            intake = Intake(context, roles, kept, keeping)
            async with _judge(context) as judge:
                engine = Engine(context, roles, intake, line, keeping, judge)
                line.on_retry, line.on_revoked = engine.retried, engine.revoked
                await line.open(roles.listener, roles.egress_listener)
                await engine.run()
            others_go_on = True  # where anything is under way, we were told to stop
        except LeaseLost:
            others_go_on = True
            raise
        finally:
            await line.close(keep_calls=others_go_on)


@asynccontextmanager
async def _judge(context: Context) -> AsyncIterator[Asker | None]:
    """The judge that the run's scorer asks; None where it asks none. PhaseError where it can't be asked."""
    run = context.run
    asked = suts.judge(run.impl.judge if run.impl else None, run.phase_models)
    if asked is None:
        yield None
        return
    try:
        bound = await context.orm(suts.bind, Principal(run.owner, frozenset(), ""), asked)
        async with Asker(str(run.id), gateway_keys.JUDGE, bound, CLAIMED) as asker:
            yield asker
    except LeaseRefused as refusal:
        raise PhaseError(refusal.code, f"The judge {asked.model}: {refusal.detail}", _JUDGE_HINT) from None
    except DomainError as refusal:
        raise PhaseError(refusal.code, f"The judge {asked.model}: {refusal.detail}", _JUDGE_HINT) from None


_JUDGE_HINT = "Add a secret for the judge's provider, or name another judge at launch: phase_models={'judge': …}."


async def _door(context: Context) -> Door | None:
    """The run's way to hosts on the network. Where nothing opens one, what is tried there is seen all the same."""
    run = context.run
    if run.impl is not None and run.impl.grader is not None:
        return None  # our own code, which asks the model and nobody else
    return Door(eager=bool(run.impl is not None and run.impl.network))


def _spec(context: Context, way_out: WayOut | None) -> RolesSpec:
    run, impl = context.run, context.run.impl
    assert impl is not None
    ours = None if impl.grader is None else graders.judging(impl.grader)
    seconds = SCORE_SECONDS if ours is None else ours.seconds
    return RolesSpec(
        run_id=str(run.id),
        code=impl.code,
        trusted=ours is not None and not ours.runs_code,
        isolation="task" if ours is not None and ours.runs_code else impl.isolation,
        memory_mb=RolesSpec.memory_mb + (ours.memory_mb if ours else 0),
        model=run.sut["model"],
        concurrency=run.concurrency,
        way_out=way_out,
        score_seconds=min(seconds, context.ceilings.attempt.duration or seconds),
    )


async def _way_out(door: Door | None) -> WayOut | None:
    """What the sandbox is told of it. PhaseError where this installation has no authority yet."""
    if door is None:
        return None
    try:
        return WayOut(door.token, await asyncio.to_thread(runtime.trust, settings.EGRESS_CERTIFICATE))
    except OSError as error:
        if not door.eager:
            log.warning("no way out for a run that may not need one: %s can't be read", settings.EGRESS_CERTIFICATE)
            return None
        raise PhaseError(
            "egress_unavailable",
            f"{settings.EGRESS_CERTIFICATE} can't be read ({error.strerror}), so sandboxes would trust nobody.",
            "Run `manage.py prepare`, which makes it.",
        ) from error
