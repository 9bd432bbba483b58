"""The report as one HTML file: no script, no outside request, everything that somebody else wrote as text."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from kernel.money import MICRO_CENTS_PER_DOLLAR
from runs.pages import words
from runs.plots import bars, marks
from runs.reporting import sentences
from runs.reporting.markdown import provenance

# The file says it by itself, for where it is opened without a server; the header says it again.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": f"sandbox allow-top-navigation-by-user-activation; {POLICY}; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}
STYLE = Path(__file__).resolve().parents[2] / "templates/runs/report/report.css"
Json = Mapping[str, Any]


def render(facts: Json) -> str:
    """The whole file. ``facts``: as served, with its ``reruns``, ``audit`` and ``review``."""
    score = facts["score"]
    return render_to_string(
        "runs/report/report.html",
        {
            "facts": facts,
            "policy": POLICY,
            "style": _style(),
            "noun": sentences.noun(facts),
            "unread": _unread(score),
            "headline": sentences.headline(facts),
            "remarks": sentences.remarks(facts),
            "reruns": sentences.reruns(facts["reruns"]),
            "score": {**score, "drawn": _caliper(score), "bar": marks.outcome_bar(score["counts"])},
            "kinds": [{**row, "mini": _mini(row)} for row in facts["by_kind"]],
            "not_passed": sum(group["count"] for group in facts["not_passed"]),
            "latency": _latency(facts["latency"]),
            "costs": _costs(facts["costs"]),
            "cells": [(name, facts[name.lower()]) for name in ("Slowest", "Dearest") if facts[name.lower()]],
            "provenance": provenance(facts),
            "audit": facts.get("audit"),
            "review": facts.get("review") or [],
        },
    )


@cache
def _style() -> SafeString:
    """Our own sheet; it holds nothing of anybody else's."""
    return mark_safe(STYLE.read_text(encoding="utf-8"))  # noqa: S308


def _unread(score: Json) -> bool:
    """Answers came, and not one of them could be scored."""
    return bool(0 < score["scored"] == score["counts"]["unscored"])


def _caliper(score: Json) -> SafeString | None:
    if score["rate"] is None or score["ci95"] is None or _unread(score):
        return None
    bounds = {name: score["bounds"][name] for name in ("worst", "best")} if score["bounded"] else {}
    return marks.caliper(score["rate"], *score["ci95"], **bounds)


def _mini(row: Json) -> SafeString | None:
    return marks.caliper_mini(row["rate"], *row["ci95"]) if row["ci95"] and not row["few"] else None


def _latency(found: Json | None) -> dict[str, Any] | None:
    if found is None:
        return None
    said = (
        f"Half of {words.plural(found['cells'], 'scored cell')} ended within {words.span(found['p50'] / 1000)}, 95% "
        f"within {words.span(found['p95'] / 1000)}, the slowest took {words.span(found['most'] / 1000)}."
    )
    drawn = bars.histogram(
        found["bins"],
        label=f"Seconds of a cell. {said}",
        words=lambda value: words.span(value / 1000),
        marks={"50%": found["p50"], "95%": found["p95"]},
    )
    return {"said": said, "drawn": drawn}


def _costs(found: Json | None) -> dict[str, Any] | None:
    if found is None:
        return None
    said = (
        f"The scored cells cost {words.dollars(found['sum'])}, each {_each(found['sum'] / found['cells'])} on average "
        f"and {_each(found['most'])} at most."
    )
    drawn = bars.histogram(
        found["bins"],
        label=f"Cost of a cell. {said}",
        words=_each,
        marks={"50%": found["p50"], "95%": found["p95"]},
    )
    return {"said": said, "drawn": drawn}


def _each(micro_cents: float) -> str:
    """As many decimals as it takes to see something."""
    amount = micro_cents / MICRO_CENTS_PER_DOLLAR
    return f"${amount:.4f}" if amount >= 0.001 else f"${amount:.6f}"
