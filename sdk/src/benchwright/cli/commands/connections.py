"""``benchwright connections``."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from ..._objects import plain
from ..groups import Command, state_of, table_group
from ..named import named
from ..output import field, note, show, show_rows
from .runs.act import confirmed

if TYPE_CHECKING:
    from ...client import Benchwright

COMMANDS = {
    "add": ("connections:add", "Set up a model endpoint or a compute backend."),
    "ls": ("connections:list_connections", "Names, providers, base URLs."),
    "show": ("connections:show_one", "One connection, whole."),
    "set": ("connections:change", "Change some of it."),
    "test": ("connections:try_out", "One tiny call: does it answer, and at what price?"),
    "rm": ("connections:remove", "Delete a connection."),
}
SHOWN = (
    "ok",
    "model",
    "latency_ms",
    "served",
    "as_asked",
    "upstream",
    "tokens_in",
    "tokens_out",
    "cost",
    "priced_by",
    "cap",
    "error",
)


@table_group("connections", COMMANDS)
def group() -> None:
    """Model endpoints and compute backends under a name: `--connection` of a launch."""


def price(text: str) -> tuple[str, dict[str, float]]:
    """``MODEL=INPUT,OUTPUT[,CACHED]``: dollars per million tokens."""
    model, equals, amounts = text.rpartition("=")
    try:
        figures = [float(each) for each in amounts.split(",")]
    except ValueError:
        figures = []
    if not equals or not model or len(figures) not in (2, 3):
        raise click.BadParameter(
            f"--price {text!r} is not of the form MODEL=INPUT,OUTPUT or MODEL=INPUT,OUTPUT,CACHED."
        )
    return model, dict(zip(("input", "output", "cached_input"), figures, strict=False))


def _not_the_server(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Whoever writes --base-url here may mean the endpoint, and an endpoint must not be sent our token."""
    if value is not None:
        raise click.UsageError(
            f"--base-url is the Benchwright server everywhere else. The address of the connection is --url {value}; to "
            f"talk to another server, put it before the command: benchwright --base-url {value} connections "
            f"{context.info_name} …",
            context,
        )


def described(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that say what a connection is."""
    for option in reversed(
        (
            click.option("--url", metavar="URL", help="Where it is, if not at the provider's own address."),
            click.option("--base-url", hidden=True, expose_value=False, callback=_not_the_server),
            click.option(
                "--secret", metavar="NAME", help="What opens it; else the secret whose rule matches the host."
            ),
            click.option(
                "--price",
                "prices",
                multiple=True,
                metavar="MODEL=IN,OUT",
                help="Dollars per million tokens; repeatable.",
            ),
            click.option("--upstream", help="Pin a router to this upstream."),
            click.option("--quantization", help="Pin a router to this quantisation, such as fp8."),
            click.option("--model-cost", type=float, metavar="USD", help="What its key may spend in each run."),
            click.option("--model", help="The model that `test` calls."),
        )
    ):
        command = option(command)
    return command


def fields(given: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that the options ask for; parts that they don't name stay as they were ``before``."""
    made = {name: given[option] for name, option in (("base_url", "url"), ("secret", "secret")) if given[option]}
    if given["prices"]:
        made["prices"] = {**(before.get("prices") or {}), **dict(price(text) for text in given["prices"])}
    routing = {name: given[name] for name in ("upstream", "quantization") if given[name]}
    metadata: dict[str, Any] = {"model": given["model"]} if given["model"] else {}
    if given["model_cost"] is not None:
        metadata["limits"] = {"run": {"model_cost": given["model_cost"]}}
    for name, value in (("routing", routing), ("metadata", metadata)):
        if value:
            made[name] = {**(before.get(name) or {}), **value}
    return made


@click.command("add", cls=Command)
@click.argument("name")
@click.option("--provider", required=True, help="Such as openrouter, openai, vllm; e2b or sandbox0 with --compute.")
@click.option("--compute", is_flag=True, help="A compute backend, not a model endpoint.")
@described
def add(name: str, provider: str, compute: bool, **given: Any) -> None:
    """Set up a model endpoint or a compute backend under NAME."""
    state = state_of()
    kind = "compute" if compute else "ai_model"
    show(state, state.client().connections.create(name, provider, kind=kind, **fields(given, {})))


@click.command("set", cls=Command)
@click.argument("name")
@click.option("--rename", metavar="NEW", help="Another name.")
@click.option("--no-secret", is_flag=True, help="Take its secret off.")
@described
def change(name: str, rename: str | None, no_secret: bool, **given: Any) -> None:
    """Change some of a connection; the rest stays. Runs under way keep what they were launched with."""
    if no_secret and given["secret"]:
        raise click.UsageError("--secret and --no-secret exclude each other.")
    state = state_of()
    client = state.client()
    found = plain(find(client, name))
    changes = fields(given, found) | ({"name": rename} if rename else {}) | ({"secret": None} if no_secret else {})
    if not changes:
        raise click.UsageError("Say what to change; `benchwright connections set --help` lists what can be.")
    show(state, client.connections.update(found["id"], **changes))


@click.command("ls", cls=Command)
def list_connections() -> None:
    """Names, providers, base URLs."""
    columns = [(name, field(name)) for name in ("id", "name", "kind", "provider", "base_url", "created_at")]
    columns.insert(5, ("secret", field("secret", "name")))
    state = state_of()
    rows = state.client().connections.list()
    show_rows(state, rows, columns, "No connections yet. `benchwright connections add NAME --provider …` sets one up.")


@click.command("show", cls=Command)
@click.argument("name")
def show_one(name: str) -> None:
    """One connection, whole."""
    state = state_of()
    show(state, find(state.client(), name))


@click.command("test", cls=Command)
@click.argument("name")
@click.option("--model", help="The model to call; else the connection's usual one.")
def try_out(name: str, model: str | None) -> int:
    """One tiny call: latency, the model that served it, its price, what a ceiling on cost would do.

    Exit code 1 where the endpoint did not answer.
    """
    state = state_of()
    client = state.client()
    found = client.connections.test(find(client, name)["id"], model)
    show(state, found, SHOWN)
    return 0 if found["ok"] else 1


@click.command("rm", cls=Command)
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(name: str, yes: bool) -> None:
    """Delete a connection. Its secret stays, and runs under way go on."""
    client = state_of().client()
    found = find(client, name)
    confirmed(yes, f"Delete connection {found['name']}?")
    client.connections.delete(found["id"])
    note(f"connection {found['name']} is deleted.")


def find(client: "Benchwright", name: str) -> Any:
    """By id or by name. Raises click.UsageError when there is none."""
    return named(client.connections, "connection", "con_", name)
