"""The live parts of a run: what it waits for, how far it is, what is at work, what it spent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from django.db.models import QuerySet

from kernel import clock
from kernel.money import MICRO_CENTS_PER_DOLLAR
from runs import queries
from runs.models import Output, Phase, Run, RunEvent, TaskResult
from runs.pages import words
from runs.pages.event_words import ordinal, said

LOG_LENGTH = 50
TAIL = (100, 600)  # how many events, at least and at most, are looked through for what is at work
FAR = 20_000  # events back in which the last word of progress is looked for
FLIGHT_SHOWN = 12
FIVE = ("find", "analyze", "atomize", "materialize", "report")


class Event(Protocol):
    """A row of the event log."""

    @property
    def seq(self) -> int: ...
    @property
    def type(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def data(self) -> Any: ...


@dataclass(frozen=True)
class Cell:
    """A cell at work."""

    task_id: str
    trial: int
    attempt: int
    ordinal: int
    doing: str
    since: datetime


@dataclass(frozen=True)
class Now:
    """What the readout says. ``waits``: the square lamp."""

    line: str
    waits: bool
    flight: list[Cell] = field(default_factory=list)
    in_flight: int | None = None
    eta: str = ""
    rate_per_s: float | None = None
    throttled: bool = False


def log(run: Run, *, mine: bool, newest: int = LOG_LENGTH, after: int = 0) -> list[dict[str, Any]]:
    """The last events, newest first, each with what it says. Its owner reads their own note, and why it failed."""
    rows = RunEvent.objects.filter(run=run, seq__gt=after).order_by("-seq")[:newest]
    return [
        {"seq": row.seq, "type": row.type, "at": row.created_at, "said": said(row.type, _told(run, row, mine))}
        for row in rows
    ]


def _told(run: Run, event: RunEvent, mine: bool) -> Mapping[str, Any]:
    """An event is stored as everybody may read it; what only the owner may know of a failure stands in the run."""
    if not mine:
        return {name: value for name, value in event.data.items() if name != "note"}
    return {**event.data, "error": run.error} if run.error and "error" in event.data else event.data


def latest(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The three newest of ``log`` that say more than the readout itself."""
    return [event for event in events if event["type"] not in ("PhaseProgress", "MaterializeTaskStarted")][:3]


def read(run: Run) -> Now:
    """The state of a going run, from its row and the end of its event log."""
    length = min(max(TAIL[0], 4 * run.concurrency), TAIL[1])
    newest = RunEvent.objects.filter(run=run).order_by("-seq")
    tail = list(newest.values_list("seq", "type", "created_at", "data", named=True)[:length])
    phase, progress = _progress(run, newest)
    moment = clock.now()
    waits = _retries(tail, moment)
    flight = _flight(run, tail, waits)
    eta = progress.get("eta_s")
    line, waiting = _line(run, phase, progress, waits)
    return Now(
        line=line,
        waits=waiting,
        flight=flight,
        in_flight=progress.get("in_flight"),
        eta=words.about(*eta) if eta else "",
        rate_per_s=progress.get("rate_per_s"),
        throttled=bool(waits),
    )


def _progress(run: Run, newest: QuerySet[RunEvent]) -> tuple[str, Mapping[str, Any]]:
    """The phase that goes on ("" where none has begun lately), and what it last said of its progress ({}: nothing)."""
    told = newest.filter(type__in=("PhaseStarted", "PhaseProgress"), seq__gt=run.last_seq - FAR)
    kind, data = told.values_list("type", "data").first() or ("", {})
    return str(data.get("phase") or ""), data if kind == "PhaseProgress" else {}


def _retries(tail: Sequence[Event], moment: datetime) -> "Waits":
    """ordinal -> (the newest retry that still waits, seconds left)."""
    waits: dict[int, tuple[Mapping[str, Any], float]] = {}
    over: set[int] = set()
    for event in tail:
        cell = event.data.get("ordinal")
        if event.type == "MaterializeTaskResult" and cell is not None:
            over.add(cell)
        elif event.type == "ModelRetry" and cell is not None and cell not in over and cell not in waits:
            left = (event.created_at + timedelta(seconds=float(event.data.get("wait_s") or 0)) - moment).total_seconds()
            if left > 0:
                waits[cell] = (event.data, left)
    return waits


Waits = Mapping[int, tuple[Mapping[str, Any], float]]
_STATUS_LINES = {
    "queued": "Queued. It starts as soon as a worker is free.",
    "needs_input": "Waiting for your answer.",
}


_BEFORE_TASKS = {
    "find": "Working out what the request asks for.",
    "analyze": "Reading the benchmark's tasks.",
    "atomize": "Choosing the scorer and trying it on answers that are known.",
}


