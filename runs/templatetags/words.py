"""The words of the pages as template filters."""

from collections.abc import Mapping
from datetime import datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from kernel import clock
from runs.pages import words

register = template.Library()
for spoken in (
    words.visible,
    words.one_line,
    words.percent,
    words.interval,
    words.count,
    words.dollars,
    words.per_task,
    words.spent,
    words.span,
    words.moment,
    words.clock,
):
    register.filter(spoken.__name__, spoken)


@register.filter
def foreign(text: object, limit: int = 160) -> SafeString:
    """A name that somebody else chose: on one line, its writing direction kept to itself."""
    return format_html("<bdi>{}</bdi>", words.one_line(text, limit))


@register.filter
def cut_under(name: str) -> str:
    """``benchmark_owner`` as people read it."""
    return words.one_line(name, 60).replace("_", " ")


@register.filter
def seconds(milliseconds: int) -> str:
    """A table's column in seconds: the unit is in the head."""
    return f"{milliseconds / 1000:,.2f}"


@register.filter
def milliseconds(value: float) -> str:
    """A stretch of time given in milliseconds."""
    return words.span(value / 1000)


@register.filter
def day(at: datetime | None) -> str:
    """``14 Sep, 08:40``; with its year where that is another one."""
    return words.moment(at, today=clock.now())


@register.filter
def plural(number: int, noun: str) -> str:
    """``{{ n|plural:"task" }}``."""
    return words.plural(number, noun)


@register.filter
def whole(errors: Mapping[str, str]) -> str:
    """What is wrong with a form as a whole: the message under the empty name; "" where there is none."""
    return errors.get("", "")


@register.inclusion_tag("parts/id.html")
def id_chip(value: object, length: int = 40) -> dict[str, str]:
    """The whole id in the title and in the copy button's label, at most ``length`` characters shown."""
    whole = str(value)
    return {"whole": whole, "shown": whole if len(whole) <= length else whole[:length] + "…"}
