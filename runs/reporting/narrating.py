"""A run told in plain words, from its facts alone: what runs, how far, what it waits for, what failed, what to do."""

from collections.abc import Callable, Mapping
from typing import Any

from kernel.errors import DomainError
from kernel.money import shown
from runs import events, queries
from runs.asked import scope
from runs.models import Run
from runs.pages import now, score, words
from runs.pages.event_words import halt_words
from runs.reporting import remedies
from runs.reporting.failures import classes, cutoff

SLICES = ("recent", "all", "failures")
RECENT = 8  # events that are told
ASKED_WORDS = 600


def narrate(run: Run, part: str, *, mine: bool, answers: bool) -> dict[str, Any]:
    """``part``: recent (where it stands, and the last events), failures, or all. Raises invalid_parameter."""
    if part not in SLICES:
        msg = f"slice={part} is unknown. Known: {', '.join(SLICES)}."
        raise DomainError("invalid_parameter", msg, errors=[{"loc": ["query", "slice"], "msg": msg}])
    told = _PARTS[part](run, mine, answers)
    return {
        "object": "narration",
        "run": str(run.id),
        "slice": part,
        "status": run.status,
        "text": "\n".join(told),
        "sentences": told,
        "waiting": waiting(run, mine=mine),
        "next": next_steps(run, mine=mine, answers=answers),
        "source": "builtin",
        "driver": None,
        "notice": None,
        "cost": shown(0),
    }


def waiting(run: Run, *, mine: bool) -> str | None:
    """What the run waits for, or does, this moment; None once it has ended."""
    if run.status in queries.TERMINAL:
        return None
    if run.status == "needs_input" and mine and run.asked:
        return f"Waiting for your answer: {words.one_line(run.asked.get('question', ''), ASKED_WORDS)}"
    return now.read(run).line


def _recent(run: Run, mine: bool, answers: bool) -> list[str]:
    events = [event for event in now.log(run, mine=mine, newest=4 * RECENT) if event["said"]]
    told = [f"{words.clock(event['at'])} {event['type']}: {event['said']}" for event in reversed(events[:RECENT])]
    return [*_standing(run, mine, answers), *(["Lately:"] if told else []), *told]


def _all(run: Run, mine: bool, answers: bool) -> list[str]:
    phases = [
        f"{phase['name']}: {phase['said']}{', ' + phase['more'] if phase['more'] else ''}." for phase in now.phases(run)
    ]
    return [*_standing(run, mine, answers), *phases, *_failures(run, answers), *_recent_events(run, mine)]


def _recent_events(run: Run, mine: bool) -> list[str]:
    events = [event for event in now.log(run, mine=mine) if event["said"]]
    return [f"{words.clock(event['at'])} {event['said']}" for event in reversed(events)]


def _only_failures(run: Run, mine: bool, answers: bool) -> list[str]:
    told = _failures(run, answers)
    return told or ["Nothing has failed so far." if run.finished_at is None else "Everything passed."]


_PARTS: Mapping[str, Callable[[Run, bool, bool], list[str]]] = {
    "recent": _recent,
    "all": _all,
    "failures": _only_failures,
}


def _standing(run: Run, mine: bool, answers: bool) -> list[str]:
    """What runs, how far it is, what it waits for, what failed and what to do."""
    waits = waiting(run, mine=mine)
    steps = next_steps(run, mine=mine, answers=answers)
    return [
        what(run, mine=mine),
        how_far(run),
        *([waits if waits.endswith((".", "?")) else f"{waits}."] if waits else []),
        *_by_chance(run),
        *_ended(run, mine),
        *_in_short(run, answers),
        *([f"Next: {steps[0]}"] if steps else []),
    ]


def what(run: Run, *, mine: bool) -> str:
    """``GSM8K is asked of qwen/qwen3-32b via openrouter: 200 tasks, at most 16 at once.``"""
    name = words.one_line(run.benchmark.name, 120) if run.benchmark else None
    asked = f"{words.one_line(run.sut.get('model') or 'a model', 120)} via {run.sut.get('provider') or 'its provider'}"
    if not run.planned:
        begins = name or (f"“{words.one_line(run.request, 200)}”" if mine else "A request in words")
        return (
            f"{begins} is to be asked of {asked}; its tasks are not known yet."
            if run.sut
            else f"{begins} is being read."
        )
    trials = f", {run.trials} trials each" if run.trials > 1 else ""
    ran = scope.of(run)
    tasks = ran.words if ran is not None and ran.partial else words.plural(run.task_count, "task")
    if run.fork_mode == "rescore":
        return (
            f"{name or 'The benchmark'}: stored answers of {asked} are scored anew, {tasks}{trials}; no model is asked."
        )
    return f"{name or 'The benchmark'} is asked of {asked}: {tasks}{trials}."


