"""Carry a run forward: one phase after the other, until it ends or others hold what is left.

May be called by any number of workers at any time, for any run, as often as they like: a message is only a wake-up.
"""

import logging
import threading
from dataclasses import dataclass, field
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from kernel.database import conninfo
from kernel.faults import fault
from runs import events, finishing, limits, states
from runs.context import Context, LeaseLost, PhaseError, run_async
from runs.doorbell import Bell
from runs.driver.base import Asks
from runs.models import Phase, Run, Shard
from runs.phases.base import Phase as Work
from runs.phases.table import PHASES

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Worker:
    """Who works: its name in leases, its doorbell, and how it is told to hand back or to halt the run."""

    owner: str
    bell: Bell
    stopping: threading.Event = field(default_factory=threading.Event)
    halting: threading.Event = field(default_factory=threading.Event)


def advance(run_id: UUID | str, worker: Worker) -> None:
    """Do what this worker can for a run."""
    while not worker.stopping.is_set() and _step(run_id, worker):
        worker.bell.ring(str(run_id))
    worker.bell.ring(str(run_id))


def halt_is_due(run_id: UUID | str) -> bool:
    """Whether somebody asked for a halt that has not happened yet."""
    return Run.objects.filter(id=run_id, status__in=states.ACTIVE, halt_requested__isnull=False).exists()


def _step(run_id: UUID | str, worker: Worker) -> bool:
    """One phase further. False where there is nothing (more) for this worker to do."""
    run = Run.objects.select_related("impl", "subset", "owner").filter(id=run_id, status__in=states.ACTIVE).first()
    if run is None:
        return False
    if run.halt_requested:
        finishing.halt(run)
        return False
    if run.status == "needs_input":
        return False
    if run.status == "queued":
        states.move(run.id, "running", events_after=[("RunStarted", {})], started_at=Now())
    phase = Phase.objects.filter(run=run).exclude(status="completed").order_by("position").first()
    if phase is None:
        finishing.complete(run)
        return False
    work: Work = PHASES[phase.name]()
    if phase.status == "pending":
        _begin(run, phase, work)
    try:
        run_async(_work(run, phase.name, work, worker))
    except Asks as ask:
        _ask(run, phase.name, ask)
        return False
    except PhaseError as error:
        finishing.fail(run, phase.name, error.code, error.message, error.hint, model=error.model)
        return False
    except LeaseLost as loss:
        log.warning("run %s: %s", run.id, loss)
        return False
    return _close(run, phase)


def _begin(run: Run, phase: Phase, work: Work) -> None:
    """Cut the phase into shards and say that it has started: once, whoever comes first."""
    with transaction.atomic():
        mine = Phase.objects.filter(id=phase.id, status="pending").update(
            status="running", attempt=phase.attempt + 1, started_at=Now()
        )
        if not mine:
            return
        Shard.objects.bulk_create(
            Shard(run=run, phase=phase.name, number=number, start=start, stop=stop)
            for number, (start, stop) in enumerate(work.shards(run))
        )
        events.append(run.id, [("PhaseStarted", {"phase": phase.name, "attempt": phase.attempt + 1})])


def _ask(run: Run, phase: str, ask: Asks) -> None:
    """Wait for the owner's word where the launch said that somebody is there to give it; else the run fails."""
    if run.metadata.get("autonomous") is not False:
        finishing.fail(run, phase, ask.code, str(ask.question["question"]), ask.hint, ask.question.get("choices") or ())
        return
    asked = {"phase": phase, "code": ask.code, "hint": ask.hint, **ask.question}
    # Whoever may see the run sees its events; what it asks may name what only its owner may see.
    told = {"phase": phase, "code": ask.code, "message": "The run waits for its owner's word."}
    states.move(run.id, "needs_input", events_after=[("InputNeeded", told)], asked=asked)


async def _work(run: Run, phase: str, work: Work, worker: Worker) -> None:
    context = Context(
        run=run,
        phase=phase,
        owner=worker.owner,
        ceilings=limits.narrowed(limits.parse(run.limits), run.sut.get("limits")),
        lease_seconds=settings.LEASE_SECONDS,
        stopping=worker.stopping,
        halting=worker.halting,
        bell=worker.bell,
        conninfo=conninfo(),
    )
    async with context:
        await work.work(context)


def _close(run: Run, phase: Phase) -> bool:
    """Complete the phase if all its shards are done; True where the run can go on at once."""
    if Run.objects.filter(id=run.id, halt_requested__isnull=False, status__in=states.ACTIVE).exists():
        return True
    if finishing.unfinished(run, phase.name):
        return False
    fault("P7")
    with transaction.atomic():
        done = Phase.objects.filter(id=phase.id, status="running").update(status="completed", finished_at=Now())
        if done:
            events.append(run.id, [("PhaseCompleted", {"phase": phase.name, "attempt": phase.attempt or 1})])
    fault("P8")
    return True
