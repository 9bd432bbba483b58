"""From launch options to a request's body."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from ..output import note

QUANTITIES = {
    "run": ("cost", "model_cost", "duration", "tokens", "tasks"),
    "phase": ("cost", "model_cost", "duration", "tokens"),
    "task": ("cost", "model_cost", "duration", "tokens", "attempts"),
    "attempt": ("duration", "tokens"),
}


def body(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of ``runs.launch`` that the options ask for. Raises click.UsageError for what can't go together."""
    _check_modes(options)
    made = {
        "request": options["request"],
        "benchmark": options["benchmark"],
        "subset": options["subset"],
        "impl": options["impl"],
        "replay": replay(options),
        "sut": sut(options["model"], options["param"], options.get("connection")),
        "driver": model(options["driver"], "--driver")
        if options["driver"] not in (None, "builtin")
        else options["driver"],
        "harness": options["harness"],
        "compute": options["compute"],
        "trials": options["trials"],
        "concurrency": options["concurrency"],
        "limits": limits(options["limit_to"]) or None,
        "hints": list(options["hint"]) or None,
        "secrets": list(options["secret"]) or None,
        "visibility": options["visibility"],
        "metadata": metadata(options) or None,
    }
    return {name: value for name, value in made.items() if value is not None}


def _check_modes(options: Mapping[str, Any]) -> None:
    modes = {
        "a request": options["request"],
        "--benchmark": options["benchmark"],
        "--replay-from": options["replay_from"],
    }
    chosen = [name for name, value in modes.items() if value]
    if len(chosen) != 1:
        got = f"not {' and '.join(chosen)} together" if chosen else "none was given"
        raise click.UsageError(f"A launch needs exactly one of a request, --benchmark and --replay-from; {got}.")
    if (options["subset"] or options["impl"]) and not options["benchmark"]:
        raise click.UsageError("--subset and --impl belong to --benchmark.")
    of_replays = ("only_failed", "only_errored", "task_ids", "revision")
    if any(options[name] for name in of_replays) and not options["replay_from"]:
        raise click.UsageError("--only-failed, --only-errored, --task-ids and --revision belong to --replay-from.")


def replay(options: Mapping[str, Any]) -> dict[str, Any] | None:
    if not options["replay_from"]:
        return None
    made: dict[str, Any] = {"from_run": options["replay_from"]}
    if options["only_failed"]:
        made["only_failed"] = True
    if options["only_errored"]:
        made["only_errored"] = True
    if options["revision"]:
        made["revision"] = options["revision"]
    if options["task_ids"]:
        made["task_ids"] = _tasks([part for text in options["task_ids"] for part in text.split(",") if part])
    return made


def _tasks(named: list[str]) -> list[str]:
    """Each task once: it runs once for each trial, however often it is named, and that is said."""
    if not named:
        raise click.UsageError("--task-ids names no task: name one, or leave it out to run them all.")
    once = list(dict.fromkeys(named))
    if len(once) < len(named):
        twice = ", ".join(name for name in once if named.count(name) > 1)
        note(f"Named more than once: {twice}. A task runs once for each trial; --trials runs it several times.")
    return once


def model(text: str, option: str = "--model") -> dict[str, str]:
    """``qwen/qwen3-32b@openrouter``; the last @ divides, so that a model's name may hold one. Both parts are needed."""
    name, _, provider = text.rpartition("@")
    if not name.strip() or not provider.strip():
        example = "such as qwen/qwen3-32b@openrouter, or my-model@vllm"
        lacking = "provider" if name or "@" not in text else "model"
        raise click.UsageError(f"{option} {text!r}: name the {lacking} too: {option} MODEL@PROVIDER ({example}).")
    return {"model": name, "provider": provider}


def driver(text: str | None) -> dict[str, str] | str | None:
    return text if text in (None, "builtin") else model(text, "--driver")


def sut(text: str | None, params: Sequence[str], connection: str | None = None) -> dict[str, Any] | None:
    """The model under test; with a connection the whole text is the model's name, since that tells the provider."""
    if not text:
        if params or connection:
            raise click.UsageError(f"--{'param' if params else 'connection'} belongs to --model.")
        return None
    named: dict[str, Any] = {"model": text, "connection": connection} if connection else model(text)
    return {**named, **({"params": pairs(params, "--param")} if params else {})}


def metadata(options: Mapping[str, Any]) -> dict[str, Any]:
    made = pairs(options["metadata"], "--metadata")
    if options["limit"] is not None:
        made["limit"] = options["limit"]
    if options["harness_task"]:
        if not options["harness"]:
            raise click.UsageError("--harness-task belongs to --harness.")
        part = "dataset" if options["harness"] == "harbor" else "task"
        made[f"{options['harness']}_harness"] = {part: options["harness_task"]}
    return made


def limits(items: Iterable[str]) -> dict[str, Any]:
    """``run.cost=15`` … as the nested object. ``phase.<name>.cost=1`` bounds one phase."""
    made: dict[str, Any] = {}
    for item in items:
        path, equals, number = item.partition("=")
        names = path.split(".")
        named_phase = len(names) == 3 and names[0] == "phase"
        if not equals or names[-1] not in QUANTITIES.get(names[0], ()) or not (len(names) == 2 or named_phase):
            known = "; ".join(f"{level}: {', '.join(names)}" for level, names in QUANTITIES.items())
            raise click.BadParameter(f"--limit-to {item!r}: it is level.quantity=value. Known: {known}.")
        place = made
        for name in names[:-1]:
            place = place.setdefault(name, {})
        place[names[-1]] = _number(number, item)
    return made


def _number(text: str, item: str) -> int | float:
    try:
        value = int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        value = -1
    if not 0 <= value < float("inf"):
        raise click.BadParameter(f"--limit-to {item!r}: {text!r} is no number of dollars, seconds or pieces.")
    return value


def pairs(items: Iterable[str], option: str) -> dict[str, Any]:
    """``key=value`` …; a value that is JSON (a number, true, a list) is taken as such, else as text."""
    made: dict[str, Any] = {}
    for item in items:
        key, equals, text = item.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{option} {item!r} is not of the form key=value.")
        try:
            made[key] = json.loads(text, parse_constant=str)
        except ValueError:
            made[key] = text
    return made
