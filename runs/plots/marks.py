"""The small marks drawn inline in rows and cards: caliper, outcome bar, task strip.

Plain SVG with percentages, so they stretch with their box; classes only, no style attributes; the label says in
words what the drawing shows. Names of models or tasks never enter these functions: only numbers and fixed words.
"""

from collections.abc import Iterable, Mapping, Sequence

from django.utils.safestring import SafeString, mark_safe

OUTCOMES = ("passed", "failed", "errored", "unscored", "skipped")
# What a bin of a long strip stacks, from below: first what is known of the model, then what is not.
STACK = ("passed", "failed", "unscored", "errored", "skipped")
# outcome -> (top, bottom) of its tick: height and place tell the outcome without colour
TICK = {
    "skipped": (31, 34),
    "waiting": (31, 34),
    "passed": (0, 34),
    "failed": (18, 34),
    "errored": (0, 14),
    "unscored": (12, 22),
    "now": (24, 34),
}
STRIP_HEIGHT = 34
LONG_STRIP = 120  # more ticks than this scroll sideways on a phone


def _svg(text: str) -> SafeString:
    return mark_safe(text)  # noqa: S308  only numbers and the fixed words of this file are in it


def _line(cls: str, x1: str, x2: str, y1: float, y2: float) -> str:
    return f'<line class="{cls}" x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}"/>'


def _at(share: float) -> str:
    return f"{100 * max(0.0, min(1.0, share)):.2f}%"


def _arm(lo: float, hi: float, mid: float, top: float, bottom: float) -> str:
    return (
        _line("arm", _at(lo), _at(hi), mid, mid)
        + _line("jaw", _at(lo), _at(lo), top, bottom)
        + _line("jaw", _at(hi), _at(hi), top, bottom)
    )


def caliper_mini(rate: float, lo: float, hi: float) -> SafeString:
    """For a table cell: rate and interval, all 0..1. Every row's scale is 0 to 100%."""
    label = f"{rate:.1%} pass rate, 95% interval {100 * lo:.1f} to {100 * hi:.1f}"
    return _svg(
        f'<svg class="rule mini" height="20" role="img" aria-label="{label}">'
        f"{_line('tick minor', '0', '100%', 10, 10)}{_arm(lo, hi, 10, 5, 15)}"
        f'<circle class="pt" cx="{_at(rate)}" cy="10" r="5"/></svg>'
    )


def _ruler() -> str:
    """The ticks and figures of the large caliper; the same on every page."""
    ticks = "".join(
        _line("tick" if i % 10 == 0 else "tick minor", f"{i}%", f"{i}%", 38, 45 if i % 10 == 0 else 42)
        for i in range(0, 101, 2)
    )
    anchors = {0: "start", 100: "end"}
    words = "".join(
        f'<text x="{i}%" y="57" text-anchor="{anchors.get(i, "middle")}">{i}{"%" if i == 100 else ""}</text>'
        for i in range(0, 101, 20)
    )
    return _line("base", "0", "100%", 38, 38) + ticks + words


RULER = _ruler()


def caliper(rate: float, lo: float, hi: float, *, worst: float | None = None, best: float | None = None) -> SafeString:
    """The large one under a score. ``worst``, ``best``: the rate if every task without a score were wrong, or right."""
    label = f"Pass rate {rate:.1%}, 95% interval {100 * lo:.1f} to {100 * hi:.1f}"
    band = ""
    if worst is not None and best is not None:
        label += f", bounds {100 * worst:.1f} to {100 * best:.1f}"
        band = f'<rect class="bounds" x="{_at(worst)}" width="{_at(best - worst)}" y="24" height="10" rx="1"/>'
    return _svg(
        f'<svg class="rule" height="58" role="img" aria-label="{label}">{band}{RULER}'
        f'{_arm(lo, hi, 14, 5, 37)}<circle class="pt" cx="{_at(rate)}" cy="14" r="7"/></svg>'
    )


def outcome_bar(counts: Mapping[str, int]) -> SafeString:
    """All cells of a run as one bar. Needs the three patterns of the base template."""
    label = ", ".join(f"{counts.get(name, 0):,} {name}" for name in OUTCOMES)
    total = sum(counts.get(name, 0) for name in OUTCOMES) or 1
    at, out = 0.0, ""
    for name in OUTCOMES:
        share = counts.get(name, 0) / total
        if share:
            out += f'<rect class="f-{name}" x="{_at(at)}" width="{_at(share)}" height="16"/>'
            at += share
    return _svg(f'<svg class="five" role="img" aria-label="{label}">{out}</svg>')


def strip(states: Sequence[str], label: str) -> SafeString:
    """One tick a cell, in order; ``states`` are keys of TICK. Up to about 400 cells; ``binned_strip`` above that."""
    paths = ""
    for name, (top, bottom) in TICK.items():
        path = "".join(f"M{i}.5 {top}V{bottom}" for i, state in enumerate(states) if state == name)
        if path:
            paths += f'<path class="{name}" stroke-width=".68" d="{path}"/>'
    return _strip_box(paths, len(states), label)


def binned_strip(bins: Iterable[Mapping[str, float]], label: str) -> SafeString:
    """One stacked bar a bin; each mapping gives shares (0..1) of STACK's outcomes in that stretch of the run."""
    paths: dict[str, list[str]] = {name: [] for name in STACK}
    count = 0
    for i, shares in enumerate(bins):
        at = float(STRIP_HEIGHT)
        for name in STACK:
            height = STRIP_HEIGHT * shares.get(name, 0.0)
            if height > 0:
                paths[name].append(f"M{i}.5 {at:.4g}V{at - height:.4g}")
                at -= height
        count = i + 1
    drawn = "".join(
        f'<path class="{name}" stroke-width=".8" d="{"".join(path)}"/>' for name, path in paths.items() if path
    )
    return _strip_box(drawn, count, label)


def _strip_box(paths: str, count: int, label: str) -> SafeString:
    long = count > LONG_STRIP
    mark = (
        f'<svg class="strip{" long" if long else ""}" viewBox="0 0 {max(count, 1)} {STRIP_HEIGHT}" '
        f'preserveAspectRatio="none" role="img" aria-label="{label}">{paths}</svg>'
    )
    box = '<div class="scroll" tabindex="0" role="group" aria-label="Tasks in order">'
    return _svg(f"{box}{mark}</div>" if long else mark)
