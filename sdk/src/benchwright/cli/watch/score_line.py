"""The honest score line: rate, interval, every outcome counted, coverage, and bounds where they matter."""

from collections.abc import Mapping
from typing import Any

from ..text import one_line

FEW = 10  # scored cells below which a rate says nothing


def score_line(summary: Mapping[str, Any], trials: int = 1, scope: Mapping[str, Any] | None = None) -> str:
    """``score 82.0% [76.1, 86.7] · 200 tasks = 164 pass / 36 fail / … · coverage 100%``.

    ``scope``: of the run; where it covers a part of its benchmark, that is said too.
    """
    total = summary.get("total") or 0
    if not total:
        return "no tasks, no score"
    parts = [_named(rate(summary)), f"{_planned(total, trials)} = {_outcomes(summary, total)}"]
    parts.append(f"coverage {_coverage(summary.get('coverage'))}")
    if scope and scope.get("partial"):
        parts.insert(1, one_line(f"only {scope['words']}"))
    bounds = summary.get("bounds") or {}
    if ((summary.get("coverage") or 0) < 1 or summary.get("unscored")) and bounds.get("worst") is not None:
        parts.append(f"worst {bounds['worst']:.1%}, best {bounds['best']:.1%}")
    return " · ".join(parts)


def _named(text: str) -> str:
    return f"score {text}" if "%" in text else text


def rate(summary: Mapping[str, Any], interval: bool = True) -> str:
    """``82.0% [76.1, 86.7]``, or in words why there is none."""
    passed = summary.get("passed") or 0
    scored = passed + (summary.get("failed") or 0) + (summary.get("unscored") or 0)
    if not scored:
        return "no score"
    if scored < FEW:
        return f"{passed} of {scored}" + (", too few for a rate" if interval else "")
    ends = summary.get("ci95") if interval else None
    shown = f" [{ends[0] * 100:.1f}, {ends[1] * 100:.1f}]" if ends else ""
    return f"{passed / scored:.1%}{shown}"


def _planned(total: int, trials: int) -> str:
    if trials > 1 and total % trials == 0:
        return f"{total} samples ({total // trials} tasks × {trials} trials)"
    return f"{total} task{'' if total == 1 else 's'}"


def _outcomes(summary: Mapping[str, Any], total: int) -> str:
    words = {"passed": "pass", "failed": "fail", "errored": "errored", "unscored": "unscored", "skipped": "skipped"}
    counts = {word: summary.get(name) or 0 for name, word in words.items()}
    pending = total - sum(counts.values())
    if pending > 0:
        counts["pending"] = pending
    return " / ".join(f"{count} {word}" for word, count in counts.items())


def _coverage(value: float | None) -> str:
    if value is None:
        return "unknown"
    # Rounded it would read 100% with a task still missing.
    return "100%" if value >= 1 else f"{min(value, 0.999):.1%}"