def _line(run: Run, phase: str, progress: Mapping[str, Any], waits: Waits) -> tuple[str, bool]:
    """The first line of the readout, and whether it tells of waiting."""
    ended = run.passed + run.failed + run.unscored + run.errored + run.skipped
    if run.halt_requested:
        return "Stopping. No new task starts, and what has a result is kept.", True
    if run.status in _STATUS_LINES:
        return _STATUS_LINES[run.status], True
    if waits and ended < run.planned:
        return _waiting_line(waits), True
    if progress.get("waiting"):
        waiting = words.one_line(progress["waiting"])
        return waiting if waiting.lower().startswith("wait") else f"Waiting: {waiting}", True
    if phase in _BEFORE_TASKS:
        return _BEFORE_TASKS[phase], False
    if run.planned and ended >= run.planned:
        return "All tasks have ended. Writing the summary.", False
    if not ended:
        return "Starting the sandbox and sending the first tasks.", False
    return f"Working on task {min(ended + 1, run.planned):,} of {run.planned:,}", False


def _waiting_line(waits: Waits) -> str:
    """About the retry that comes next."""
    data, left = min(waits.values(), key=lambda each: each[1])
    tries = f" ({ordinal(int(data['try']))})" if data.get("try") else ""
    provider = words.one_line(data.get("provider") or "the provider", 60)
    return f"Waiting on {data.get('status') or 'no answer'} from {provider}, retry in {max(1, round(left))} s{tries}"


def _flight(run: Run, tail: Sequence[Event], waits: Waits) -> list[Cell]:
    """The cells that started and have no result yet, oldest first."""
    started: dict[int, Event] = {}
    for event in tail:
        if event.type == "MaterializeTaskStarted":
            started.setdefault(event.data["ordinal"], event)
    for done in TaskResult.objects.filter(run=run, live=True, ordinal__in=started).values_list("ordinal", flat=True):
        del started[done]
    attempts = {cell: event.data.get("attempt") or 1 for cell, event in started.items()}
    answered = set(Output.objects.filter(run=run, ordinal__in=started).values_list("ordinal", "attempt"))
    return [
        Cell(
            task_id=str(event.data.get("task_id", "")),
            trial=event.data.get("trial") or 0,
            attempt=attempts[cell],
            ordinal=cell,
            doing=_doing(cell, waits, (cell, attempts[cell]) in answered),
            since=event.created_at,
        )
        for cell, event in sorted(started.items(), key=lambda each: each[1].seq)
    ]


def _doing(cell: int, waits: Waits, answered: bool) -> str:
    if cell in waits:
        data, left = waits[cell]
        return f"Waiting on {data.get('status') or 'no answer'}, retry in {max(1, round(left))} s"
    return "Being scored in the sandbox" if answered else "The model is answering"


def phases(run: Run) -> list[dict[str, Any]]:
    """Always all five, each with its state as a class and in words."""
    rows = {phase.name: phase for phase in Phase.objects.filter(run=run)}
    return [_phase(run, name, rows.get(name)) for name in FIVE]


_STATES = {"running": "now", "completed": "done", "failed": "bad", "halted": "bad"}


def _phase(run: Run, name: str, row: Phase | None) -> dict[str, Any]:
    if row is None:
        why = "replay" if run.mode == "replay" else "pinned"
        return {"name": name.capitalize(), "state": "off", "said": f"Skipped: {why}", "more": ""}
    again = f", attempt {row.attempt}" if row.attempt > 1 else ""
    said_by_state = {
        "pending": "Waits" if run.finished_at is None else "Not started",
        "running": "Waits for you" if run.status == "needs_input" else f"Running{again}",
        "completed": f"Done{again}",
        "failed": f"Failed{again}",
        "halted": f"Stopped{again}",
    }
    return {
        "name": name.capitalize(),
        "state": _STATES.get(row.status, ""),
        "said": said_by_state.get(row.status, row.status),
        "more": _took(run, row),
    }


def _took(run: Run, row: Phase) -> str:
    if row.started_at is None:
        return ""
    took = words.span(((row.finished_at or clock.now()) - row.started_at).total_seconds())
    cost = run.cost_model if row.name == "materialize" else 0
    return f"{took} · {words.dollars(cost)}" if cost else took


def _lost(run: Run) -> int:
    """Calls of an ended run of which nobody knows how they ended: the provider may charge for them all the same."""
    if run.finished_at is None:
        return 0
    return queries.unknown_calls([run.id], over=True)


def spend(run: Run, *, mine: bool) -> dict[str, Any]:
    """What was spent, the cap if there is one (told to its owner), and the share of it (0..100) for the bar."""
    ceilings = (run.limits or {}).get("run") or {} if mine else {}
    cap = ceilings.get("cost") or ceilings.get("model_cost")
    inside = round(float(cap) * MICRO_CENTS_PER_DOLLAR) if cap else None
    return {
        "spent": words.spent(run.cost_model, run.unpriced_calls),
        "known": bool(run.cost_model) or not run.unpriced_calls,
        "cap": inside,
        "share": min(100.0, 100 * run.cost_model / inside) if inside else None,
        "unpriced": run.unpriced_calls,
        "lost": _lost(run),
        "tokens_in": run.tokens_in,
        "tokens_out": run.tokens_out,
    }
