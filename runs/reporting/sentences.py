"""What the facts of a run come to, in sentences: the same in the report, in Markdown and in the narration. Pure."""

from collections.abc import Mapping
from typing import Any

from runs.pages import words
from runs.pages.event_words import halt_words

Json = Mapping[str, Any]
MANY = 0.05  # share of unscored answers that the headline begins with


def noun(facts: Json) -> str:
    """What the denominator counts."""
    return "task" if facts["run"]["trials"] == 1 else "trial"


def headline(facts: Json) -> str:
    """What is said first: the result, and of which tasks it is where these are not all."""
    return f"{_result(facts)} {(facts.get('scope') or {}).get('sentence') or ''}".rstrip()


def _result(facts: Json) -> str:
    """Never a rate without its interval, never a rate of a handful, nor of what has no score."""
    score, run = facts["score"], facts["run"]
    model, one = words.one_line(run["model"] or "The model", 120), noun(facts)
    if not score["scored"]:
        return f"{model} has no score: of {words.plural(score['total'], one)} none was scored."
    lost, read = score["counts"]["unscored"], ""
    if lost == score["scored"]:
        low, high = words.percent(score["bounds"]["worst"]), words.percent(score["bounds"]["best"])
        return f"No answer could be scored: {_unread(facts)}; the rate lies between {low}% and {high}%."
    if lost > MANY * score["scored"]:
        read = f"Only {score['scored'] - lost:,} of {words.plural(score['scored'], 'answer')} could be scored. "
    if score["few"]:
        passed = score["counts"]["passed"]
        return f"{read}{model} passes {passed} of {words.plural(score['scored'], f'scored {one}')}: too few for a rate."
    rate, pair = words.percent(score["rate"]), words.interval(score["ci95"])
    counted = "counted" if read else "scored"
    return f"{read}{model} passes {rate}% of {score['scored']:,} {counted} {one}s (95% interval {pair})."


def _unread(facts: Json) -> str:
    """Why no answer has a score, by the class that all of them are of."""
    lost = facts["score"]["counts"]["unscored"]
    names = {group["error_class"] for group in facts["not_passed"] if group["outcome"] == "unscored"}
    if names == {"judge_unparsed"}:
        return f"the judge's {words.plural(lost, 'reply', 'replies')} could not be read"
    if names == {"scorer_exception"}:
        return f"the scorer failed on {words.plural(lost, 'answer')}"
    return f"{words.plural(lost, 'answer')} ended unscored"


def remarks(facts: Json) -> list[str]:
    """What must be known beside the headline, the weightiest first."""
    said = [*_ended(facts), *_coverage(facts), *_answers(facts), *_unknown(facts)]
    if "simulated" in facts["run"]["badges"]:
        said.append("The simulated model answers by rule and knows nothing: this shows how a run goes, no ability.")
    if "unsandboxed" in facts["run"]["badges"]:
        said.append("It ran without a sandbox.")
    return said


def _ended(facts: Json) -> list[str]:
    run = facts["run"]
    if run["status"] == "halted":
        return [halt_words(run["halt_reason"])]
    if run["status"] == "failed" and run["error"]:
        where = str(run["error"]["phase"]).capitalize() or "The run"
        return [f"{where} failed: {words.one_line(run['error']['message'] or run['error']['code'], 400)}"]
    return []


def _coverage(facts: Json) -> list[str]:
    score, one = facts["score"], noun(facts)
    counts = score["counts"]
    said = []
    if score["scored"] < score["total"]:
        lost = ", ".join(f"{counts[name]:,} {name}" for name in ("errored", "skipped") if counts[name])
        said.append(
            f"Coverage is {words.percent(score['coverage'] or 0)}%: {score['total'] - score['scored']:,} of "
            f"{words.plural(score['total'], one)} have no score ({lost or 'not ended'}); these are no wrong answers."
        )
    if counts["unscored"]:
        said.append(f"{counts['unscored']:,} could not be scored and count as not passed.")
    if score["bounded"] and score["scored"] > counts["unscored"]:
        low, high = words.percent(score["bounds"]["worst"]), words.percent(score["bounds"]["best"])
        said.append(f"If all without a score were wrong the rate would be {low}%, if all were right {high}%.")
    return said


def _answers(facts: Json) -> list[str]:
    answers, cut = facts["answers"], facts["truncation"]
    said = []
    if answers["truncated"]:
        said.append(_cut(answers["truncated"], cut))
    for name, what in (("empty", "empty"), ("refused", "refused"), ("unreadable", "not in the form that is read")):
        if answers[name]:
            said.append(f"{words.plural(answers[name], 'answer')} {'was' if answers[name] == 1 else 'were'} {what}.")
    return said


def _unknown(facts: Json) -> list[str]:
    cut = facts["summary"].get("unknown_calls")
    if not cut:
        return []
    return [f"{words.plural(cut, 'call')} cut off at the provider: what that cost is unknown and not in the sum."]


def _cut(count: int, cut: Json | None) -> str:
    where = f" at {cut['tokens']:,} tokens" if cut and cut["tokens"] else ""
    thinking = cut["thinking"] if cut else 0
    still = "" if not thinking else ", " + ("" if thinking >= count else f"{thinking:,} of them ")
    still += "while the model still thought" if thinking else ""
    return f"{words.plural(count, 'answer')} {'was' if count == 1 else 'were'} cut off{where}{still}."


_CHOSEN = {"only_failed": "outcome", "only_errored": "outcome", "task_ids": "task id"}


def _slice(found: Json) -> str:
    """A slice, and by what its tasks were chosen where that is known."""
    by = _CHOSEN.get(found.get("chosen") or "")
    return f"a slice of it, chosen by {by}" if by else "a slice of it"


def _chosen(found: Json) -> str:
    """``, 3 of them chosen by outcome and 2 by task id``; "" where nobody wrote it down."""
    counts: dict[str, int] = {}
    for name, cells in (found.get("later_chosen") or {}).items():
        counts[_CHOSEN[name]] = counts.get(_CHOSEN[name], 0) + cells
    if not counts:
        return ""
    if list(counts.values()) == [found["later_cells"]]:
        return f", chosen by {next(iter(counts))}"
    return ", " + " and ".join(f"{cells:,} of them chosen by {by}" for by, cells in counts.items())


def reruns(found: Json) -> list[str]:
    """What was run again, for ever told."""
    said = []
    if found["of_parent"]:
        how = "and completes it" if found["completes"] else _slice(found) if found["slice"] else "all of it"
        said.append(f"This run ran {words.plural(found['of_parent'], 'cell')} of an earlier run again, {how}.")
    if found["attempts"]:
        said.append(
            f"{words.plural(found['attempts'], 'cell')} took more than one attempt. Only faults are tried again, never "
            "a wrong answer."
        )
    if found["rescored"]:
        said.append(f"{words.plural(found['rescored'], 'result was', 'results were')} graded anew.")
    if found["reused"]:
        said.append(f"{words.plural(found['reused'], 'output comes', 'outputs come')} from an earlier run.")
    if found["later_cells"]:
        cells = words.plural(found["later_cells"], "cell")
        said.append(f"Later runs ran {cells} of this one again{_chosen(found)}.")
    return said or ["Nothing was run again."]
