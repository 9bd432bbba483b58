"""``benchwright hosts``."""

import itertools
import re
from collections.abc import Mapping
from typing import Any

import click

from ..._objects import plain
from .. import cache
from ..groups import Command, state_of, table_group
from ..output import field, note, show, show_rows

COMMANDS = {
    "ls": ("hosts:list_entries", "Your entries and the default."),
    "allow": ("hosts:allow", "Let runs reach a host from now on."),
    "block": ("hosts:block", "Keep runs from a host from now on."),
    "rm": ("hosts:remove", "Delete entries."),
    "default": ("hosts:default", "Allow the usual hosts, or block all that have no entry."),
    "starter-pack": ("hosts:starter_pack", "Add GitHub, PyPI and Hugging Face as entries."),
    "blocked": ("hosts:blocked", "Hosts that runs tried to reach and were not allowed to."),
}
MODES = click.Choice(["allow", "block"])
DEFAULTS = {
    "allow": "default allow: open are hosts of leased secrets and of the scorer, to Find and Analyze the built-in set",
    "block": "default block: what has no entry here is blocked",
}  # fmt: skip
BLOCKED = [(name, field(name)) for name in ("host", "attempts", "reason", "policy", "first_at", "last_at")]


@table_group("hosts", COMMANDS)
def group() -> None:
    """Say which hosts your runs may reach, and see which they tried in vain.

    A pattern is an exact host, or *.example.com (which does not match example.com itself). Block beats allow. A change
    holds for the next request, also of runs that are going.
    """


@click.command("ls", cls=Command)
@click.option("--mode", type=MODES, help="Only these.")
def list_entries(mode: str | None) -> None:
    """Your entries and the default."""
    state = state_of()
    found = state.client().host_policy.list(mode=mode)
    note(DEFAULTS.get(str(found.get("default")), ""))
    columns = [(name, field(name)) for name in ("id", "mode", "host_pattern", "created_at")]
    show_rows(state, found, columns, "No entries yet. `benchwright hosts allow HOST` makes one.")


@click.command("allow", cls=Command)
@click.argument("patterns", nargs=-1, required=True, metavar="HOST...")
def allow(patterns: tuple[str, ...]) -> None:
    """Let runs reach a host from now on, with all methods and in all phases. A host may be *.example.com."""
    _add(patterns, "allow")


@click.command("block", cls=Command)
@click.argument("patterns", nargs=-1, required=True, metavar="HOST...")
def block(patterns: tuple[str, ...]) -> None:
    """Keep runs from a host from now on, whatever else would let them. A host may be *.example.com."""
    _add(patterns, "block")


def _add(patterns: tuple[str, ...], mode: str) -> None:
    state = state_of()
    client = state.client()
    for pattern in patterns:
        made = client.host_policy.add(pattern, mode=mode)
        for warning in made.get("warnings") or ():
            note(f"{made['host_pattern']}: {warning}")
        if state.format == "table":
            click.echo(f"{made['mode']} {made['host_pattern']}  {made['id']}")
        else:
            show(state, made)


@click.command("rm", cls=Command)
@click.argument("entries", nargs=-1, required=True, metavar="ID|HOST...")
@click.option("--mode", type=MODES, help="Of a host that is both allowed and blocked, only this entry.")
def remove(entries: tuple[str, ...], mode: str | None) -> None:
    """Delete entries, by id or by host. The default answers for those hosts again."""
    client = state_of().client()
    known: list[Any] = list(client.host_policy.list()) if any(not _is_id(each) for each in entries) else []
    for each in entries:
        meant = [each] if _is_id(each) else _named(known, each, mode)
        for entry_id in meant:
            client.host_policy.delete(entry_id)
            note(f"{each} is deleted.")


def _is_id(text: str) -> bool:
    return text.startswith("hp_")


def _named(known: list[Any], pattern: str, mode: str | None) -> list[str]:
    wanted = pattern.lower().removesuffix(".")
    found = [row for row in known if row["host_pattern"] == wanted and mode in (None, row["mode"])]
    if not found:
        there = ", ".join(sorted({row["host_pattern"] for row in known})) or "none"
        raise click.UsageError(f"No entry for {pattern!r}. Known: {there}.")
    return [row["id"] for row in found]


@click.command("default", cls=Command)
@click.argument("mode", required=False, type=MODES)
def default(mode: str | None) -> None:
    """Allow the usual hosts, or block all that have no entry. Without a word it shows what holds."""
    state = state_of()
    client = state.client()
    if mode is None:
        found: Mapping[str, Any] = {"mode": client.host_policy.list(limit=1)["default"]}
    else:
        found = plain(client.host_policy.default(mode))
    note(DEFAULTS[found["mode"]])
    show(state, found, ["mode"])


@click.command("starter-pack", cls=Command)
def starter_pack() -> None:
    """Add GitHub, PyPI and Hugging Face as entries, for all methods and all phases."""
    state = state_of()
    found = state.client().host_policy.starter_pack()
    for entry in found["data"]:
        for warning in entry.get("warnings") or ():
            note(f"{entry['host_pattern']}: {warning}")
    note(f"{found['added']} added, {len(found['data']) - found['added']} were there.")
    if state.format != "table":
        show_rows(state, found["data"], [])


@click.command("blocked", cls=Command)
@click.option("--run", "run_id", metavar="RUN", help="Only what this run tried; @last is the one launched last.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Rows to show.")
def blocked(run_id: str | None, limit: int) -> None:
    """Hosts that runs tried to reach and were not allowed to: over all your runs, or of one."""
    show_blocked(run_id, limit)


def show_blocked(run_id: str | None, limit: int) -> None:
    """The table of blocked hosts, and how to let one pass."""
    state = state_of()
    client = state.client()
    if run_id is None:
        rows = list(itertools.islice(client.host_policy.blocked_hosts(), limit))
        columns = [*BLOCKED, ("runs", field("runs"))]
    else:
        rows = list(itertools.islice(client.runs.blocked_hosts(cache.resolved(client.account, run_id)), limit))
        columns = BLOCKED
    show_rows(state, rows, columns, "Nothing was blocked.")
    if state.format == "table" and (closed := [row["host"] for row in rows if _may_be_opened(row)]):
        note(f"`benchwright hosts allow {closed[0]}` lets later requests to it pass.")


def _may_be_opened(row: Mapping[str, Any]) -> bool:
    """Whether an entry would help. A name with other signs is none, and no shell should be given it."""
    plain_name = re.fullmatch(r"[a-z0-9._-]+", row["host"]) is not None
    return plain_name and row["reason"] == "host_blocked" and row.get("policy") is None and row.get("allowable", True)
