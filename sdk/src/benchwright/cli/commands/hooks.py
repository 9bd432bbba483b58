"""``benchwright hooks``."""

import click

from ..groups import Command, state_of, table_group
from ..output import field, note, show, show_rows

COMMANDS = {
    "add": ("hooks:add", "Register an endpoint."),
    "ls": ("hooks:list_hooks", "Endpoints."),
    "test": ("hooks:test", "Send a test delivery."),
    "deliveries": ("hooks:deliveries", "What was sent, and what came of it."),
    "rm": ("hooks:remove", "Delete an endpoint."),
}


@table_group("hooks", COMMANDS)
def group() -> None:
    """Webhooks: be told when a run ends."""


@click.command("add", cls=Command)
@click.argument("url")
@click.option("--events", required=True, help="Comma-separated, such as run.finished,run.failed.")
@click.option("--description")
def add(url: str, events: str, description: str | None) -> None:
    """Register an endpoint. The signing secret is shown once, here."""
    state = state_of()
    names = [name.strip() for name in events.split(",") if name.strip()]
    show(state, state.client().webhooks.create(url, names, description))


@click.command("ls", cls=Command)
def list_hooks() -> None:
    """Endpoints."""
    state = state_of()
    columns = [(name, field(name)) for name in ("id", "url", "events", "status", "created_at")]
    show_rows(state, state.client().webhooks.list(), columns, "No webhooks yet.")


@click.command("test", cls=Command)
@click.argument("hook", metavar="WHK")
@click.option("--event", required=True, help="Such as run.finished.")
def test(hook: str, event: str) -> None:
    """Send a test delivery."""
    state = state_of()
    show(state, state.client().webhooks.test_delivery(hook, event=event))


@click.command("deliveries", cls=Command)
@click.argument("hook", metavar="WHK")
@click.option("--status")
def deliveries(hook: str, status: str | None) -> None:
    """What was sent, and what came of it."""
    state = state_of()
    columns = [(name, field(name)) for name in ("id", "event", "status", "attempts", "created_at")]
    show_rows(state, state.client().webhooks.deliveries(hook, status=status), columns, "Nothing was sent yet.")


@click.command("rm", cls=Command)
@click.argument("hook", metavar="WHK")
def remove(hook: str) -> None:
    """Delete an endpoint."""
    state_of().client().webhooks.delete(hook)
    note(f"webhook {hook} is deleted.")
