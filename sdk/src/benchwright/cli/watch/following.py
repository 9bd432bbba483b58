"""Follow a run to its end, say what came of it, and turn that into an exit code."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ..groups import State
from ..output import note, show
from ..text import one_line
from . import displays, gate
from .cost_line import cost_line
from .progress import Progress
from .score_line import score_line

if TYPE_CHECKING:
    from ..._objects import Object
    from ...client import Benchwright

INTERRUPTED = 130


def follow(client: "Benchwright", state: State, run_id: str, check: gate.Gate | None) -> int:
    """Show the run until it ends; the exit code of its end, or 130 when the person stops looking."""
    display, progress = displays.for_state(state), Progress()
    try:
        for event in client.runs.stream(run_id):
            progress.feed(event)
            display.event(event, progress)
            if event["type"] == "InputNeeded" and client.runs.get(run_id)["status"] == "needs_input":
                break  # the answer is another command's; an older question was answered
    except KeyboardInterrupt:
        display.close()
        note(
            f"\nThe run goes on. Look again: benchwright run wait {run_id}\n"
            f"                Stop it:    benchwright run kill {run_id}"
        )
        return INTERRUPTED
    finally:
        display.close()
    return conclude(client, state, client.runs.get(run_id), check)


def conclude(client: "Benchwright", state: State, run: "Object", check: gate.Gate | None) -> int:
    """Print the end of a run and give its exit code."""
    summary = run.get("summary") or client.runs.tasks(run["id"], limit=1).summary
    verdict = gate.judge(check, summary) if check else None
    code = gate.PASSED if run["status"] == "ok" else gate.RUN_BROKE
    if code == gate.PASSED and verdict:
        code = verdict.code
    line = score_line(summary, run.get("trials") or 1, run.get("scope"))
    if state.format == "table":
        _say(run, [line, cost_line(run, summary)], check, verdict)
    else:
        show(state, _result(run, summary, line, check, verdict, code))
    return code


def _say(run: "Object", lines: list[str], check: gate.Gate | None, verdict: gate.Verdict | None) -> None:
    if run["status"] != "ok":
        click.echo(why_not_ok(run))
    if run.get("asked"):
        click.echo(one_line(f"asks: {run['asked'].get('question')}"))
        click.echo(f"See the plan: benchwright run plan {run['id']}\nAnswer:       benchwright run approve {run['id']}")
    for line in filter(None, lines):
        click.echo(line)
    if verdict and run["status"] == "ok":
        click.echo(f"gate {check}: {verdict.word}: {verdict.reason}")
    elif verdict:
        click.echo(f"gate {check}: not judged, since the run is {run['status']}")
    link = (run.get("links") or {}).get("dashboard")
    if link:
        click.echo(one_line(str(link)))


def _result(
    run: "Object", summary: Any, line: str, check: gate.Gate | None, verdict: gate.Verdict | None, code: int
) -> dict[str, Any]:
    kept = ("id", "status", "halt_reason", "halt_note", "error", "model", "scope", "cost", "links")
    result = {"object": "run_result", **{name: run.get(name) for name in kept}}
    result |= {"summary": summary, "score_line": line, "exit_code": code}
    if verdict:
        result["gate"] = {"asked": str(check), "verdict": verdict.word, "reason": verdict.reason}
    return result


def why_not_ok(run: Mapping[str, Any]) -> str:
    """``run … halted: limit_exceeded:run.cost`` with the words of the one who halted it, or what it failed with."""
    error = run.get("error") or {}
    reason = run.get("halt_reason") or error.get("message") or ""
    hint = f"\n{error['hint']}" if error.get("hint") else ""
    text = f"run {run['id']} {run['status']}" + (f": {reason}" if reason else "")
    text += f" (“{run['halt_note']}”)" if run.get("halt_note") else ""
    return one_line(text) + (f"\n{one_line(hint)}" if hint else "")
