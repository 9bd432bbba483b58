"""A histogram whose steps grow by a constant ratio: how time or cost spread over the cells of a run."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

HEIGHT, FLOOR = 96, 76  # of the drawing, and of the line that the bars stand on


def histogram(
    bins: Sequence[Mapping[str, Any]], *, label: str, words: Callable[[float], str], marks: Mapping[str, float]
) -> SafeString:
    """Bars for ``bins`` ({"from", "to", "count"}, each step right after the other); ``words`` writes a value.

    ``marks``: name -> value, each a line across the bars. ``label`` says in words what the drawing shows.
    """
    most = max((each["count"] for each in bins), default=0) or 1
    width = 100 / max(len(bins), 1)
    bars = "".join(
        f'<rect x="{at * width:.2f}%" y="{FLOOR - _tall(each["count"], most):.1f}" '
        f'width="{max(width - 0.4, 0.2):.2f}%" '
        f'height="{_tall(each["count"], most):.1f}"/>'
        for at, each in enumerate(bins)
        if each["count"]
    )
    lines = "".join(_mark(name, _place(bins, value)) for name, value in marks.items())
    ends = (
        f'<text x="0" y="{FLOOR + 16}" text-anchor="start">{escape(words(bins[0]["from"]))}</text>'
        f'<text x="100%" y="{FLOOR + 16}" text-anchor="end">{escape(words(bins[-1]["to"]))}</text>'
        if bins
        else ""
    )
    return mark_safe(  # noqa: S308  only numbers, and words that were escaped
        f'<svg class="histogram" height="{HEIGHT}" role="img" aria-label="{escape(label)}">{bars}'
        f'<line class="floor" x1="0" x2="100%" y1="{FLOOR}" y2="{FLOOR}"/>{lines}{ends}</svg>'
    )


def _tall(count: int, most: int) -> float:
    """At least two pixels: one cell far out must be seen."""
    return max(2.0, (FLOOR - 14) * count / most)


def _place(bins: Sequence[Mapping[str, Any]], value: float) -> float:
    """Where a value stands, in percent: in the middle of its bin."""
    at = next((n for n, each in enumerate(bins) if value <= each["to"]), len(bins) - 1)
    return (at + 0.5) * 100 / max(len(bins), 1)


def _mark(name: str, at: float) -> str:
    anchor = "start" if at < 15 else "end" if at > 85 else "middle"
    return (
        f'<line class="mark" x1="{at:.2f}%" x2="{at:.2f}%" y1="12" y2="{FLOOR}"/>'
        f'<text class="mark" x="{at:.2f}%" y="9" text-anchor="{anchor}">{escape(name)}</text>'
    )
