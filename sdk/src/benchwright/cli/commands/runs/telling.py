"""What a run comes to: report, plain words, remedies, audit, flags."""

from pathlib import Path
from typing import Any

import click

from ... import cache
from ...groups import Command, state_of
from ...output import field, note, show, show_rows
from ...text import clean

AUDIT_COLUMNS = [
    ("id", field("id")),
    ("task", field("task_id")),
    ("side", field("side")),
    ("outcome", field("first", "outcome")),
    ("scorer read", field("first", "answer")),
    ("second reader read", field("second", "answer")),
    ("says right", field("second", "passed")),
]
FLAG_COLUMNS = [
    ("code", field("code")),
    ("settled", field("settlement", "verdict")),
    ("detail", field("detail")),
    ("remarks", lambda flag: len(flag.get("remarks") or [])),
]


@click.command("report", cls=Command)
@click.argument("run_id")
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "html", "json"]),
    help="Default: html for a file that ends so, else markdown.",
)
@click.option("-f", "--file", "path", type=click.Path(dir_okay=False), help="Write to this file instead of stdout.")
def report(run_id: str, form: str | None, path: str | None) -> None:
    """The report of an ended run: score with interval, what did not pass and why, cost, provenance."""
    client = state_of().client()
    endings = {".html": "html", ".htm": "html", ".json": "json"}
    form = form or endings.get(Path(path).suffix.lower() if path else "", "markdown")
    text = client.runs.report(cache.resolved(client.account, run_id), format=form)
    if path is None:
        click.echo(clean(text) if form == "markdown" else text)
        return
    Path(path).write_text(text, encoding="utf-8")
    note(f"{form} report in {path}")


@click.command("narrate", cls=Command)
@click.argument("run_id")
@click.option("--slice", "part", type=click.Choice(["recent", "failures", "all"]), default="recent", show_default=True)
@click.option("--ask-driver", is_flag=True, help="Let the run's driver model write it, which costs.")
def narrate(run_id: str, part: str, ask_driver: bool) -> None:
    """The run in plain words: how far it is, what it waits for, what failed, what to do next. Free."""
    state = state_of()
    client = state.client()
    told = client.runs.narrate(cache.resolved(client.account, run_id), slice=part, ask_driver=ask_driver)
    if state.format == "table":
        click.echo(clean(told["text"]))
        if told.get("notice"):
            note(told["notice"])
    else:
        show(state, told)


@click.command("remedies", cls=Command)
@click.argument("run_id")
def remedies(run_id: str) -> None:
    """What did not pass, by class; what mends it, what that costs, and the command that does it."""
    state = state_of()
    client = state.client()
    found = client.runs.remedies(cache.resolved(client.account, run_id))
    if state.format != "table":
        show(state, found)
        return
    if not found["classes"]:
        note("Everything passed: there is nothing to mend.")
    for group in found["classes"]:
        click.echo(clean(f"{group['count']:,} {group['outcome']}  {group['error_class'] or ''}  {group['meaning']}"))
        for offer in group["offers"]:
            click.echo(clean(f"    {offer['label']} ({offer['price_words']})"))
            if offer["command"]:
                click.echo(clean(f"      {offer['command']}"))


@click.command("audit", cls=Command)
@click.argument("run_id")
def audit(run_id: str) -> None:
    """Outputs that a second reader reads otherwise than the scorer did. Free: no model is asked."""
    state = state_of()
    client = state.client()
    found = client.runs.audit(cache.resolved(client.account, run_id))
    if state.format in ("json", "yaml"):
        show(state, found)
        return
    if state.format == "table":
        click.echo(clean(found["sentence"]))
    hidden = "Which ones is told to those who may see the expected answers." if found["rows_hidden"] else ""
    show_rows(state, found["rows"], AUDIT_COLUMNS, hidden or "No output is read differently.")


@click.command("review", cls=Command)
@click.argument("run_id")
@click.option("--code", help="The flag to answer, such as truncated.")
@click.option("-m", "--note", "said", default="", help="What you say to it.")
@click.option("--settle", type=click.Choice(["accepted", "rejected"]), help="Only the benchmark's owner, or staff.")
def review(run_id: str, code: str | None, said: str, settle: str | None) -> None:
    """The flags of a run. With --code and --note you comment on one; with --settle you settle it for the board."""
    state = state_of()
    client = state.client()
    run_id = cache.resolved(client.account, run_id)
    if code is None and (said or settle):
        raise click.UsageError("Say which flag: --code.")
    if code is None:
        run: Any = client.runs.get(run_id)
    else:
        resolution = {"code": code, "note": said, **({"settlement": settle} if settle else {})}
        run = client.runs.update(run_id, review_resolution=resolution)
    show_rows(state, run["review"], FLAG_COLUMNS, "No flags.")
