"""``benchwright bench recipe`` and ``bench samples``: benchmarks built here, edited in place."""

import click

from ... import files
from ...groups import Command, state_of, table_group
from ...launch.options import pairs
from ...output import field, show, show_rows

RECIPE_COMMANDS = {
    "show": ("bench.built:show_recipe", "The current recipe."),
    "set": ("bench.built:set_recipe", "Change it; the next run has a new scorer version."),
}
SAMPLE_COMMANDS = {
    "show": ("bench.built:show_samples", "The current samples."),
    "set": ("bench.built:set_samples", "Change them; the edited set is a new subset."),
}


@table_group("recipe", RECIPE_COMMANDS)
def recipe() -> None:
    """A built benchmark's recipe. Runs before an edit stay with the scorer that graded them."""


@table_group("samples", SAMPLE_COMMANDS)
def samples() -> None:
    """A built benchmark's samples. An edited set is a new subset; the old one is retired."""


@click.command("show", cls=Command)
@click.argument("ref", metavar="SLUG_OR_SUB")
def show_recipe(ref: str) -> None:
    """The current recipe."""
    state = state_of()
    show(state, state.client().build.recipe(ref))


@click.command("set", cls=Command)
@click.argument("ref", metavar="SLUG_OR_SUB")
@click.option("--set", "changes", multiple=True, required=True, metavar="K=V", help="Such as run_timeout=900.")
@click.option("--note", help="Why; kept with the edit.")
def set_recipe(ref: str, changes: tuple[str, ...], note: str | None) -> None:
    """Change the recipe; the next run has a new scorer version."""
    state = state_of()
    show(state, state.client().build.set_recipe(ref, pairs(changes, "--set"), note))


@click.command("show", cls=Command)
@click.argument("ref", metavar="SLUG_OR_SUB")
def show_samples(ref: str) -> None:
    """The current samples."""
    state = state_of()
    columns = [(name, field(name)) for name in ("task_id", "input", "expected")]
    show_rows(state, state.client().build.samples(ref), columns, "No samples.")


@click.command("set", cls=Command)
@click.argument("ref", metavar="SLUG_OR_SUB")
@click.option("--upsert-file", required=True, type=click.Path(exists=True, dir_okay=False), help="Rows to put in.")
@click.option("--note", help="Why; kept with the edit.")
def set_samples(ref: str, upsert_file: str, note: str | None) -> None:
    """Change samples by task_id; the edited set is a new subset."""
    state = state_of()
    show(state, state.client().build.set_samples(ref, list(files.rows(upsert_file)), note))
