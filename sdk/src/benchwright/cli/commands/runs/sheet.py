"""One run as a person reads it: what it measured, with what, how long it took, where it is."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import click

from ...groups import State
from ...output import money, show, show_sheet
from ...text import json_text
from ...watch.cost_line import cost_line
from ...watch.following import why_not_ok
from ...watch.progress import duration
from ...watch.score_line import score_line

Pair = tuple[str, str]


def show_run(state: State, run: Mapping[str, Any]) -> None:
    """A sheet where a table is wanted, else the whole run as the API gives it."""
    if state.format != "table":
        show(state, run)
        return
    click.echo(headline(run))
    show_sheet(pairs(run))
    for line in lines(run):
        click.echo(line)


def headline(run: Mapping[str, Any]) -> str:
    """``run … ok``, or why it is not, or what it waits to be told."""
    asked = run.get("asked")
    if not asked:
        return why_not_ok(run)
    answer = f"benchwright run plan {run['id']} shows the choices; benchwright run approve {run['id']} answers."
    return f"{why_not_ok(run)}\nasks: {asked.get('question')}\n{answer}"


def pairs(run: Mapping[str, Any]) -> list[Pair]:
    """The rows of the sheet; what a run does not have is left out."""
    found = [*_what(run), *_how(run), *_when(run), *_around(run)]
    return [(name, text) for name, text in found if text]


def lines(run: Mapping[str, Any]) -> list[str]:
    """Score and cost, each on a line of its own, as every command tells them."""
    summary = run.get("summary")
    if not summary:
        return []
    return [
        line
        for line in (score_line(summary, run.get("trials") or 1, run.get("scope")), cost_line(run, summary))
        if line
    ]


def _what(run: Mapping[str, Any]) -> Iterator[Pair]:
    yield "request", str(run.get("request") or "")
    mark, impl = run.get("benchmark") or {}, run.get("impl") or {}
    yield "benchmark", _named(run.get("benchmark_name") or mark.get("name"), mark.get("id"))
    revision = run.get("subset_revision")
    yield "subset", str(run.get("subset_id") or "") + (f", revision {revision}" if revision else "")
    yield "tasks", str((run.get("scope") or {}).get("words") or "")
    yield "scorer", _named(impl.get("label"), impl.get("id"))
    if run.get("parent_run"):
        parent = run["parent_run"]
        parent = parent.get("id") if isinstance(parent, Mapping) else parent
        yield "made from", f"{parent}, {run.get('relation') or run.get('mode') or 'replay'}"
        yield "completes", str(run.get("completes") or "")
        yield from _fork(run.get("fork") or {}, parent)


def _fork(fork: Mapping[str, Any], parent: Any) -> Iterator[Pair]:
    yield "changes", str(fork.get("description") or "")
    if fork.get("mode") == "rescore":
        yield "graded anew", f"the outputs of {parent}; no model was asked"


def _how(run: Mapping[str, Any]) -> Iterator[Pair]:
    model = run.get("model") or {}
    asked, served = model.get("identifier"), model.get("served")
    text = f"{asked} at {model.get('provider')}" if asked else ""
    over = model.get("connection")
    text += f", over the connection {over.get('name')}" if isinstance(over, Mapping) else ""
    yield "model", text
    yield "answered by", ", ".join(f"{name} ({count:,})" for name, count in _served(served)) if served else ""
    yield "sampling", _json(model.get("sampling") or model.get("params"))
    trials, concurrency = run.get("trials") or 1, run.get("concurrency")
    yield "trials", str(trials) if trials > 1 else ""
    yield "side by side", f"up to {concurrency} tasks" if concurrency else ""
    where = [run.get("harness"), run.get("backend")]
    yield "run by", ", ".join(str(part) for part in where if part) + (", UNSANDBOXED" if run.get("unsandboxed") else "")
    yield "limits", ", ".join(_limits(run.get("limits") or {}))
    yield "secrets", _secrets(run.get("secrets") or {})


def _when(run: Mapping[str, Any]) -> Iterator[Pair]:
    yield "created", str(run.get("created_at") or "")
    seconds = _between(run.get("started_at"), run.get("finished_at"))
    yield "took", duration(seconds) if seconds is not None else ""
    yield "phases", " · ".join(_phase(phase) for phase in run.get("phases") or [])
    summary = run.get("summary") or {}
    tokens, half, most = summary.get("tokens") or {}, summary.get("duration_ms_p50"), summary.get("duration_ms_p95")
    yield "a task", f"{half:,} ms at the median, {most:,} ms at 95%" if half is not None and most is not None else ""
    yield "tokens", f"{tokens['in']:,} in, {tokens['out']:,} out" if tokens.get("total") else ""


def _around(run: Mapping[str, Any]) -> Iterator[Pair]:
    yield "hints", " · ".join(str(hint) for hint in run.get("hints") or [])
    yield "metadata", _json(run.get("metadata"))
    yield "visibility", str(run.get("visibility") or "")
    yield "page", str((run.get("links") or {}).get("dashboard") or "")


def _phase(phase: Mapping[str, Any]) -> str:
    seconds = _between(phase.get("started_at"), phase.get("finished_at"))
    cost, tried = phase.get("cost") or {}, phase.get("attempt") or 0
    text = f"{phase.get('name')} {phase.get('status')}"
    text += f" in {duration(seconds)}" if seconds is not None else ""
    text += f", {money(cost)}" if float(cost.get("amount") or cost.get("amount_cents") or 0) else ""
    return text + (f" (attempt {tried})" if tried > 1 else "")


def _limits(limits: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for name, value in limits.items():
        if isinstance(value, Mapping):
            yield from _limits(value, f"{above}{name}.")
        else:
            yield f"{above}{name} {value:g}" if isinstance(value, int | float) else f"{above}{name} {value}"


def _secrets(secrets: Mapping[str, Any]) -> str:
    parts = [f"{secrets['sut_key']} pays the model"] if secrets.get("sut_key") else []
    parts += [f"leased: {', '.join(secrets['leased'])}"] if secrets.get("leased") else []
    return "; ".join(parts + ([str(secrets["notice"])] if secrets.get("notice") else []))


def _named(name: Any, identifier: Any) -> str:
    return f"{name} ({identifier})" if name and identifier else str(name or identifier or "")


def _served(served: Mapping[str, int]) -> list[tuple[str, int]]:
    """Models that answered, with the number of their calls, most first."""
    return sorted(served.items(), key=lambda each: -each[1])


def _json(value: Any) -> str:
    return json_text(value) if value else ""


def _between(start: Any, end: Any) -> float | None:
    """Seconds; None where one of them is not there or can't be read."""
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (TypeError, ValueError):
        return None
