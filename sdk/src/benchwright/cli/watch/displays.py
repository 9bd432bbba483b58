"""Ways to show a run while it goes: bars for a terminal, lines for a log, JSON for a program."""

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import click

from ..groups import State
from ..text import clean, json_text, one_line
from .progress import Progress

if TYPE_CHECKING:
    from rich.progress import TaskID

LINE_EVERY = 10.0  # seconds between two progress lines in a log


class Display(Protocol):
    def event(self, event: Mapping[str, Any], progress: Progress) -> None: ...
    def close(self) -> None: ...


class BarDisplay:
    """A bar per phase on stderr."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        self._bars: Bars = Bars(
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[facts]}", markup=False),
            console=Console(stderr=True, highlight=False),
        )
        self._rows: dict[str, TaskID] = {}
        self._bars.start()

    def event(self, event: Mapping[str, Any], progress: Progress) -> None:
        phase = progress.phase
        if phase and phase not in self._rows:
            self._rows[phase] = self._bars.add_task(one_line(phase, 20), total=None, facts="")
        if phase:
            facts = clean(progress.facts()) if progress.total > 1 else ""
            self._bars.update(self._rows[phase], completed=progress.done, total=progress.total or None, facts=facts)
        if remarkable(event):
            self._bars.console.print(clean(remark(event)), markup=False)

    def close(self) -> None:
        self._bars.stop()


class LineDisplay:
    """A line per phase, and one every ten seconds in between, on stderr."""

    def __init__(self) -> None:
        self._told = time.monotonic()

    def event(self, event: Mapping[str, Any], progress: Progress) -> None:
        kind = event["type"]
        due = time.monotonic() - self._told >= LINE_EVERY
        if remarkable(event):
            self._say(remark(event))
        elif kind in ("PhaseStarted", "PhaseCompleted", "PhaseFailed"):
            word = kind.removeprefix("Phase").lower()
            self._say(f"{progress.phase} {word}" + (f" · {progress.facts()}" if kind == "PhaseCompleted" else ""))
        elif due and kind in ("PhaseProgress", "MaterializeTaskResult", "ModelRetry"):
            self._say(f"{progress.phase} {progress.done}/{progress.total or '?'} · {progress.facts()}")

    def _say(self, text: str) -> None:
        self._told = time.monotonic()
        click.echo(clean(text).rstrip(" ·"), err=True)

    def close(self) -> None:
        pass


class EventDisplay:
    """Every event as a line of JSON on stdout."""

    def event(self, event: Mapping[str, Any], progress: Progress) -> None:
        click.echo(json_text(event))

    def close(self) -> None:
        pass


class QuietDisplay:
    """Nothing until the end: the answer is one document."""

    def event(self, event: Mapping[str, Any], progress: Progress) -> None:
        if remarkable(event):
            click.echo(clean(remark(event)), err=True)

    def close(self) -> None:
        pass


_REMARKS = frozenset({"LimitWarning", "HostBlocked", "InputNeeded", "PhaseFailed"})


def remarkable(event: Mapping[str, Any]) -> bool:
    """Whether a person should not miss it."""
    return event["type"] in _REMARKS or _estimate(event) is not None


def _estimate(event: Mapping[str, Any]) -> str | None:
    """What the first cells tell of the whole run's cost and time, where the event brings it."""
    found = (event.get("data") or {}).get("estimate")
    return str(found.get("basis")) if event["type"] == "PhaseProgress" and isinstance(found, Mapping) else None


def remark(event: Mapping[str, Any]) -> str:
    """A sentence for an event that a person should not miss."""
    data = event.get("data") or {}
    text = _estimate(event) or data.get("message") or data.get("error") or data
    words = {
        "PhaseProgress": "estimate",
        "LimitWarning": "limit near",
        "HostBlocked": "host blocked",
        "InputNeeded": "needs input",
        "PhaseFailed": f"{data.get('phase', 'phase')} failed",
    }
    return f"{words[event['type']]}: {one_line(text if isinstance(text, str) else json_text(text), 300)}"


def for_state(state: State) -> Display:
    """The display that fits the format and the terminal."""
    if state.format == "ndjson":
        return EventDisplay()
    if state.format in ("json", "yaml"):
        return QuietDisplay()
    return BarDisplay() if sys.stderr.isatty() else LineDisplay()
