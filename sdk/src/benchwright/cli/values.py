"""Secret values on a command line: asked for unseen, from stdin or from a file."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .output import note


def value_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds VALUE and --value-stdin."""
    command = click.option("--value-stdin", is_flag=True, help="Read the value from stdin.")(command)
    return click.argument("value", required=False)(command)


def value_of(value: str | None, from_stdin: bool, name: str) -> str:
    """The secret, from wherever it was said to be. Raises click.UsageError when it is empty or nobody can be asked."""
    if from_stdin and value:
        raise click.UsageError("Give the value or --value-stdin, not both.")
    if from_stdin:
        found = sys.stdin.read().rstrip("\r\n")
    elif value is None:
        if not sys.stdin.isatty():
            raise click.UsageError("No value, and nobody can be asked here. Use --value-stdin or @file.")
        found = str(click.prompt(f"{name} (hidden)", hide_input=True, err=True))
    elif value.startswith("@"):
        found = _from_file(value[1:])
    else:
        note("The value is now in your shell's history; next time leave it out, or use --value-stdin or @file.")
        found = value
    if not found.strip():
        raise click.UsageError("The value is empty.")
    return found


def _from_file(name: str) -> str:
    try:
        return Path(name).expanduser().read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{name} can't be read: {error}") from error
