"""``benchwright bench impl``."""

from typing import Any

import click

from ... import files
from ...groups import Command, state_of, table_group
from ...output import field, note, show, show_rows
from ..runs.act import confirmed

COMMANDS = {
    "create": ("bench.impl:create", "Register a task_impl.py."),
    "ls": ("bench.impl:list_impls", "Scorers of a subset."),
    "show": ("bench.impl:show_impl", "One scorer."),
    "code": ("bench.impl:code", "Its text."),
    "delete": ("bench.impl:delete", "Delete a scorer."),
}
FIELDS = ("id", "label", "language", "description", "subset", "code_sha256", "pass_threshold", "network", "created_at")


@table_group("impl", COMMANDS)
def group() -> None:
    """Scorers of a subset."""


@click.command("create", cls=Command)
@click.argument("subset", metavar="SUB")
@click.option("--file", "path", required=True, type=click.Path(exists=True, dir_okay=False), help="task_impl.py")
@click.option("--label", help="Such as official.")
@click.option("--description")
@click.option("--pass-threshold", type=float, help="The score from which a task passes (default 1.0).")
@click.option("--network", multiple=True, metavar="HOST", help="A host that it may reach; repeatable.")
@click.option("--idempotency-key", metavar="KEY")
def create(subset: str, path: str, network: tuple[str, ...], **options: Any) -> None:
    """Register a task_impl.py as a scorer of a subset."""
    state = state_of()
    impls = state.client().impls
    made = impls.create(subset, files.text(path), network=list(network) or None, **options)
    _warn(made, path)
    show(state, made, FIELDS)


def _warn(impl: Any, path: str) -> None:
    """What is likely to score wrongly, as a compiler tells it."""
    for warning in impl.get("warnings") or ():
        note(f"{path}:{warning['line']}: {warning['level']}: {warning['words']} {warning['hint']}")


@click.command("ls", cls=Command)
@click.argument("subset", metavar="SUB")
def list_impls(subset: str) -> None:
    """Scorers of a subset, newest first."""
    state = state_of()
    columns = [(name, field(name)) for name in ("id", "label", "official", "pass_threshold", "created_at")]
    show_rows(state, state.client().impls.list(subset=subset), columns, "No scorer yet: bench impl create.")


@click.command("show", cls=Command)
@click.argument("impl", metavar="IMP")
def show_impl(impl: str) -> None:
    """One scorer."""
    state = state_of()
    found = state.client().impls.get(impl)
    _warn(found, "task_impl.py")
    show(state, found, [name for name in found if name != "warnings"])  # a table has no room for them


@click.command("code", cls=Command)
@click.argument("impl", metavar="IMP")
def code(impl: str) -> None:
    """The text of task_impl.py, as it is stored."""
    click.echo(state_of().client().impls.code(impl), nl=False)


@click.command("delete", cls=Command)
@click.argument("impl", metavar="IMP")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(impl: str, yes: bool) -> None:
    """Delete a scorer. Runs that used it keep it."""
    confirmed(yes, f"Delete scorer {impl}?")
    state_of().client().impls.delete(impl)
    note(f"scorer {impl} is deleted.")
