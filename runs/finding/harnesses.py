"""A harness that a request names, and a task of it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from registry.catalog import all_entries

Span = tuple[int, int]
_BY = (
    r"(?:\b(?:via|with|through|using|by|under|mit|über|uber|per|avec|par|sous|con|usando|com|tramite)\s+(?:the\s+)?|"
    r"harness\s*[=:]?\s*|[用使]\s*)"
)
_NAMED: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("inspect", rf"{_BY}inspect(?:[ _-]?(?:ai|evals))?\b(?!_evals/)|\binspect[ _-](?:ai|evals)\b(?!/)"),
        (
            "lmeval",
            rf"(?:{_BY})?\blm[ _-]?eval(?:uation)?(?:[ _-]?harness)?\b|{_BY}eleuther(?:ai)?(?:'s)? (?:eval )?harness\b",
        ),
        ("lighteval", rf"(?:{_BY})?\blight[ -]?eval\b"),
        ("harbor", rf"{_BY}harbor\b"),
    )
)
_TASK = re.compile(r"(?<![\w/.:-])[A-Za-z][\w.-]*[_/:@][\w./:@-]*\w", re.ASCII)


@dataclass(frozen=True)
class Task:
    """A task of a harness. ``slug`` is None where the catalogue knows no benchmark that is the same."""

    harness: str
    task: str
    slug: str | None
    part: str | None
    span: Span


def named(text: str) -> list[tuple[str, Span]]:
    """(harness, where), in no order."""
    return [(name, one.span()) for name, pattern in _NAMED for one in pattern.finditer(text)]


def tasks(text: str) -> Iterator[Task]:
    """Tasks that are written as the harnesses write them."""
    known = _known()
    for one in _TASK.finditer(text):
        said = one.group()
        if said in known:
            yield Task(*known[said], one.span())
        elif said.startswith("inspect_evals/"):
            yield Task("inspect", said, None, None, one.span())


@cache
def _known() -> Mapping[str, tuple[str, str, str, str | None]]:
    """task -> (harness, task, slug, part), of tasks that mean one benchmark or one part."""
    found: dict[str, tuple[str, str, str, str | None]] = {}
    for entry in all_entries():
        for part in (None, *(part.slug for part in entry.parts)):
            for harness, told in entry.harness_of(part).items():
                if "args" not in told:
                    found.setdefault(told["task"], (harness, told["task"], entry.slug, part))
    return found
