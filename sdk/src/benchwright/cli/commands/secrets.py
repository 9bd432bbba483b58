"""``benchwright secrets``."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ..._objects import plain
from ..groups import Command, State, state_of, table_group
from ..named import named
from ..output import field, note, show, show_rows
from ..providers import RULES
from ..values import value_of, value_options
from .runs.act import confirmed

if TYPE_CHECKING:
    from ...client import Benchwright

COMMANDS = {
    "add": ("secrets:add", "Store a provider key."),
    "ls": ("secrets:list_secrets", "Names, rules and masked previews."),
    "rotate": ("secrets:rotate", "Put a new value in."),
    "update": ("secrets:update", "Change a secret's rules, name or description."),
    "uses": ("secrets:uses", "What a secret was used for."),
    "rm": ("secrets:remove", "Delete a secret."),
}
KINDS = ("bearer", "header", "basic", "query")


@table_group("secrets", COMMANDS)
def group() -> None:
    """Keep provider keys in the vault. They are written, never read back."""


def rule(text: str) -> dict[str, str]:
    """``openrouter.ai:bearer:Authorization``; the target may be left out for bearer and basic."""
    found = re.fullmatch(rf"(?P<host>.+?):(?P<kind>{'|'.join(KINDS)})(?::(?P<target>.+))?", text)
    if not found:
        raise click.BadParameter(
            f"--rule {text!r} is not of the form host:kind:target, kind one of {', '.join(KINDS)}."
        )
    target = found["target"] or ("Authorization" if found["kind"] in ("bearer", "basic") else "")
    if not target:
        raise click.BadParameter(f"--rule {text!r} needs a target: the {found['kind']}'s name.")
    return {"host_pattern": found["host"], "inject_kind": found["kind"], "inject_target": target}


@click.command("add", cls=Command)
@click.argument("name")
@value_options
@click.option("--rule", "rules", multiple=True, metavar="HOST:KIND:TARGET", help="Where the key goes; repeatable.")
@click.option("--description")
def add(name: str, rules: tuple[str, ...], description: str | None, value: str | None, value_stdin: bool) -> None:
    """Store a provider key. Without a value it is asked for, unseen.

    VALUE may be @file. A rule such as openrouter.ai:bearer:Authorization says which host gets the key and how; for
    well-known names it may be left out.
    """
    state = state_of()
    if not rules and name in RULES:
        rules = (RULES[name],)
        note(f"rule {RULES[name]}")
    if not rules:
        raise click.UsageError("Say where the key goes: --rule host:kind:target, such as api.host.com:bearer.")
    made = [rule(text) for text in rules]
    tell(state, state.client().secrets.create(name, value_of(value, value_stdin, name), made, description))


@click.command("ls", cls=Command)
def list_secrets() -> None:
    """Names, rules and masked previews."""
    columns = [(name, field(name)) for name in ("id", "name", "preview", "description", "created_at")]
    columns.insert(3, ("rules", lambda secret: [ruled(each) for each in secret.get("rules") or ()]))
    state = state_of()
    show_rows(
        state, state.client().secrets.list(), columns, "No secrets yet. `benchwright secrets add NAME` stores one."
    )


@click.command("rotate", cls=Command)
@click.argument("name")
@value_options
def rotate(name: str, value: str | None, value_stdin: bool) -> None:
    """Put a new value in. Runs that are going keep the old one."""
    state = state_of()
    client = state.client()
    secret_id = find(client, name)["id"]
    tell(state, client.secrets.update(secret_id, value=value_of(value, value_stdin, name)))


@click.command("update", cls=Command)
@click.argument("name")
@click.option("--rule", "rules", multiple=True, metavar="HOST:KIND:TARGET", help="Where the key goes from now on.")
@click.option("--rename", metavar="NEW", help="Another name.")
@click.option("--description")
@click.option("--value-stdin", is_flag=True, help="Read a new value from stdin too.")
def update(name: str, rules: tuple[str, ...], rename: str | None, description: str | None, value_stdin: bool) -> None:
    """Change a secret's rules, name or description. Runs that are going keep the old rules.

    --rule may be repeated; together they take the place of all rules that there were. Rules that ask more of the value,
    such as basic after bearer, need it sent along: --value-stdin.
    """
    made = [rule(text) for text in rules] or None
    if made is None and rename is None and description is None and not value_stdin:
        raise click.UsageError("Say what changes: --rule, --rename, --description or --value-stdin.")
    state = state_of()
    client = state.client()
    secret_id = find(client, name)["id"]
    value = value_of(None, True, name) if value_stdin else None
    tell(state, client.secrets.update(secret_id, value=value, rules=made, name=rename, description=description))


@click.command("uses", cls=Command)
@click.argument("name")
@click.option("--run", metavar="RUN", help="Only by this run.")
@click.option("--host", help="Only at this host.")
def uses(name: str, run: str | None, host: str | None) -> None:
    """What a secret was used for: by which run, where, how often and when.

    NAME may be the id, also of a secret that was deleted.
    """
    state = state_of()
    client = state.client()
    secret_id = name if name.startswith("sec_") else find(client, name)["id"]
    columns = [(each, field(each)) for each in ("last_at", "run", "via", "host", "path", "version", "uses")]
    show_rows(state, client.secrets.uses(secret_id, run=run, host=host), columns, "Not used yet.")


@click.command("rm", cls=Command)
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(name: str, yes: bool) -> None:
    """Delete a secret. Runs that need it will say that it is missing."""
    client = state_of().client()
    secret = find(client, name)
    confirmed(yes, f"Delete secret {secret['name']}?")
    client.secrets.delete(secret["id"])
    note(f"secret {secret['name']} is deleted.")


def ruled(each: Mapping[str, Any]) -> str:
    """A rule in words: ``api.openai.com bearer``, ``api.anthropic.com header x-api-key``."""
    target = str(each.get("inject_target") or "")
    usual = each.get("inject_kind") in ("bearer", "basic") and target == "Authorization"
    return f"{each['host_pattern']} {each['inject_kind']}" + ("" if usual or not target else f" {target}")


def tell(state: State, secret: Mapping[str, Any]) -> None:
    """One secret, its rules in words where a table is wanted."""
    data = plain(secret)
    if state.format == "table":
        data |= {"rules": [ruled(each) for each in data.get("rules") or ()]}
    show(state, data)


def find(client: "Benchwright", name: str) -> Any:
    """By id or by name. Raises click.UsageError when there is none."""
    return named(client.secrets, "secret", "sec_", name)
