"""``python -m demo``: what `make demo` runs once everything is installed."""

import argparse
import contextlib
import os
import signal
import sys
import time
from typing import Any

from benchwright import APIError, Benchwright, BenchwrightError, Object
from demo import story
from demo.models import BadModel, Choice, choose, offers
from demo.server import DemoTrouble, Login, login, port_or_free, running

TRUTH = """A model of 135 million parameters shows the wiring, not the state of the art:
the same run takes any model, by adding its key and naming it."""
SECOND_PARAMS = {"temperature": 1.0}


def say(text: str = "") -> None:
    print(text, flush=True)


def step(text: str) -> None:
    say(f"· {text}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make demo", description="Evaluate a model on real benchmark rows.")
    parser.add_argument("--model", help="model@provider (default: the small local model)")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--rows", type=int, default=24)
    parser.add_argument("--once", action="store_true", help="leave out the second run")
    return parser.parse_args()


def tell(bw: Benchwright, choice: Choice, options: argparse.Namespace) -> None:
    """The whole story, from the rows to the comparison."""
    bm, subset = story.benchmark(bw, options.rows, step)
    story.hand_over_key(bw, choice)
    concurrency = 2 if choice.local else 8
    launch: dict[str, Any] = {"concurrency": concurrency, "metadata": {"purpose": "demo"}}
    run = bw.runs.launch(benchmark=bm, subset=subset, sut=choice.sut, limits={"run": {"cost": 1.0}}, **launch)
    step(f"run {run.id}: {choice.model} by {choice.provider}")
    say(f"  watch it: {run.links.dashboard}")
    first = story.watch(bw, run, step)
    say()
    say(f"Score: {story.score_line(bw, first)}")
    if not options.once:
        compare(bw, choice, first, launch)


def compare(bw: Benchwright, choice: Choice, first: Object, launch: dict[str, Any]) -> None:
    say()
    step(f"the same tasks again, replayed with {SECOND_PARAMS}")
    sut = {**choice.sut, "params": SECOND_PARAMS}
    second = story.watch(bw, bw.runs.launch(replay={"from_run": first.id}, sut=sut, **launch), step)
    say()
    say(f"Score: {story.score_line(bw, second)}")
    say(f"Difference to the first run: {story.paired(bw, first, second)}")
    say(f"  see it: {second.links.dashboard}")


def farewell(url: str, who: Login) -> None:
    say()
    say(f"Sign in at {url}/manage as {who.email} with the password {who.password}")
    say(f"Use it yourself: export BW_BASE_URL={url} BW_PAT={who.token}")
    say("  then .venv/bin/benchwright run ls, or Python: from benchwright import Benchwright")


def perform(options: argparse.Namespace) -> None:
    """All of it; returns at the end with CI set, else stays until Ctrl-C."""
    choice = choose(options.model)
    if choice.note:
        step(choice.note)
    port = port_or_free(options.port)
    if port != options.port:
        step(f"port {options.port} is taken; using a free one")
    with running(port, choice.local, step) as url:
        who = login()
        with Benchwright(api_key=who.token, base_url=url) as bw:
            tell(bw, choice, options)
        say()
        for line in [*([TRUTH] if choice.local else []), *(f"  {offer}" for offer in offers())]:
            say(line)
        if os.environ.get("CI", "").lower() in ("", "0", "false"):
            farewell(url, who)
            stay()


def stay() -> None:
    say("The server stays up until Ctrl-C.")
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)
    step("stopping")


def main() -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stopped from outside: stop the server too
    try:
        perform(arguments())
    except (DemoTrouble, BadModel, BenchwrightError) as trouble:
        said = story.explain(trouble) if isinstance(trouble, APIError) else str(trouble)
        say(f"The demo stopped: {said}")
        return 1
    except KeyboardInterrupt:
        say()
        step("stopped")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
