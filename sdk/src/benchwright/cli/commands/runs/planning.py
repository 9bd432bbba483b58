"""What a run in words has found and plans, and the answer to what it asks."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from ... import cache
from ...groups import Command, state_of
from ...launch.options import pairs
from ...output import note, show, show_id, show_sheet
from ...text import json_text, one_line, words
from ...watch import following

Pair = tuple[str, str]


@click.command("plan", cls=Command)
@click.argument("run_id")
def plan(run_id: str) -> None:
    """What a run made of its request: benchmark, rows, scorer, what could go wrong, what it will cost."""
    state = state_of()
    client = state.client()
    run = client.runs.get(cache.resolved(client.account, run_id))
    found = {"run": run["id"], "status": run["status"], "plan": run.get("plan"), "asked": run.get("asked")}
    if state.format != "table":
        show(state, found)
        return
    click.echo(f"run {run['id']} {run['status']}")
    plan_now = dict(run.get("plan") or {})
    if waiting := (run.get("asked") or {}).get("plan"):
        plan_now["analyze"] = waiting  # what the owner is asked to approve is not stored as found yet
    show_sheet([(name, text) for name, text in sheet(plan_now) if text])
    for line in question(run.get("asked"), run["id"]):
        click.echo(line)


@click.command("approve", cls=Command)
@click.argument("run_id")
@click.option("--choice", metavar="ID", help="One of the choices that the run offers.")
@click.option("--edit", multiple=True, metavar="K=V", help="Change a field of the plan, such as limit=50.")
@click.option("--no-wait", is_flag=True, help="Answer, print the run's id and leave.")
def approve(run_id: str, choice: str | None, edit: tuple[str, ...], no_wait: bool) -> int:
    """Answer what a run in needs_input asks, and let it go on."""
    state = state_of()
    client = state.client()
    run_id = cache.resolved(client.account, run_id)
    run = client.runs.approve(run_id, choice=choice, edits=pairs(edit, "--edit") or None)
    if no_wait:
        show_id(state, run)
        return 0
    note(f"run {run_id} goes on")
    return following.follow(client, state, run_id, None)


def sheet(found: Mapping[str, Any]) -> Iterator[Pair]:
    """The plan's rows for people; what is not known yet is left out."""
    find, rows, scorer, probed = (found.get(name) or {} for name in ("find", "analyze", "atomize", "materialize"))
    source, data = find.get("source") or {}, rows.get("dataset") or {}
    yield "benchmark", str(source.get("name") or "") + (f", {source['part']}" if source.get("part") else "")
    yield "found in", " ".join(str(source.get(name) or "") for name in ("kind", "ref")).strip()
    yield "sure", f"{find['confidence']:.0%}" if isinstance(find.get("confidence"), int | float) else ""
    yield "rows", str(data.get("words") or "")
    yield "licence", str(data.get("licence") or "")
    yield "kind", str(rows.get("kind") or "")
    yield "tasks", _tasks(rows)
    yield "metric", str(rows.get("metric") or "") + (f", {rows['chance']:.0%} by chance" if rows.get("chance") else "")
    words = str(scorer.get("scorer") or rows.get("scorer") or "")
    yield "scorer", words or (json_text(rows["grader"]) if rows.get("grader") else str(rows.get("impl") or ""))
    yield "sampling", _sampling(rows)
    yield "estimate", str((probed.get("estimate") or rows.get("estimate") or {}).get("basis") or "")
    for risk in [*(probed.get("exceeds") or []), *(rows.get("risks") or [])]:
        yield "beware", str(risk.get("words") or risk)
    verdict = scorer.get("verdict") or {}
    yield "self-test", str(verdict.get("badge") or "")
    yield "impl", str(scorer.get("impl") or "") + (" (reused)" if scorer.get("reused") else "")


def _tasks(rows: Mapping[str, Any]) -> str:
    tasks, there = rows.get("tasks") or 0, rows.get("n") or 0
    if not tasks:
        return ""
    said = f"{tasks:,} of {there:,} tasks (the first {tasks:,})" if there > tasks else f"all {tasks:,} tasks"
    return f"{said}, {rows.get('cells', tasks):,} cells"


def _sampling(rows: Mapping[str, Any]) -> str:
    """What is sent to the model beside the question; a scorer that is code sends what it likes."""
    sent = rows.get("sampling")
    if sent is None:
        return ""
    said = ", ".join(f"{name} {words(value)}" for name, value in sent.items())
    if not rows.get("grader"):
        return said
    return said or "none sent, so the provider's defaults"


def question(asked: Mapping[str, Any] | None, run_id: str) -> Iterator[str]:
    """What the run asks, its choices, and the command that answers."""
    if not asked:
        return
    yield one_line(f"asks: {asked.get('question')}")
    for choice in asked.get("choices") or []:
        yield one_line(f"  {choice['id']}  {choice.get('name', '')}: {choice.get('reason', '')}")
    yield f"answer: benchwright run approve {run_id}" + (" --choice ID" if asked.get("choices") else "")
