"""``benchwright run [launch]``."""

from typing import Any

import click

from ... import cache
from ...groups import Command, state_of
from ...launch import attaching
from ...launch import options as launch_options
from ...output import note, show_id
from ...watch import following, gate


def _gate(context: click.Context, parameter: click.Parameter, value: str | None) -> gate.Gate | None:
    return gate.parse(value) if value else None


@click.command("launch", cls=Command)
@click.argument("request", required=False)
@click.option("--benchmark", metavar="BM", help="Benchmark id: a pinned launch.")
@click.option("--subset", metavar="SUB", help="Subset id.")
@click.option("--impl", metavar="IMP", help="Scorer: an id, latest or latest:LABEL.")
@click.option("--replay-from", metavar="RUN", help="Same tasks and scorer as this run (@last works).")
@click.option("--only-failed", is_flag=True, help="Replay what failed or was not scored.")
@click.option("--only-errored", is_flag=True, help="Replay what errored or was skipped: completes the run.")
@click.option("--task-ids", multiple=True, metavar="IDS", help="Replay these tasks: comma-separated, repeatable.")
@click.option("--revision", type=click.IntRange(min=1), help="Replay this revision of a rolling subset.")
@click.option("--model", metavar="MODEL@PROVIDER", help="The model under test.")
@click.option("--connection", metavar="NAME", help="Call it over this connection; --model is then the model's name.")
@click.option("--param", multiple=True, metavar="K=V", help="Model parameter, such as temperature=0.")
@click.option("--driver", metavar="MODEL@PROVIDER", help="The model that authors, or builtin.")
@click.option("--harness", help="benchwright, inspect, lmeval, lighteval or harbor.")
@click.option("--harness-task", metavar="TASK", help="The harness's own task (harbor: dataset).")
@click.option("--compute", help="local, e2b or sandbox0.")
@click.option("--limit-to", multiple=True, metavar="LEVEL.QUANTITY=VALUE", help="A ceiling, such as run.cost=15.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N tasks.")
@click.option("--trials", type=click.IntRange(min=1), help="Times each task is run.")
@click.option("--concurrency", type=click.IntRange(min=1), help="Tasks at once.")
@click.option("--metadata", multiple=True, metavar="K=V", help="Kept on the run; `run ls --metadata` finds it.")
@click.option("--hint", multiple=True, help="A hint for Find.")
@click.option("--secret", multiple=True, metavar="NAME", help="Further secret that the run may use.")
@click.option("--visibility", type=click.Choice(["private", "public"]), help="Who may see it.")
@click.option("--gate", "check", metavar="CONDITION", callback=_gate, help="pass_rate=0.90 or lower95>=0.90.")
@click.option("--no-wait", is_flag=True, help="Print the run's id and leave.")
@click.option("--new", is_flag=True, help="Start another run even if this very launch was made before.")
@click.option("--idempotency-key", metavar="KEY", help="Your own key instead of the derived one.")
def launch(check: gate.Gate | None, no_wait: bool, new: bool, idempotency_key: str | None, **options: Any) -> int:
    """Launch a run and watch it to its end.

    The same command from the same folder and commit re-attaches to the run that it launched before, unless that one
    failed; --new starts another.
    """
    state = state_of()
    if new and idempotency_key:
        raise click.UsageError("--new and --idempotency-key exclude each other: use another key.")
    if no_wait and check:
        raise click.UsageError("--gate needs the run's end; leave --no-wait out.")
    client = state.client()
    if options["replay_from"]:
        options["replay_from"] = cache.resolved(client.account, options["replay_from"])
    launched = attaching.launch(client, launch_options.body(options), idempotency_key, new)
    run = launched.run
    if launched.reattached:
        cure = "another --idempotency-key" if idempotency_key else "--new"
        note(f"re-attached to {run['id']}; {cure} starts another")
    if no_wait:
        show_id(state, run)
        return 0
    note(f"run {run['id']}  {(run.get('links') or {}).get('dashboard') or ''}".rstrip())
    return following.follow(client, state, run["id"], check)
