"""One worker at work on one run's cells: solve → facts → store the output → score → store the result."""

import asyncio
import logging
from typing import Any

from kernel.faults import fault
from runs import results
from runs.artifacts.keeping import Keeping
from runs.compute.base import Roles
from runs.context import Context, LeaseLost, PhaseError
from runs.driver.asking import Asker
from runs.forking.reuse import missing
from runs.harnesses.benchwright.cells import Cell, Past, Piece
from runs.harnesses.benchwright.crew import Crew
from runs.harnesses.benchwright.deadlines import Deadlines, time_limit
from runs.harnesses.benchwright.feeding.intake import Intake
from runs.harnesses.benchwright.judging.judge import Judge
from runs.harnesses.benchwright.line import Line
from runs.harnesses.benchwright.probing.probes import SHARD, Probes
from runs.harnesses.benchwright.rows import output_row, result_row
from runs.harnesses.benchwright.scoring import WINDOW, Scoring
from runs.harnesses.benchwright.settling import Settling
from runs.harnesses.benchwright.solving import Solving
from runs.harnesses.benchwright.telling.bills import Bills, as_level
from runs.harnesses.benchwright.telling.progress import PROGRESS_SECONDS, Progress
from runs.harnesses.benchwright.telling.pulse import CeilingReached, Halted, Pulse, beat_seconds
from runs.harnesses.benchwright.works import Works
from runs.harnesses.benchwright.writer import Writer
from runs.hot import Batch, EventRow

log = logging.getLogger(__name__)
DRAIN_SECONDS = 20.0
CUT_SECONDS = 5.0  # for answers in hand when somebody halts the run
TICK_SECONDS = 0.1