def how_far(run: Run) -> str:
    """How many cells have ended and how, and the rate so far with its interval."""
    noun = "task" if run.trials == 1 else "trial"
    seen = score.of(run)
    if not seen.ended:
        return f"No {noun} has ended." if run.planned else "No task has begun."
    counts = ", ".join(f"{count:,} {name}" for name, count in seen.legend if count)
    so_far = " so far" if run.finished_at is None else ""
    said = f"{seen.ended:,} of {words.plural(seen.total, noun)} ended: {counts}."
    if seen.rate is None:
        return f"{said} None was scored{so_far}."
    if seen.unread:
        low, high = words.percent(seen.worst), words.percent(seen.best)
        between = f"; the rate lies between {low}% and {high}%" if run.finished_at else ""
        return f"No answer could be scored{so_far}{between}. {said}"
    if seen.few:
        return f"{said} Too few are scored for a rate{so_far}."
    return f"{said} {words.percent(seen.rate)}% passed{so_far} (95% interval {words.interval(seen.ci95)})."


def _by_chance(run: Run) -> list[str]:
    """What a rate has to be held against, where the reading of the rows found it."""
    chance = (run.findings.get("analyze") or {}).get("chance") if run.findings else None
    return [f"By chance, {words.percent(chance)}% would pass."] if isinstance(chance, int | float) and chance else []


def _ended(run: Run, mine: bool) -> list[str]:
    if run.status == "halted":
        return [halt_words(run.halt_reason, run.halt_note if mine else "")]
    if run.status == "failed" and run.error:
        error = events.told_error(run.error, mine=mine) or {}
        where = str(error.get("phase") or "the run").capitalize()
        return [f"{where} failed: {words.one_line(error.get('message') or error.get('code') or '', 400)}"]
    return []


def _in_short(run: Run, answers: bool) -> list[str]:
    """One sentence of all that did not pass."""
    found = classes.classes(run, answers=answers)
    if not found:
        return []
    named = ", ".join(
        f"{group['count']:,} {words.one_line(group['error_class'] or group['outcome'], 40)}" for group in found[:5]
    )
    return [f"Not passed: {named}{' and more' if len(found) > 5 else ''}."]


def _failures(run: Run, answers: bool) -> list[str]:
    told: list[str] = []
    for group in classes.classes(run, answers=answers):
        name = words.one_line(group["error_class"] or "no class", 40)
        told.append(f"{group['count']:,} {group['outcome']}, {name}. {group['meaning']}".rstrip())
        if group["message"]:
            told.append(f"  The first says: {words.one_line(group['message'], 300)}")
        for alike in classes.alike(run, group, answers=answers)[:3]:
            named = ", ".join(words.one_line(each["task_id"], 60) for each in alike["examples"])
            seen = words.one_line(alike["examples"][0]["text"], 160)
            of = f" of the first {classes.LOOKED_AT:,}" if group["count"] > classes.LOOKED_AT else ""
            told.append(f"  {alike['count']:,} alike{of}, such as {named}" + (f": {seen}" if seen else " (no text)"))
    return told


def next_steps(run: Run, *, mine: bool, answers: bool) -> list[str]:
    """What its owner can do, the best first. Of a going run: nothing but wait, answer or halt."""
    if run.status == "needs_input":
        return [f"Answer it: POST /v1/runs/{run.id}/approve, or on its page."]
    if run.status not in queries.TERMINAL:
        seen = now.read(run)
        return [f"Nothing to do: about {seen.eta} left." if seen.eta else "Nothing to do but wait."]
    found = classes.classes(run, answers=answers)
    cut = cutoff.of(run) if any(group["error_class"] == "truncated" for group in found) else None
    steps: list[str] = []
    for group in found:
        for offer in remedies.offers(run, group, mine=mine, cut=cut)[:1]:
            steps.append(f"{offer.label} ({offer.price_words}).")
    error = events.told_error(run.error, mine=mine) or {}
    if error.get("hint"):
        steps.insert(0, words.one_line(error["hint"], 400))
    return list(dict.fromkeys(steps))[:5] or [f"Read the report: /runs/{run.id}/report."]
