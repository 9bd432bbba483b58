"""Benchmarks themselves."""

import itertools
from typing import Any

import click

from ...groups import Command, state_of
from ...output import field, note, show, show_rows
from ..runs.act import confirmed


@click.command("create", cls=Command)
@click.argument("name")
@click.option("--description")
@click.option("--category")
@click.option("--tag", "tags", multiple=True, help="Repeatable.")
@click.option("--idempotency-key", metavar="KEY")
def create(name: str, tags: tuple[str, ...], **options: Any) -> None:
    """A new benchmark, private until one of its runs is public."""
    state = state_of()
    show(state, state.client().benchmarks.create(name, tags=list(tags) or None, **options))


@click.command("ls", cls=Command)
@click.option("--tag")
@click.option("--sort")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Rows to show.")
def list_benchmarks(tag: str | None, sort: str | None, limit: int) -> None:
    """The catalogue: your benchmarks and the public ones."""
    state = state_of()
    found = state.client().registry.benchmarks.list(tag=tag, sort=sort, limit=min(limit, 1000))
    columns = [(name, field(name)) for name in ("id", "name", "category", "tags", "visibility", "created_at")]
    show_rows(state, itertools.islice(found, limit), columns, "No benchmarks yet. `benchwright bench create NAME`.")


@click.command("show", cls=Command)
@click.argument("bm_id")
def show_benchmark(bm_id: str) -> None:
    """One benchmark and its subsets."""
    state = state_of()
    show(state, state.client().registry.benchmarks.get(bm_id))


@click.command("range", cls=Command)
@click.argument("bm_id")
@click.argument("tasks", metavar="FIRST-LAST")
def show_range(bm_id: str, tasks: str) -> None:
    """Runs that cover an ad-hoc range of tasks, such as 0-5."""
    state = state_of()
    show(state, state.client().registry.benchmarks.range(bm_id, tasks))


@click.command("delete", cls=Command)
@click.argument("bm_id")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(bm_id: str, yes: bool) -> None:
    """Delete a benchmark with its subsets."""
    confirmed(yes, f"Delete benchmark {bm_id} and its subsets?")
    state_of().client().benchmarks.delete(bm_id)
    note(f"benchmark {bm_id} is deleted.")