class Engine:
    """Runs until no shard of the phase is free, the run is halted, or our leases are lost."""

    def __init__(
        self, context: Context, roles: Roles, intake: Intake, line: Line, keeping: Keeping, judge: Asker | None = None
    ) -> None:
        """``judge``: the model that the scorer asks about each output, where it has one."""
        self._context, self._intake, self._line = context, intake, line
        self._keeping = keeping
        self._works = Works()
        self._spawn, self._wake = self._works.spawn, self._works.wake
        attempt_seconds, limit = time_limit(context.ceilings)
        self._settling = Settling(line, self._spawn, self._settled, limit)
        self._solving = Solving(line.key, self._told_start, self._settling.add, attempt_seconds)
        self._scoring = Scoring(self._scored, self._ask_judge if judge else None)
        self._writer = Writer(context, self._written)
        self._pulse = Pulse(context)
        self._bills = Bills(context.ceilings)
        self._probes = Probes(context)
        self._pieces: dict[int, Piece] = {}
        self._finishing: set[int] = set()
        self._stored: dict[tuple[int, int], Cell] = {}  # outputs on their way to the database, then to score
        self._crew = Crew(roles, line, keeping, self._spawn, self._wake.set)
        self._deadlines = Deadlines(line, self._solving, self._scoring)
        self._progress = Progress(line, self._pulse, self._solving, context.run.sut)
        self._over: tuple[float, str, bool] | None = None  # (until, halt reason, asked by us): start nothing more
        self._warned = False
        self._claiming = self._none_free = False
        if judge:
            self._judge = Judge(judge, context.run.concurrency, self._spawn, self._judged, self._unjudged, self._paid)
        self._most_attempts = context.ceilings.task.attempts or results.MAX_ATTEMPTS
        self._threshold = context.run.impl.pass_threshold if context.run.impl else 1.0

    # -- running ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Raises PhaseError, LeaseLost, Halted."""
        self._crew.attach(self._solving, self._scoring)
        self._spawn(self._writer.run())
        self._spawn(self._keeping.run())
        self._spawn(self._beat())
        self._spawn(self._deadlines.watch())
        self._spawn(self._report())
        self._spawn(self._tick())
        try:
            await self._loop()
        finally:
            await self._works.close()
            await self._keeping.close()

    async def _loop(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            if self._works.failure is not None:
                raise self._works.failure
            if self._context.stopping.is_set():
                return await self._hand_back()
            if self._context.halting.is_set() and self._over is None:
                self._cut("halt")
            if self._over is not None:
                await self._wind_down(*self._over)
            if self._over is None and not (self._claiming or self._none_free) and self._is_low():
                self._claiming = True
                self._spawn(self._claim())
            if self._over is None and not self._writer.full and not self._context.leases.stale:
                suspect = self._solving.feed(clock())
                if suspect is not None:
                    self._spawn(self._start_alone(suspect))
            self._scoring.feed(clock())
            self._let_others_begin(clock())
            if self._none_free and not (self._claiming or self._pieces):
                return None
            await self._wake.wait()
            self._wake.clear()

    def _cut(self, reason: str) -> None:
        """Somebody halts the run: calls in flight are given up, answers in hand are still scored."""
        self._over = (asyncio.get_running_loop().time() + CUT_SECONDS, reason, False)
        self._crew.cut()

    def _close_to(self, reason: str) -> None:
        """A ceiling is reached: what runs is paid for, so it may end, and is scored."""
        if self._over is None:
            self._over = (asyncio.get_running_loop().time() + DRAIN_SECONDS, reason, True)
            self._wake.set()

    async def _wind_down(self, until: float, reason: str, ours: bool) -> None:
        """Raises Halted once everything in hand has its outcome, or time is up."""
        in_hand = self._solving.running or self._settling.under_way or self._stored or not self._scoring.empty
        if (in_hand or not self._writer.idle) and asyncio.get_running_loop().time() < until:
            return
        if ours:
            await self._pulse.ask_to_halt(reason)
        raise Halted(reason)

    async def _tick(self) -> None:
        """Back-offs end and work is looked for even when nothing else happens."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self._wake.set()

    async def _hand_back(self) -> None:
        """Told to stop: finish what runs, give the rest back. Nothing counts against a task."""
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while self._solving.running or self._settling.under_way or self._stored or not self._scoring.empty:
                    self._scoring.feed(asyncio.get_running_loop().time())
                    await asyncio.sleep(TICK_SECONDS)
        except TimeoutError:
            log.info("handing back with %s cells unfinished", len(self._solving.running))
        await self._writer.drain()
        await self._context.leases.release()

    # -- taking shards ------------------------------------------------------------------------------------------------

    def _let_others_begin(self, now: float) -> None:
        """Once enough of the first cells have ended."""
        if self._over is None and self._probes.due(now):
            self._spawn(self._measure())

    async def _measure(self) -> None:
        """What the first cells tell is stored, and the others may begin."""
        self._solving.ready.extend(await self._probes.measure())
        self._wake.set()

    def _is_low(self) -> bool:
        if self._probes.on:
            return False
        few = self._solving.waiting < 2 * self._solving.slots and self._scoring.waiting < WINDOW
        return few and not self._writer.full

    async def _claim(self) -> None:
        """Lease and load more shards while the others are worked on; sets ``none_free`` where there are none."""
        try:
            await self._claim_some()
        finally:
            self._claiming = False
            self._wake.set()

    async def _claim_some(self) -> None:
        wanted = max(1, min(4, -(-2 * self._solving.slots // 100)))
        claim = self._context.leases.claim
        leases = await (claim(1, last=SHARD) if await self._probes.wanted() else claim(wanted))
        fault("P1")
        self._none_free = not leases
        self._solving.slots = await self._pulse.slots()
        for lease in leases:
            piece, past = await self._intake.load(lease)
            self._pieces[lease.number] = piece
            self._probes.begin(lease, past.done)
            for cell in piece.cells:
                self._place(cell, past, lost=lease.lost)
            if lease.lost and lease.attempt_no > 2:  # again: it may die of what ends it before its start is stored
                self._solving.suspect(lease.number)
            if not piece.cells:
                await self._complete(lease.number)
            self._wake.set()
        fault("P2")

    def _place(self, cell: Cell, past: Past, *, lost: bool) -> None:
        """Where a cell goes on: scored if its output is stored, alone if it may have killed a worker, else solved."""
        stored, started = past.stored.get(cell.ordinal), past.started.get(cell.ordinal, 0)
        cell.faults = past.faults.get(cell.ordinal, 0)
        cell.attempt = max(started, stored.attempt if stored else 0)
        if cell.ordinal in past.kept:
            self._writer.add(past.kept[cell.ordinal])
        elif cell.reused and stored is None:
            raise missing(cell.ordinal)
        elif cell.fault is not None:  # extract failed
            infra = cell.fault.get("class") == "sandbox_dead"
            told = f"extract: {results.told(cell.fault)}"
            self._end(cell, results.Ending(results.UNSCORED, "scorer_exception", told))
            if infra:
                log.warning("extract is dead for shard %s", cell.shard)
        elif stored is not None and stored.attempt >= started:
            cell.attempt, cell.output, cell.fault = stored.attempt, stored.output, stored.fault
            cell.facts, cell.solve_ms, cell.faults = stored.facts, stored.duration_ms, cell.faults - 1
            self._go_on(cell, results.after_solve(cell.fault, cell.facts), stored=True)
        elif lost and started:
            cell.faults = max(cell.faults + 1, started)  # each start that came to nothing was an attempt
            if cell.faults >= self._most_attempts:
                self._end(cell, results.errored("worker_lost", "Each worker that ran this task was lost.", retry=False))
            else:
                self._solving.suspects.append(cell)
        elif not self._probes.holds(cell):
            self._solving.ready.append(cell)

    # -- solve --------------------------------------------------------------------------------------------------------

    async def _start_alone(self, cell: Cell) -> None:
        """A suspect starts only once the database knows: if it kills us, the next worker counts that."""
        self._solving.running[cell.ordinal] = cell  # hold the floor while the mark is stored
        self._writer.add(EventRow(cell.shard, "MaterializeTaskStarted", {**cell.label(), "attempt": cell.attempt + 1}))
        await self._writer.drain()
        self._solving.running.pop(cell.ordinal, None)
        if cell.shard not in self._pieces:
            return  # its lease was lost in the meantime: it is another worker's now
        if self._solving.role is None:
            self._solving.suspects.appendleft(cell)
            return
        self._alone = cell
        self._solving.start([cell], asyncio.get_running_loop().time())

    _alone: Cell | None = None

    def _told_start(self, cell: Cell) -> None:
        cell.lease = self._line.lease
        if cell is self._alone:
            self._alone = None
            return
        self._writer.add(EventRow(cell.shard, "MaterializeTaskStarted", cell.label()))

    def _settled(self, cells: list[Cell]) -> None:
        for cell in cells:
            self._progress.ended(cell)
            if cell.shard in self._pieces:
                self._go_on(cell, results.after_solve(cell.fault, cell.facts), stored=False)
                self._watch_spending(cell.facts)

    def _watch_spending(self, account: dict[str, Any]) -> None:
        if self._pulse.spend(account):
            breach = self._pulse.breach()
            self._close_to(f"limit_exceeded:{breach}")
        bounded = self._pulse.cost_ceiling()
        if account.get("unpriced") and bounded and not self._warned and self._pieces:
            self._warned = True
            told = "The provider reports no cost for this model and no price is known, so this ceiling can't stop it."
            self._writer.add(EventRow(next(iter(self._pieces)), "LimitWarning", {"limit": bounded, "message": told}))

    def _go_on(self, cell: Cell, ending: results.Ending | None, *, stored: bool) -> None:
        """What follows from solve: score, another attempt, or the end."""
        breach = None if cell.reused else self._breach(cell)
        if breach and breach != "task.duration":
            ending = results.Ending(results.SKIPPED, "budget", f"{breach} was reached by this task")
        if not stored:
            self._writer.add(output_row(cell))
        if ending is None:
            self._stored[cell.ordinal, cell.attempt] = cell
            if stored:
                self._to_score(cell)
        elif (
            ending.retry
            and not cell.reused
            and not cell.facts.get("final")
            and cell.faults + 1 < self._most_attempts
            and not breach
        ):
            cell.faults += 1
            self._solving.retry_later(cell)
        else:
            self._end(cell, ending)
        self._wake.set()

    def _breach(self, cell: Cell) -> str | None:
        """The ceiling of a task or an attempt that this one has reached."""
        level = as_level(cell.facts)
        ceilings, stopped = self._context.ceilings, self._bills.stopped.pop((cell.ordinal, cell.attempt), None)
        reached = ceilings.breach("task", {**level, "duration": cell.solve_ms / 1000})
        return reached or ceilings.breach("attempt", level) or stopped

    # -- score --------------------------------------------------------------------------------------------------------

    def _to_score(self, cell: Cell) -> None:
        self._stored.pop((cell.ordinal, cell.attempt), None)
        self._scoring.ready.append(cell)

    def _scored(self, cell: Cell, verdict: dict[str, Any]) -> None:
        self._end(cell, results.after_score(verdict, cell.output, cell.facts, self._threshold))

    def _ask_judge(self, cell: Cell, question: dict[str, Any] | None) -> None:
        self._judge.ask(cell, question)

    def _judged(self, cell: Cell, verdict: Any) -> None:
        self._scoring.answered(cell, verdict)
        self._wake.set()

    def _unjudged(self, cell: Cell, message: dict[str, Any]) -> None:
        if not self._scoring.given_up(cell):
            return
        if message["op"] == "errored":
            self._end(cell, results.errored("judge_error", message["error"]["message"], retry=False))
        else:
            self._scored(cell, message)

    def _paid(self, facts: dict[str, Any]) -> None:
        self._spawn(self._count_judge(facts))

    async def _count_judge(self, facts: dict[str, Any]) -> None:
        if await self._pulse.spend_beside(facts):
            self._close_to(f"limit_exceeded:{self._pulse.breach()}")

    def _end(self, cell: Cell, ending: results.Ending) -> None:
        self._writer.add(result_row(cell, ending))
        self._wake.set()

    # -- storing ------------------------------------------------------------------------------------------------------

    def _written(self, batch: Batch, held: set[int]) -> None:
        for row in batch.outputs:
            cell = self._stored.get((row.ordinal, row.attempt))
            if cell is not None and row.shard in held:
                self._to_score(cell)
        self._probes.ended(result.ordinal for result in batch.results if result.shard in held)
        touched = {row.shard for rows in (batch.outputs, batch.results, batch.events) for row in rows}
        for result in batch.results:
            piece = self._pieces.get(result.shard)
            if piece is not None and result.shard in held:
                piece.left -= 1
                if piece.left == 0:
                    self._spawn(self._complete(result.shard))
        for shard in touched - held:
            if shard in self._pieces and shard not in self._finishing:
                self._drop(shard)
        self._wake.set()

    async def _complete(self, shard: int) -> None:
        fault("P6")
        if shard == SHARD:
            await self._measure()
        self._finishing.add(shard)  # from here on a late event of the shard, written to no avail, says nothing
        try:
            if not await self._context.leases.finish(shard):
                log.warning("shard %s of run %s was done, but no longer ours", shard, self._context.run.id)
        finally:
            self._finishing.discard(shard)
        self._pieces.pop(shard, None)
        self._wake.set()

    def _drop(self, shard: int) -> None:
        """A shard is no longer ours: write nothing more of it, and stop what runs for it."""
        log.warning("lost the lease on shard %s of run %s", shard, self._context.run.id)
        self._pieces.pop(shard, None)
        self._context.leases.held.pop(shard, None)
        self._stored = {key: cell for key, cell in self._stored.items() if cell.shard != shard}
        self._scoring.drop(shard)
        running = self._solving.drop(shard)
        if not self._pieces:
            self._works.fail(LeaseLost("all leases are lost"))
        elif running and self._solving.role is not None:
            self._solving.role.kill()

    # -- the clock ----------------------------------------------------------------------------------------------------

    async def _beat(self) -> None:
        every = beat_seconds(self._context.lease_seconds)
        while True:
            try:
                for lease in await self._pulse.beat():
                    if lease.number in self._pieces:
                        self._drop(lease.number)
                self._solving.slots = await self._pulse.slots()
            except CeilingReached as ceiling:
                self._close_to(str(ceiling))
            except Halted as halt:
                if self._over is None:
                    self._cut(str(halt))
            await self._look_at_bills(every)
            await asyncio.sleep(every)

    async def _look_at_bills(self, every: float) -> None:
        """Attempts that take long may have spent much: stop those that went too far, start nothing more if all did."""
        now = asyncio.get_running_loop().time()
        going = [cell for cell in self._solving.running.values() if cell.started and now - cell.started > every]
        if not going or not self._bills.needed:
            return
        accounts = await self._line.spent([(cell.ordinal, cell.attempt) for cell in going])
        breach = self._pulse.breach(accounts)
        if breach:
            self._close_to(f"limit_exceeded:{breach}")
        over = self._over[1].removeprefix("limit_exceeded:") if self._over and self._over[2] else None
        far = [cell for cell in self._bills.too_far(going, accounts, over) if cell.ordinal in self._solving.running]
        if far:
            self._solving.stop_late(far, now)

    async def _report(self) -> None:
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            if self._pieces:
                self._writer.add(EventRow(next(iter(self._pieces)), "PhaseProgress", await self._progress.look()))

    def retried(self, notice: dict[str, Any]) -> None:
        """The gateway backs off for one of our cells: keep it for the progress line, and tell it as an event."""
        self._progress.note(notice)
        cell = self._solving.running.get(notice["cell"])
        if cell is not None and cell.shard in self._pieces:
            told = {name: notice.get(name) for name in ("status", "wait_s", "try", "provider")}
            self._writer.add(EventRow(cell.shard, "ModelRetry", {**cell.label(), **told}))

    def revoked(self, notice: dict[str, Any]) -> None:
        """The key is gone: the run can't go on."""
        code, told = str(notice.get("code") or "secret_revoked"), "The secret that pays for this run was deleted."
        hint = "Add the key again as a new secret, then replay the run with only_errored."
        self._works.fail(PhaseError(code, told, hint))
