"""``benchwright bench subset``."""

from typing import Any

import click

from ... import files
from ...groups import Command, state_of, table_group
from ...output import note, show
from ..runs.act import confirmed

COMMANDS = {
    "create": ("bench.subset:create", "A subset from a file of rows."),
    "append": ("bench.subset:append", "Add rows to a rolling subset."),
    "show": ("bench.subset:show_subset", "One subset."),
    "freeze": ("bench.subset:freeze", "End a rolling subset's growth, one way."),
    "delete": ("bench.subset:delete", "Delete a subset."),
}
FIELDS = ("id", "slug", "name", "description", "rolling", "revision", "task_count", "kinds", "answers", "grader")


@table_group("subset", COMMANDS)
def group() -> None:
    """Subsets: the samples of a benchmark."""


@click.command("create", cls=Command)
@click.argument("benchmark", metavar="BM")
@click.option("--slug", required=True, help="Its short name in addresses.")
@click.option("--name")
@click.option("--description")
@click.option("--file", "path", type=click.Path(exists=True, dir_okay=False), help="Rows: .jsonl, or a .json array.")
@click.option("--grader-file", type=click.Path(exists=True, dir_okay=False), help="A grader as JSON: no code needed.")
@click.option("--rolling", is_flag=True, help="Rows may be appended later.")
@click.option("--answers", type=click.Choice(["open", "closed"]), help="Who may see what is expected.")
@click.option("--idempotency-key", metavar="KEY")
def create(path: str | None, grader_file: str | None, rolling: bool, **options: Any) -> None:
    """A subset from a file of rows {"task_id", "input", "expected"}; many rows go up in pieces.

    A bad row is named and nothing is stored.
    """
    if not path and not rolling:
        raise click.UsageError(
            "A frozen subset needs its rows now: --file tasks.jsonl (or --rolling to add them later)."
        )
    state = state_of()
    grader = files.document(grader_file) if grader_file else None
    rows = list(files.rows(path)) if path else None
    subsets = state.client().benchmarks.subsets
    show(state, subsets.create(tasks=rows, rolling=rolling, grader=grader, **options), FIELDS)


@click.command("append", cls=Command)
@click.argument("subset", metavar="SUB")
@click.option("--file", "path", required=True, type=click.Path(exists=True, dir_okay=False), help="Rows to add.")
@click.option("--idempotency-key", metavar="KEY", help="The same key never appends twice.")
def append(subset: str, path: str, idempotency_key: str | None) -> None:
    """Add rows to a rolling subset."""
    state = state_of()
    rows = list(files.rows(path))
    show(state, state.client().benchmarks.subsets.append_tasks(subset, rows, idempotency_key), FIELDS)


@click.command("show", cls=Command)
@click.argument("subset", metavar="SUB")
def show_subset(subset: str) -> None:
    """One subset."""
    state = state_of()
    show(state, state.client().registry.subsets.get(subset))


@click.command("freeze", cls=Command)
@click.argument("subset", metavar="SUB")
def freeze(subset: str) -> None:
    """End a rolling subset's growth. There is no way back."""
    state = state_of()
    show(state, state.client().benchmarks.subsets.update(subset, rolling=False), FIELDS)


@click.command("delete", cls=Command)
@click.argument("subset", metavar="SUB")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(subset: str, yes: bool) -> None:
    """Delete a subset."""
    confirmed(yes, f"Delete subset {subset}?")
    state_of().client().benchmarks.subsets.delete(subset)
    note(f"subset {subset} is deleted.")
