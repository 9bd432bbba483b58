"""A harness that a request names, and a task of it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from registry.catalog import all_entries
from registry.catalog.harness_tasks import HarnessTask, tasks_of
from runs.finding import shipped

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
_NAME = r"[A-Za-z][\w.:+-]*\w"
_LED = re.compile(rf"(?:--tasks?[ =]|\btasks?\b\s*[:=]?\s*)[\"'`]?(?P<names>{_NAME}(?:,{_NAME})*)", re.IGNORECASE)
# lighteval's own way to write a task: suite|task|examples|0
_PIPED = re.compile(rf"(?<![\w|])(?:[a-z]+\|)?(?P<name>{_NAME})\|\d+(?:\|[01])?(?![\w|])", re.ASCII)
_PREFIXES = {"inspect_evals/": "inspect", "lm_eval/": "lmeval", "lm-eval/": "lmeval", "lmeval/": "lmeval"}


@dataclass(frozen=True)
class Task:
    """A task of a harness. ``slug`` is None where the catalogue knows no benchmark that is the same.

    ``shipped``: what the harness's own list says; None where it has no such task. ``sure``: the words name the harness
    by the very task.
    """

    harness: str
    task: str
    slug: str | None
    part: str | None
    span: Span
    shipped: HarnessTask | None = None
    sure: bool = False


def named(text: str) -> list[tuple[str, Span]]:
    """(harness, where), in no order."""
    return [(name, one.span()) for name, pattern in _NAMED for one in pattern.finditer(text)]


def tasks(text: str) -> Iterator[Task]:
    """Tasks that are written as the harnesses write them, or behind the word where a harness is named."""
    wanted = [name for name, _ in named(text)]
    seen: set[int] = set()
    for harness, said, span in [*_prefixed(text), *_piped(text), *_led(text, wanted)]:
        if span[0] not in seen:
            seen.add(span[0])
            yield _task(harness, said, span)
    by_name = _by_name()
    for one in _TASK.finditer(text):
        known = by_name.get(one.group(), ())
        if known and one.start() not in seen:
            key = next((key for key in known if key[0] in wanted), known[0])
            yield Task(*key, *_known()[key], one.span())


def _prefixed(text: str) -> Iterator[tuple[str, str, Span]]:
    for one in _TASK.finditer(text):
        prefix = next((prefix for prefix in _PREFIXES if one.group().startswith(prefix)), None)
        if prefix is not None:
            yield _PREFIXES[prefix], one.group(), one.span()


def _piped(text: str) -> Iterator[tuple[str, str, Span]]:
    yield from (("lighteval", one["name"], one.span()) for one in _PIPED.finditer(text))


def _led(text: str, wanted: list[str]) -> Iterator[tuple[str, str, Span]]:
    """Behind "task" or --tasks, as far as the named harness has such tasks."""
    for one in _LED.finditer(text) if wanted else ():
        at = one.start("names")
        for name in one["names"].split(","):
            held = next((harness for harness in wanted if _is_known(harness, name)), None)
            if held is not None:
                yield held, name, (at, at + len(name))
            at += len(name) + 1


def _is_known(harness: str, name: str) -> bool:
    return (harness, name) in _known() or name in tasks_of(harness)


def _task(harness: str, said: str, span: Span) -> Task:
    """What is known of it; also of a task that there is not, so that nothing else is taken in its place."""
    bare = said.rpartition("/")[2].partition("@")[0]  # inspect writes versions behind it
    bare = f"inspect_evals/{bare}" if harness == "inspect" else bare
    of = shipped.find(bare, harness)
    of = of if of is not None and of.harness == harness else None
    known = _known().get((harness, bare))
    same = shipped.same(of) if known is None and of is not None else None
    if known is None and same is not None and same[0].entry is not None:
        known = (same[0].entry.slug, same[1])
    slug, part = known or (None, None)
    return Task(harness, bare, slug, part, span, of, sure=True)


@cache
def _known() -> Mapping[tuple[str, str], tuple[str, str | None]]:
    """(harness, task) -> (slug, part), of tasks that mean one benchmark or one part."""
    found: dict[tuple[str, str], tuple[str, str | None]] = {}
    for entry in all_entries():
        for part in (None, *(part.slug for part in entry.parts)):
            for harness, told in entry.harness_of(part).items():
                if "args" not in told:
                    found.setdefault((harness, told["task"]), (entry.slug, part))
    return found


@cache
def _by_name() -> Mapping[str, tuple[tuple[str, str], ...]]:
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for key in _known():
        found[key[1]] = (*found.get(key[1], ()), key)
    return found
