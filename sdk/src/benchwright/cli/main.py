"""Where ``benchwright`` starts: the table of commands, and what errors mean to a shell."""

import sys
from collections.abc import Sequence

import click

from .. import __version__
from ..errors import (
    APIConnectionError,
    APIError,
    AuthenticationError,
    BenchwrightError,
    ConfigError,
    InsufficientBalanceError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
)
from .groups import State, TableGroup, state_of
from .text import clean, json_text

USAGE, UNREACHABLE, INTERRUPTED = 2, 5, 130
_BARRED = (
    APIConnectionError,
    AuthenticationError,
    ConfigError,
    InsufficientBalanceError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
)

COMMANDS = {
    "run": ("runs:group", "Launch a run, watch it, read it, stop it."),
    "bench": ("bench:group", "Author benchmarks: subsets, rows, scorers."),
    "secrets": ("secrets:group", "Keep provider keys in the vault."),
    "hosts": ("hosts:group", "Which hosts runs may reach, and which they tried in vain."),
    "connections": ("connections:group", "Model endpoints and compute backends under a name."),
    "billing": ("billing:group", "Balance, top-ups, ledger."),
    "hooks": ("hooks:group", "Webhooks: be told when a run ends."),
    "login": ("account:login", "Store a token for this machine."),
    "token": ("account:token", "Mint tokens (in the browser)."),
    "me": ("account:me", "Who am I, and what may this token do?"),
    "doctor": ("doctor:doctor", "Check server, token, scopes, provider keys and clock."),
}

EPILOG = """Exit codes: 0 ok · 1 gate failed · 2 usage · 3 run failed or halted · 4 gate inconclusive ·
5 cannot reach or not authorised."""


@click.group(cls=TableGroup, table=COMMANDS, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="benchwright")
def root() -> None:
    """Benchwright: run benchmarks on language models and get an honest score.

    Global options work before and after a command. The token comes from BW_PAT or from `benchwright login`, the
    server from BW_BASE_URL, --base-url or the profile.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(argv))


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Errors become a sentence on stderr."""
    state = State()
    try:
        outcome = root.main(args=argv, prog_name="benchwright", standalone_mode=False, obj=state)
        return outcome if isinstance(outcome, int) else 0
    except click.ClickException as error:
        error.show()
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # by the second click tells of a closed pipe
        sys.stderr.close()  # the reader of our output has gone; nobody is left to complain to
        return 0
    except (BenchwrightError, ValueError) as error:
        return _tell(error, state)
    except Exception as error:  # a gate must never read a fault of ours as its own verdict (exit 1)
        if state.debug:
            raise
        click.echo(f"Error: {type(error).__name__}: {clean(str(error))}. --debug shows where.", err=True)
        return UNREACHABLE
    finally:
        state.close()


def _tell(error: Exception, state: State) -> int:
    click.echo(f"Error: {clean(str(error))}", err=True)
    if state.debug and isinstance(error, APIError) and error.body is not None:
        click.echo(json_text(error.body, indent=2), err=True)
    return UNREACHABLE if isinstance(error, _BARRED) else USAGE


__all__ = ["main", "root", "run", "state_of"]
