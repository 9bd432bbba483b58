"""Reading runs."""

import itertools
from collections.abc import Mapping
from typing import Any

import click

from ... import cache
from ...groups import Command, state_of
from ...launch import options as launch_options
from ...output import field, note, show, show_rows
from ...watch.cost_line import model_cost
from ...watch.score_line import rate, score_line
from . import forks, sheet

PAGE = 1000  # rows that one answer may hold

RUN_COLUMNS = [
    ("id", field("id")),
    ("status", field("status")),
    ("benchmark", lambda run: _about(run)),
    ("model", field("model", "identifier")),
    ("score", lambda run: _short_score(run)),
    ("model cost", lambda run: model_cost(run, run.get("summary") or {})),
    ("created", field("created_at")),
]
TASK_COLUMNS = [
    ("id", field("id")),
    ("task", field("task_id")),
    ("trial", field("trial")),
    ("outcome", field("outcome")),
    ("score", field("score")),
    ("class", field("error_class")),
    ("error", field("error_message")),
    ("ms", field("duration_ms")),
    ("output", field("output_preview")),
]


def _about(run: Mapping[str, Any]) -> str | None:
    """The benchmark; of a run in words that has not found one, its words."""
    return run.get("benchmark_name") or (f"“{run['request']}”" if run.get("request") else None)


def _short_score(run: Mapping[str, Any]) -> str | None:
    summary = run.get("summary") or {}
    return rate(summary, interval=False) if summary.get("total") else None


def _truth(context: click.Context, parameter: click.Parameter, value: str | None) -> bool | None:
    return None if value is None else value == "true"


@click.command("show", cls=Command)
@click.argument("run_id")
def show_one(run_id: str) -> None:
    """One run: what was measured, with what, its score line and its cost.

    As json, ndjson or yaml: the whole run as the API gives it.
    """
    state = state_of()
    client = state.client()
    run = client.runs.get(cache.resolved(client.account, run_id))
    sheet.show_run(state, run)
    if state.format == "table":
        forks.tell_flips(client, run)


@click.command("tasks", cls=Command)
@click.argument("run_id")
@click.option(
    "--passed",
    type=click.Choice(["true", "false"], case_sensitive=False),
    callback=_truth,
    metavar="true|false",
    help="Only right, or only wrong answers.",
)
@click.option("--outcome", help="passed, failed, unscored, errored or skipped.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Rows to show.")
@click.option("--sort", help="Such as -duration_ms.")
@click.option("--page-token", help="Where to go on.")
def tasks(run_id: str, passed: bool | None, outcome: str | None, limit: int, **options: Any) -> None:
    """Results, task by task, and the score line of the whole run.

    As json or yaml: one object with `summary` (of the whole run), `data` (the rows) and `next_page_token`. As ndjson:
    the rows alone, one on each line.
    """
    state = state_of()
    client = state.client()
    run_id = cache.resolved(client.account, run_id)
    found = client.runs.tasks(run_id, passed=passed, outcome=outcome, limit=min(limit, PAGE), **options)
    rows, further = itertools.islice(found, limit), found.next_page_token if limit <= PAGE else None
    if state.format in ("json", "yaml"):
        show(state, {"object": "list", "summary": found.summary, "data": list(rows), "next_page_token": further})
        return
    show_rows(state, rows, TASK_COLUMNS, "No such results.")
    if state.format == "table":
        click.echo(score_line(found.summary, scope=found.get("scope")))
        if further:
            note(f"There are more: --limit shows more at once, --page-token {further} goes on after these.")


@click.command("task", cls=Command)
@click.argument("run_id")
@click.argument("task_id")
def task(run_id: str, task_id: str) -> None:
    """One result in full: input, expected, output, calls.

    TASK_ID is the id of a result (tsk_…), or the task's own where the run asked it once.
    """
    state = state_of()
    client = state.client()
    show(state, client.runs.task(cache.resolved(client.account, run_id), task_id))


@click.command("ls", cls=Command)
@click.option("--status", help="queued, running, needs_input, ok, failed or halted.")
@click.option("--benchmark", metavar="BM")
@click.option("--visibility")
@click.option("--metadata", multiple=True, metavar="K=V", help="Runs launched with this metadata.")
@click.option("--sort", help="Such as -started_at.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Rows to show.")
def list_runs(metadata: tuple[str, ...], sort: str | None, limit: int, **filters: str | None) -> None:
    """Own runs, newest first."""
    state = state_of()
    wanted: dict[str, Any] = {name: value for name, value in filters.items() if value}
    wanted |= {f"metadata.{key}": value for key, value in launch_options.pairs(metadata, "--metadata").items()}
    runs = state.client().runs.list(filters=wanted, sort=sort, limit=min(limit, 1000))
    show_rows(state, itertools.islice(runs, limit), RUN_COLUMNS, "No runs yet. `benchwright run --help` starts one.")


@click.command("events", cls=Command)
@click.argument("run_id")
@click.option("--after-seq", type=int, help="Only later ones.")
@click.option("--type", "types", multiple=True, help="Only this type; repeatable.")
def events(run_id: str, after_seq: int | None, types: tuple[str, ...]) -> None:
    """What happened, as stored."""
    state = state_of()
    client = state.client()
    found = client.runs.events(cache.resolved(client.account, run_id), after_seq, list(types) or None)
    columns = [(name, field(name)) for name in ("seq", "created_at", "type", "data")]
    show_rows(state, found, columns, "No events.")
