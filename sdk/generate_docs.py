"""Writes docs/cli.md from the commands themselves: ``python sdk/generate_docs.py docs/cli.md``."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parent / "src"))

from benchwright.cli.groups import Command
from benchwright.cli.main import root

SHARED = {"profile", "base_url", "output", "debug", "help", "version"}
HEAD = """# The command line

Made by `python sdk/generate_docs.py docs/cli.md` from the commands themselves; a test compares the two.

`pip install benchwright` (or `pip install ./sdk` from a checkout) brings it. It reads `BW_PAT` and `BW_BASE_URL`,
else the profile that `benchwright login` stored in `~/.config/benchwright/config.toml` (`XDG_CONFIG_HOME`
honoured). A named `--profile` beats the environment. A stored token is sent only to the address it was stored for.

Global options, before or after a command:

| option | does |
|---|---|
| `--profile NAME` | uses this profile |
| `--base-url URL` | talks to this server |
| `--output table\\|json\\|ndjson\\|yaml` | default: table on a terminal, else ndjson |
| `--debug` | shows the full problem document on errors |

Data goes to stdout; progress, remarks and errors go to stderr. Control codes in a server's text are taken out.

## Exit codes

| code | means |
|---|---|
| 0 | ok; the gate passed, if there was one |
| 1 | the gate failed; the endpoint of `connections test` did not answer |
| 2 | usage: the command can't mean that, or the server refuses it |
| 3 | the run failed or was halted, or it needs input and nobody is there |
| 4 | the gate is inconclusive: too many tasks were not scored to tell; or `run wait --timeout` ran out |
| 5 | the server can't be reached, or does not let this token do it |
| 130 | interrupted; a run that was being watched goes on |

## What it refuses before it asks the server

A word that is nearly a command's name (`benchwright run lanch`) is a slip, not a request: it ends with 2 and names the
command. To ask for that very word, write `benchwright run launch lanch`. Requests of several words are never taken
for one.

`--model` and `--driver` take MODEL@PROVIDER, such as `qwen/qwen3-32b@openrouter`; without a provider they are refused.

Files of rows are read whole before anything is sent. A bad one is told by its line and column, with what was expected
and what stands there; nothing is stored. Mend the line and give the same command again.

## Launching twice

A launch has an idempotency key derived from what it asks for (the arguments, without those that only concern the
display: `--gate`, `--no-wait`, `--output`), the folder and the git commit. The same command again re-attaches to
the run that it made, if that one is queued, running or ok, and says `re-attached to …; --new starts another`. After
a failed, halted or destroyed run it starts anew. `--idempotency-key` takes a key of yours instead, as it is.

`@last` is the run launched or forked last from this machine, per server and profile.

## The gate

`--gate pass_rate=0.90` (or `pass_rate>=90%`) compares passed / (passed + failed + unscored). Where tasks are
missing (errored or skipped), it passes only if the worst case does (all of them wrong), fails only if the best case
does (all of them right), and is inconclusive otherwise. A run without tasks fails. `--gate lower95>=0.90` asks for
the lower end of the 95 % interval: it passes when that end reaches the figure, fails when the upper end does not,
and is inconclusive between.

## In a pipe

`benchwright run … | …` prints each event as a line of JSON and, last, one `{"object": "run_result"}` with `status`,
`summary`, `score_line`, `gate` and `exit_code`. With `--output json` or `yaml` only that object is printed.
"""


def leaves(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """Every command with its full name, groups left out."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                yield from leaves(found, f"{path} {name}")
    else:
        yield path, command


def section(path: str, command: click.Command) -> str:
    """One command as Markdown."""
    context = click.Context(command, info_name=path)
    usage = " ".join(command.collect_usage_pieces(context)).replace("[OPTIONS]", "").split()
    lines = [f"\n### {path}", "", f"    {' '.join([path, *usage])}", "", _paragraphs(command.help or "")]
    options = [p for p in command.params if isinstance(p, click.Option) and p.name not in SHARED]
    if options:
        lines += ["", "| option | does |", "|---|---|"]
        lines += [_row(option, context) for option in options]
    return "\n".join(lines)


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def _row(option: click.Option, context: click.Context) -> str:
    names, text = option.get_help_record(context) or (", ".join(option.opts), "")
    return f"| `{names.replace('|', chr(92) + '|')}` | {' '.join(text.split())} |"


def document() -> str:
    """The whole of docs/cli.md."""
    parts = [section(path, command) for path, command in leaves(root, "benchwright") if isinstance(command, Command)]
    return HEAD + "\n## Commands\n" + "\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(document(), encoding="utf-8")
