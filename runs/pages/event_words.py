"""What an event says, in one line for people. The text may hold foreign names: templates escape it."""

from collections.abc import Callable, Mapping
from typing import Any

from runs.pages.words import one_line, per_task, plural, span

Data = Mapping[str, Any]


def said(kind: str, data: Data) -> str:
    """One line about an event; an unknown type says nothing, since its name stands beside it."""
    teller = _TELLERS.get(kind)
    if teller is None:
        return ""
    try:
        return one_line(teller(data), 400)
    except (KeyError, TypeError, ValueError):
        return ""  # an older or newer writer: the event's name still stands


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 11th."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _cell(data: Data) -> str:
    trial = data.get("trial") or 0
    return f"{data['task_id']}, trial {trial + 1}" if trial else str(data["task_id"])


def _started(data: Data) -> str:
    attempt = data.get("attempt") or 1
    return f"{_cell(data)} started" + (f", {ordinal(attempt)} attempt" if attempt > 1 else "")


def _result(data: Data) -> str:
    why = f" ({data['error_class']})" if data.get("error_class") else ""
    cost = f", {per_task(data['cost'])}" if data.get("cost") else ""
    return f"{_cell(data)} {data['outcome']}{why}, {span((data.get('duration_ms') or 0) / 1000)}{cost}"


def retry(data: Data) -> str:
    """``429 from openrouter, waits 12 s, 3rd try``."""
    status = data.get("status") or "no answer"
    tries = f", {ordinal(int(data['try']))} try" if data.get("try") else ""
    return f"{status} from {data.get('provider') or 'the provider'}, waits {span(float(data['wait_s']))}{tries}"


def _progress(data: Data) -> str:
    rate = f", {data['rate_per_s']:.1f} a second" if data.get("rate_per_s") else ""
    flight = (
        f", {plural(data['in_flight'], 'cell')} under way, those that wait included"
        if data.get("in_flight") is not None
        else ""
    )
    waits = f". Waiting: {data['waiting']}" if data.get("waiting") else ""
    measured = f". {data['estimate']['basis']}" if data.get("estimate") else ""
    return f"{data['done']:,} of {data['total']:,}{rate}{flight}{waits}{measured}"


def _phase(word: str) -> Callable[[Data], str]:
    def tell(data: Data) -> str:
        attempt = data.get("attempt") or 1
        return f"{str(data['phase']).capitalize()} {word}" + (f", attempt {attempt}" if attempt > 1 else "")

    return tell


def _phase_failed(data: Data) -> str:
    error = data.get("error") or {}
    why = error.get("message") or error.get("code") if isinstance(error, Mapping) else error
    return _phase("failed")(data) + (f": {why}" if why else "")


def _failed(data: Data) -> str:
    error = data.get("error") or {}
    return str(error.get("message") or error.get("code") or "") if isinstance(error, Mapping) else str(error)


def _completed(data: Data) -> str:
    summary = data.get("summary") or {}
    return f"{summary['passed']:,} of {summary['total']:,} passed" if "passed" in summary else ""


def halt_words(reason: str | None, note: str = "") -> str:
    """Why a run was stopped, as a sentence; ``note`` is what the person who stopped it said."""
    sentence = _halt_sentence(reason)
    if reason is not None and reason.startswith("limit_exceeded:"):
        return f"{sentence.removesuffix('.')}: {note}." if note else sentence
    return f"{sentence.removesuffix('.')}: “{note}”" if note else sentence


def _halt_sentence(reason: str | None) -> str:
    if not reason:
        return "Stopped."
    if reason.startswith("limit_exceeded:"):
        level, _, quantity = reason.removeprefix("limit_exceeded:").partition(".")
        return f"Stopped at its {quantity.replace('_', ' ')} ceiling ({level}.{quantity})."
    known = {"user": "Stopped by its owner.", "staff": "Stopped by those who run this installation.",
             "monthly_cap": "Stopped at the monthly cap.",
             "balance": "Stopped: the balance was used up."}  # fmt: skip
    return known.get(reason, f"Stopped: {reason}.")


def _repeated(count: int) -> str:
    """Of task ids that a replay named again."""
    return f". {plural(count, 'task id')} named a task again: it runs once for each trial" if count else ""


_TELLERS: dict[str, Callable[[Data], str]] = {
    "RunQueued": lambda data: "Waits for a worker" + _repeated(data.get("repeated") or 0),
    "RunStarted": lambda data: "A worker took the run",
    "PhaseStarted": _phase("started"),
    "PhaseCompleted": _phase("completed"),
    "PhaseFailed": _phase_failed,
    "PhaseProgress": _progress,
    "MaterializeTaskStarted": _started,
    "MaterializeTaskResult": _result,
    "ModelRetry": lambda data: f"{_cell(data)}: {retry(data)}" if data.get("task_id") else retry(data),
    "HostBlocked": lambda data: str(data.get("message") or f"{data.get('host', 'a host')} was blocked"),
    "LimitWarning": lambda data: f"{data.get('limit', 'A ceiling')}: {data['message']}",
    "InputNeeded": lambda data: str(data.get("message", "")),
    "RunHalted": lambda data: halt_words(data.get("halt_reason"), str(data.get("note") or "")),
    "RunFailed": _failed,
    "RunCompleted": _completed,
}
