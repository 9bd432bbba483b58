"""The report as Markdown. Pure. Whatever somebody else wrote is escaped: it stays text wherever it is shown."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kernel.money import MICRO_CENTS_PER_DOLLAR
from runs.pages import words
from runs.reporting import sentences

Json = Mapping[str, Any]
# Signs that begin something anywhere, what begins a line's form at its start, and what would become a link by itself.
_SIGNS = re.compile(r"([\\`*_{}\[\]<>|~$&@#]|^[-+=]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
_ITEM = re.compile(r"^(\d+)([.)])(?=\s|$)")  # of a numbered list; its digits can't be escaped


def text(foreign: object, limit: int = 200) -> str:
    """On one line, every sign that Markdown or HTML would read escaped."""
    line = _ITEM.sub(r"\1\\\2", _SIGNS.sub(r"\\\1", words.one_line(foreign, limit)))
    return line.replace("\\<", "&lt;").replace("\\&", "&amp;")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]


def render(facts: Json) -> str:
    """The whole report. ``facts``: as served, with its ``reruns``, ``audit`` and ``review``."""
    parts = [_head, _kinds, _not_passed, _audit, _review, _reruns, _cells, _spread, _provenance]
    return "\n".join(line for part in parts for line in part(facts)).rstrip() + "\n"


def _head(facts: Json) -> list[str]:
    run, score = facts["run"], facts["score"]
    counts = ", ".join(f"{count:,} {name}" for name, count in score["counts"].items())
    moments = [text(moment) for moment in (run["started_at"], run["last_result_at"]) if moment]
    when = "".join([f", {moments[0]}", *(f" to {moment}" for moment in moments[1:])]) if moments else ""
    return [
        f"# {text(run['title'], 300)}",
        "",
        f"Run `{run['id']}`, {run['status']}{when}. <{run['link']}>",
        "",
        f"**{text(sentences.headline(facts), 400)}**",
        "",
        *(f"- {text(said, 500)}" for said in sentences.remarks(facts)),
        f"- {score['total']:,} planned: {counts}.",
        "",
    ]


def _rate(row: Json) -> str:
    if row["rate"] is None:
        return "no score"
    if row["few"]:
        return f"{row['passed']} of {row['scored']}, too few for a rate"
    return f"{words.percent(row['rate'])}% ({words.interval(row['ci95'])})"


def _kinds(facts: Json) -> list[str]:
    if not facts["by_kind"]:
        return []
    rows = [(text(row["kind"]), _rate(row), f"{row['scored']:,} of {row['total']:,}") for row in facts["by_kind"]]
    return ["## By kind", "", *_table(["Kind", "Pass rate, 95% interval", "Scored"], rows)]


def _not_passed(facts: Json) -> list[str]:
    if not facts["not_passed"]:
        return []
    lines = ["## What did not pass", "", facts["likeness"], ""]
    for group in facts["not_passed"]:
        lines += [f"### {group['count']:,} {group['outcome']}: {text(group['error_class'] or 'no class', 60)}", ""]
        lines += [group["meaning"], ""] if group["meaning"] else []
        lines += [f"The first says: {text(group['message'], 300)}", ""] if group["message"] else []
        for alike in group["groups"]:
            named = ", ".join(text(each["task_id"], 60) for each in alike["examples"])
            of = f" of the first {group['compared']:,}" if group["compared"] < group["count"] else ""
            lines.append(
                f"- {alike['count']:,} alike{of} ({named}): {text(alike['examples'][0]['text'], 200) or 'empty'}"
            )
        lines.append("")
    return lines


def _audit(facts: Json) -> list[str]:
    found = facts.get("audit")
    if not found:
        return []
    lines = ["## Extraction audit", "", text(found["sentence"], 400), ""]
    if found["how"]:
        lines += [f"The second reader reads {text('; '.join(found['how']), 400)}.", ""]
    if found.get("rows"):
        rows = [
            (text(row["task_id"], 60), text(row["first"]["answer"], 80), row["first"]["outcome"],
             text(row["second"]["answer"], 80), _verdict(row))
            for row in found["rows"][:50]
        ]  # fmt: skip
        lines += _table(["Task", "Scorer read", "Outcome", "Second reader read", "Second verdict"], rows)
    return lines


def _verdict(row: Json) -> str:
    """What the second reader says of an output; a program it only finds."""
    return "another program" if row["side"] == "differs" else "right" if row["second"]["passed"] else "wrong"


def _review(facts: Json) -> list[str]:
    lines = []
    for flag in facts.get("review") or []:
        lines.append(f"- **{text(flag['code'])}**: {text(flag['detail'], 500)}")
        lines += [f"  - {remark['by']}: {text(remark['note'], 500)}" for remark in flag["remarks"]]
    return ["## Flags", "", *lines, ""] if lines else []


def _reruns(facts: Json) -> list[str]:
    return ["## Run again", "", *(f"- {said}" for said in sentences.reruns(facts["reruns"])), ""]


def _cells(facts: Json) -> list[str]:
    lines = []
    for title, name in (("Slowest", "slowest"), ("Dearest", "dearest")):
        rows = [
            (text(row["task_id"], 60), row["outcome"], words.span(row["duration_ms"] / 1000), _dollars(row["cost"]),
             f"{row['tokens_in']:,} / {row['tokens_out']:,}")
            for row in facts[name]
        ]  # fmt: skip
        if rows:
            lines += [f"## {title}", "", *_table(["Task", "Outcome", "Time", "Cost", "Tokens in / out"], rows)]
    return lines


def _dollars(money: Json | None) -> str:
    return f"${money['amount']}" if money else words.UNKNOWN


def _spread(facts: Json) -> list[str]:
    lines = []
    if facts["latency"]:
        low, high = (words.span(facts["latency"][name] / 1000) for name in ("p50", "p95"))
        lines.append(f"- Half of the scored cells ended within {low}, 95% within {high}.")
    if facts["costs"]:
        each = facts["costs"]["sum"] / facts["costs"]["cells"] / MICRO_CENTS_PER_DOLLAR
        lines.append(f"- A scored cell cost ${each:.6f} on average; {words.dollars(facts['costs']['sum'])} in all.")
    return ["## Time and cost", "", *lines, ""] if lines else []


def _provenance(facts: Json) -> list[str]:
    return ["## Where the number comes from", "", *_table(["", ""], [(n, text(w, 300)) for n, w in provenance(facts)])]


def provenance(facts: Json) -> list[tuple[str, str]]:
    """(name, words) of what decides the score; the words are on one line."""
    found = facts["provenance"]
    model, impl, subset = found["model"], found["impl"] or {}, found["subset"] or {}
    judge = found["judge"] or {}
    rows = [
        ("Fingerprint", found["fingerprint"]),
        ("Benchmark", found["benchmark"]),
        ("Subset", f"{subset['id']}, revision {subset.get('revision')}" if subset.get("id") else None),
        ("Tasks", (facts.get("scope") or {}).get("words")),
        ("Scorer", impl.get("id")),
        ("Scorer's code, SHA-256", impl.get("code_sha256")),
        ("Grader", found.get("grader_told") or found["grader"]),
        ("Pass threshold", impl.get("pass_threshold")),
        ("Judge", f"{judge['model']} via {judge['provider']}" if judge else None),
        ("Judge served", _served(judge.get("served") or ())),
        ("Model asked", f"{model['model']} via {model.get('provider')}" if model.get("model") else None),
        ("Model served", _served(found["served"])),
        ("Sampling", found.get("sampling_told")),
        ("Harness", found["harness"]["name"]),
        ("Sandbox", f"{found['sandbox']}{', unsandboxed' if found['unsandboxed'] else ''}"),
        ("Sandbox's code, SHA-256", found["harness"]["runtime_sha256"]),
        ("Code version", found["code"]),
        ("Parent", f"{found['parent']} ({found['relation']})" if found["parent"] else None),
    ]
    return [(name, words.one_line(value, 300)) for name, value in rows if value not in (None, "")]


def _served(names: Iterable[Json]) -> str:
    return ", ".join(f"{one['name']} ({words.plural(one['calls'], 'call')})" for one in names)
