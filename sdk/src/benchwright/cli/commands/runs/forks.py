"""Forks: a run with another scorer, and what that changed."""

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ....errors import ConflictError, GoneError, NotFoundError
from ... import cache
from ...groups import Command, state_of
from ...launch import options as launch_options
from ...output import field, note, show, show_id, show_rows
from ...text import one_line
from ...watch import following

if TYPE_CHECKING:
    from ....client import Benchwright

PHASES = ["find", "analyze", "atomize", "materialize"]
FLIP_COLUMNS = [
    ("task", field("task_id")),
    ("trial", field("trial")),
    ("kind", field("kind")),
    ("before", field("before", "outcome")),
    ("score", field("before", "score")),
    ("after", field("after", "outcome")),
    ("score", field("after", "score")),
    ("class", field("after", "error_class")),
    ("id", field("id")),
]


@click.command("fork", cls=Command)
@click.argument("run_id")
@click.option("-m", "--message", "description", help="What to change, in words. Needed unless --impl is given.")
@click.option("--from-phase", type=click.Choice(PHASES), help="The first phase that runs again.  [default: atomize]")
@click.option("--mode", type=click.Choice(["rerun", "rescore"]), help="rescore grades the stored outputs anew.")
@click.option("--impl", metavar="IMP", help="A scorer of the same subset, instead of an authored one.")
@click.option("--model", metavar="MODEL@PROVIDER", help="Another model under test.")
@click.option("--judge", metavar="MODEL@PROVIDER", help="Another model that judges, where the scorer asks one.")
@click.option("--no-wait", is_flag=True, help="Print the run's id and leave.")
@click.option("--idempotency-key", metavar="KEY")
def fork(run_id: str, no_wait: bool, model: str | None, judge: str | None, **options: Any) -> int:
    """A new run whose scorer is changed as the message says, or is the one of --impl."""
    if not options["description"] and not options["impl"] and options["from_phase"] in (None, "atomize"):
        raise click.UsageError('Say what to change: -m "…", or name a scorer: --impl imp_….')
    state = state_of()
    client = state.client()
    parent = cache.resolved(client.account, run_id)
    judging = {"judge": launch_options.model(judge, "--judge")} if judge else None
    run = client.runs.fork(parent, sut=launch_options.sut(model, ()), phase_models=judging, **options)
    cache.remember_run(client.account, run["id"])
    if no_wait:
        show_id(state, run)
        return 0
    note(f"run {run['id']}")
    code = following.follow(client, state, run["id"], None)
    if state.format == "table":
        tell_flips(client, run)
    return code


@click.command("flips", cls=Command)
@click.argument("run_id")
@click.option("--kind", type=click.Choice(["fixed", "broken", "changed"]), help="Only these.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Rows to show.")
def flips(run_id: str, kind: str | None, limit: int) -> None:
    """Tasks that ended otherwise than in the run that this one was made of.

    As json or yaml: one object with `summary` and `data`. As ndjson: the rows alone, one on each line.
    """
    state = state_of()
    client = state.client()
    found = client.runs.flips(cache.resolved(client.account, run_id), kind=kind, limit=min(limit, 1000))
    rows = itertools.islice(found, limit)
    if state.format in ("json", "yaml"):
        about = {name: found[name] for name in ("object", "run", "parent_run", "summary")}
        show(state, {**about, "data": list(rows)})
        return
    show_rows(state, rows, FLIP_COLUMNS, "No such flips.")
    if state.format == "table":
        click.echo(verdict(found["summary"]))


@click.command("children", cls=Command)
@click.argument("run_id")
@click.option("--relation", type=click.Choice(["fork", "replay"]), help="Only these.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Rows to show.")
def children(run_id: str, relation: str | None, limit: int) -> None:
    """The forks and replays of a run, newest first."""
    state = state_of()
    client = state.client()
    found = client.runs.children(cache.resolved(client.account, run_id), relation=relation, limit=min(limit, 1000))
    columns = [(name, field(name)) for name in ("id", "relation", "status", "created_at")]
    columns.insert(3, ("changes", field("fork", "description")))
    show_rows(state, itertools.islice(found, limit), columns, "Nothing was made of this run yet.")


def tell_flips(client: "Benchwright", run: Mapping[str, Any]) -> None:
    """One line that says what a run changed of the one that it was made of; nothing where that can't be said."""
    if not run.get("parent_run"):
        return
    try:
        click.echo(verdict(client.runs.flips(run["id"], limit=1)["summary"]))
    except (ConflictError, NotFoundError, GoneError):
        return


def verdict(summary: Mapping[str, Any]) -> str:
    """``flips: 3 fixed, 1 broken; …``"""
    return f"flips: {one_line(str(summary['verdict']))}"
