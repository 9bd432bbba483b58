"""What a run left behind beside its results."""

import itertools
import sys
from pathlib import Path
from typing import Any

import click

from ... import cache
from ...groups import Command, state_of
from ...output import field, note, show, show_rows
from ...text import clean
from ..hosts import show_blocked

COLUMNS = [(name, field(name)) for name in ("id", "type", "name", "version", "size", "created_at")]


@click.command("artifacts", cls=Command)
@click.argument("run_id")
@click.option("--type", "kind", help="code, recipe, verdict, log, raw_output, extracted, summary, report, audit …")
@click.option("--task", "task_id", metavar="TASK_ID", help="Only what is about this task.")
@click.option("--all-versions", is_flag=True, help="Earlier versions too.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Rows to show.")
def artifacts(run_id: str, kind: str | None, task_id: str | None, all_versions: bool, limit: int) -> None:
    """What a run left: code, logs, summary and more."""
    state = state_of()
    client = state.client()
    run_id = cache.resolved(client.account, run_id)
    found = client.runs.artifacts(run_id, type=kind, include_versions=all_versions, task_id=task_id)
    show_rows(state, itertools.islice(found, limit), COLUMNS, "No such artifacts.")


@click.command("artifact", cls=Command)
@click.argument("run_id")
@click.argument("art_id")
@click.option("-f", "--file", "path", type=click.Path(dir_okay=False), help="Write to this file instead of stdout.")
def artifact(run_id: str, art_id: str, path: str | None) -> None:
    """The bytes of one artifact, as stored. On a terminal, control codes are taken out."""
    client = state_of().client()
    content = client.runs.artifact_content(cache.resolved(client.account, run_id), art_id)
    if path is not None:
        Path(path).write_bytes(content)
        note(f"{len(content)} bytes in {path}")
    elif sys.stdout.isatty():
        click.echo(clean(content.decode("utf-8", "replace")))
    else:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


@click.command("log", cls=Command)
@click.argument("run_id")
@click.argument("tsk_id")
def log(run_id: str, tsk_id: str) -> None:
    """What solve and score printed for a task, without control codes."""
    state = state_of()
    client = state.client()
    run_id = cache.resolved(client.account, run_id)
    logs: list[Any] = [one for one in client.runs.task(run_id, tsk_id).get("artifacts", []) if one["type"] == "log"]
    if not logs:
        note("Nothing was printed for this task.")
    for one in logs:
        note(f"{one['name']}:")
        click.echo(clean(client.runs.artifact_content(run_id, one["id"]).decode("utf-8", "replace")).rstrip("\n"))


@click.command("fingerprint", cls=Command)
@click.argument("run_id")
def fingerprint(run_id: str) -> None:
    """What decides a run's score, in one hash: two runs with the same one were asked the same, the same way."""
    state = state_of()
    client = state.client()
    show(state, client.runs.fingerprint(cache.resolved(client.account, run_id)))


@click.command("blocked-hosts", cls=Command)
@click.argument("run_id")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Rows to show.")
def blocked_hosts(run_id: str, limit: int) -> None:
    """Hosts that a run tried to reach and was not allowed to."""
    show_blocked(run_id, limit)
