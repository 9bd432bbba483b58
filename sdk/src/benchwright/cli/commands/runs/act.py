"""Acting on a run that exists."""

import sys
from typing import Any

import click

from ....errors import WaitTimeout
from ... import cache
from ...groups import Command, state_of
from ...launch import options as launch_options
from ...output import note, show
from ...watch import following, gate
from .launch import _gate
from .sheet import show_run


@click.command("wait", cls=Command)
@click.argument("run_id")
@click.option("--gate", "check", metavar="CONDITION", callback=_gate, help="pass_rate=0.90 or lower95>=0.90.")
@click.option("--timeout", type=float, metavar="SECONDS", help="Do not watch; ask until then, and exit 4 after it.")
def wait(run_id: str, check: gate.Gate | None, timeout: float | None) -> int:
    """Watch a run to its end; the exit code is its end's."""
    state = state_of()
    client = state.client()
    run_id = cache.resolved(client.account, run_id)
    if timeout is None:
        return following.follow(client, state, run_id, check)
    try:
        run = client.runs.wait(run_id, timeout=timeout)
    except WaitTimeout as error:
        note(str(error))
        return gate.INCONCLUSIVE
    return following.conclude(client, state, run, check)


@click.command("kill", cls=Command)
@click.argument("run_id")
@click.option("--reason", help="Kept with the run.")
def halt(run_id: str, reason: str | None) -> None:
    """Stop a run. What is done stays readable."""
    state = state_of()
    client = state.client()
    run = client.runs.halt(cache.resolved(client.account, run_id), reason=reason)
    if state.format == "table":
        ended = run["status"] in ("ok", "failed", "halted")
        click.echo(
            f"run {run['id']} " + (f"has ended: {run['status']}." if ended else "is stopping; its results stay.")
        )
    else:
        show(state, run)


@click.command("delete", cls=Command)
@click.argument("run_id")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(run_id: str, yes: bool) -> None:
    """DESTROY a run, results and all. Irreversible."""
    state = state_of()
    client = state.client()
    run_id = cache.resolved(client.account, run_id)
    confirmed(yes, f"Destroy run {run_id} and all its results? This can't be undone")
    client.runs.kill(run_id)
    note(f"run {run_id} is destroyed.")


def confirmed(yes: bool, question: str) -> None:
    """Ask, or raise click.UsageError where nobody can answer."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("This destroys something and nobody can be asked here. Add --yes.")
    click.confirm(question, abort=True, err=True)


@click.command("publish", cls=Command)
@click.argument("run_id")
@click.option("--visibility", default="public", show_default=True, type=click.Choice(["public", "private"]))
def publish(run_id: str, visibility: str) -> None:
    """Show a run to everyone; its benchmark follows."""
    state = state_of()
    client = state.client()
    show_run(state, client.runs.publish(cache.resolved(client.account, run_id), visibility))


@click.command("update", cls=Command)
@click.argument("run_id")
@click.option("--visibility", type=click.Choice(["public", "private"]))
@click.option("--metadata", multiple=True, metavar="K=V", help="Replaces the run's metadata.")
def update(run_id: str, visibility: str | None, metadata: tuple[str, ...]) -> None:
    """Change visibility or metadata."""
    state = state_of()
    client = state.client()
    fields: dict[str, Any] = {"visibility": visibility}
    if metadata:
        fields["metadata"] = launch_options.pairs(metadata, "--metadata")
    show_run(state, client.runs.update(cache.resolved(client.account, run_id), **fields))
