"""``benchwright billing``."""

from decimal import Decimal, InvalidOperation

import click

from ..groups import Command, state_of, table_group
from ..output import show

COMMANDS = {
    "balance": ("billing:balance", "What is left, and what this month cost."),
    "topup": ("billing:topup", "Add credit."),
    "export": ("billing:export", "The ledger as CSV."),
}


@table_group("billing", COMMANDS)
def group() -> None:
    """Balance, top-ups, ledger."""


@click.command("balance", cls=Command)
def balance() -> None:
    """What is left, and what this month cost."""
    state = state_of()
    show(state, state.client().billing.balance.get())


@click.command("topup", cls=Command)
@click.argument("dollars")
@click.option("--idempotency-key", metavar="KEY")
def topup(dollars: str, idempotency_key: str | None) -> None:
    """Add credit: the answer says where to pay."""
    try:
        cents = Decimal(dollars) * 100
    except InvalidOperation:
        raise click.UsageError(f"{dollars!r} is no amount of dollars.") from None
    if cents != cents.to_integral_value() or cents <= 0:
        raise click.UsageError("The amount is dollars with at most two places, more than zero.")
    state = state_of()
    show(state, state.client().billing.topups.create(int(cents), idempotency_key=idempotency_key))


@click.command("export", cls=Command)
@click.option("--type", "kind", type=click.Choice(["transactions", "runs"]), default="transactions", show_default=True)
def export(kind: str) -> None:
    """The ledger, or the runs, as CSV on stdout."""
    click.echo(state_of().client().billing.export(type=kind), nl=False)
