"""Groups that load a command when it is called, and options that every command takes."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import click

if TYPE_CHECKING:
    from ..client import Benchwright

FORMATS = ("table", "json", "ndjson", "yaml")
_VALUED = ("--profile", "--output", "--base-url")
_FLAGS = ("--debug",)


@dataclass
class State:
    """The global options of one call."""

    profile: str | None = None
    output: str | None = None
    base_url: str | None = None
    debug: bool = False
    _clients: list["Benchwright"] = field(default_factory=list)

    @property
    def format(self) -> str:
        """What to print: a table for people, else a line of JSON per object."""
        return self.output or ("table" if sys.stdout.isatty() else "ndjson")

    def client(self) -> "Benchwright":
        from ..client import Benchwright

        self._clients.append(Benchwright(base_url=self.base_url, profile=self.profile))
        return self._clients[-1]

    def close(self) -> None:
        """Drop the connections that this call made."""
        for client in self._clients:
            client.close()


def state_of(context: click.Context | None = None) -> State:
    """The call's global options."""
    return (context or click.get_current_context()).find_root().ensure_object(State)


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value not in (None, False):
        setattr(state_of(context), str(parameter.name), value)


def _global_options() -> list[click.Parameter]:
    shared: dict[str, Any] = {"expose_value": False, "callback": _remember}
    return [
        click.Option(["--profile"], metavar="NAME", help="Profile in ~/.config/benchwright/config.toml.", **shared),
        click.Option(["--base-url"], metavar="URL", help="Server to talk to (default: BW_BASE_URL).", **shared),
        click.Option(
            ["--output"],
            type=click.Choice(FORMATS),
            help="Default: table on a terminal, else ndjson.",
            **shared,
        ),
        click.Option(["--debug"], is_flag=True, help="Show the full problem document on errors.", **shared),
    ]


class Command(click.Command):
    """A command that takes the global options too, but for those that it declares itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = {parameter.name for parameter in self.params}
        self.params.extend(option for option in _global_options() if option.name not in own)


class TableGroup(click.Group):
    """A group whose commands are a table: name -> ("module:attribute" in cli.commands, one line of help).

    ``default`` names the command meant when the first word is none of them, and not close to one either.
    """

    command_class = Command

    def __init__(
        self, *args: Any, table: Mapping[str, tuple[str, str]], default: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.table = table
        self.default = default
        self.params.extend(_global_options())

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name][0].partition(":")
        return cast(click.Command, getattr(import_module(f"benchwright.cli.commands.{module}"), attribute))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        word = _first_word(args)
        known = word in self.table or word in ctx.help_option_names
        if self.default and word and not known and not self._near(word):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def _near(self, word: str) -> str | None:
        """The command that ``word`` may be a slip of; None for options and for what is more than one word."""
        if word.startswith("-") or len(word.split()) != 1:
            return None
        near = get_close_matches(word.lower(), self.table, n=1)
        return near[0] if near else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            word, near = args[0], self._near(args[0])
            hint = f" Did you mean {near}?" if near else ""
            if near and self.default:
                hint += f" If {word!r} is what you ask for: {ctx.command_path} {self.default} {word}."
            raise click.UsageError(f"No command {word!r} here.{hint} Known: {', '.join(self.table)}.", ctx) from error


def _first_word(args: list[str]) -> str | None:
    """The first word that is no global option; None where there is none."""
    position = 0
    while position < len(args):
        word = args[position]
        if word in _VALUED:
            position += 2
        elif word in _FLAGS or word.startswith(tuple(f"{name}=" for name in _VALUED)):
            position += 1
        else:
            return word
    return None


def table_group(
    name: str, table: Mapping[str, tuple[str, str]], default: str | None = None, **options: Any
) -> Callable[[Callable[..., Any]], click.Group]:
    """Decorator: a TableGroup."""
    made = click.group(name=name, cls=TableGroup, table=table, default=default, **options)
    return cast(Callable[[Callable[..., Any]], click.Group], made)
