"""``benchwright login``, ``token`` and ``me``."""

import sys

import click

from ... import config
from ..groups import Command, state_of, table_group
from ..output import note, show

TOKEN_COMMANDS = {"create": ("account:token_create", "Open the page where tokens are minted.")}


@click.command("login", cls=Command)
@click.option("--value-stdin", is_flag=True, help="Read the token from stdin.")
def login(value_stdin: bool) -> None:
    """Store a token for this machine, after trying it.

    Tokens are minted in the browser, under Manage → API keys; paste it here unseen. It goes into
    ~/.config/benchwright/config.toml, readable by you only, under --profile (default: default), for --base-url.
    """
    from ...client import Benchwright

    state = state_of()
    profile = state.profile or "default"
    stored = (config.load().get("profiles") or {}).get(profile, {})
    base_url = config.tidy(state.base_url or stored.get("base_url") or _environment_url() or config.PUBLIC_SITE)
    if value_stdin:
        token = sys.stdin.read().strip()
    elif sys.stdin.isatty():
        note(f"Mint a token at {base_url}/manage, then paste it here.")
        token = str(click.prompt("Token (hidden)", hide_input=True, err=True)).strip()
    else:
        raise click.UsageError("Nobody can be asked here. Use --value-stdin.")
    with Benchwright(api_key=token, base_url=base_url) as client:
        account = client.me()
    target = config.store(profile, base_url, token)
    note(
        f"Signed in to {base_url} as {account.get('email') or account['id']}. Stored in {target}, profile {profile!r}."
    )


def _environment_url() -> str | None:
    import os

    return os.environ.get("BW_BASE_URL")


@table_group("token", TOKEN_COMMANDS)
def token() -> None:
    """Tokens. They are minted, rotated and revoked in the browser only."""


@click.command("create", cls=Command)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def token_create(no_browser: bool) -> None:
    """Open the page where tokens are minted; no token can mint another."""
    state = state_of()
    url = f"{config.resolve(base_url=state.base_url, profile=state.profile).base_url}/manage"
    note("Tokens are minted in the browser, never by another token. Then: benchwright login")
    click.echo(url)
    if not no_browser and sys.stdout.isatty():
        click.launch(url)


@click.command("me", cls=Command)
def me() -> None:
    """Who am I, and what may this token do?"""
    state = state_of()
    show(state, state.client().me())
