"""Where a request names a provider, or one of the caller's connections."""

import re
from collections.abc import Iterable

from runs.finding.known import Known
from runs.finding.quantities import blanked
from runs.finding.suts.makers import OTHER_NAMES
from runs.finding.words import distance
from runs.providers import PROVIDERS

Span = tuple[int, int]
_BY = (
    r"(?:\b(?:via|over|through|on|with|from|at|by|using|über|uber|bei|auf|mit|von|chez|par|sur|avec|a\s+través\s+de|"
    r"através\s+d[oea]|por|en|con|tramite|su|da|no|na|pelo|pela|per|through the)\s+(?:the\s+)?|"
    r"通过|通過|经由|経由|[在用])\s*"
)
_LED = re.compile(rf"{_BY}(?=(?P<name>[A-Za-z][A-Za-z0-9_-]*(?:[ ][A-Za-z]+)?))", re.IGNORECASE)
_EASTERN = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_-]*)\s*(?:経由|经由|を通)")
_EVERY = "|".join(sorted([*PROVIDERS, *OTHER_NAMES], key=len, reverse=True))
_BESIDE = re.compile(rf"\s*[,(@/|:-]?\s*(?:@|at|by|from)?\s*(?P<name>{_EVERY})(?![A-Za-z0-9_/-])", re.IGNORECASE)
# Names that are no words of another use, so that they need no word before them.
_TELLING = re.compile(
    r"(?<![A-Za-z0-9_/-])(?:open ?router|ollama|vllm|groq|fireworks|together ai)(?![A-Za-z0-9_/-])", re.IGNORECASE
)


def named(said: str, known: Known) -> str | None:
    """The provider or the connection of that name; None where there is none."""
    name = said.casefold()
    if name in PROVIDERS:
        return name
    if name in OTHER_NAMES:
        return OTHER_NAMES[name]
    for connection in known.connections:
        if connection.casefold() == name:
            return connection
    near = [one for one in PROVIDERS if len(one) > 7 and distance(name, one) == 1]
    return near[0] if len(near) == 1 else None


def spot(text: str, known: Known, models: Iterable[Span]) -> tuple[str | None, list[Span]]:
    """(provider or connection, where it is said): behind "via" and the like, else beside a model, else anywhere."""
    spans = list(models)
    rest = blanked(text, spans)
    at, found = _led(rest, known)
    if at is not None:
        return at, found
    for span in spans:
        beside = _BESIDE.match(text, span[1])
        if beside:
            return named(beside["name"], known), [beside.span()]
    telling = _TELLING.search(rest)
    return (named(telling[0], known), [telling.span()]) if telling else (None, [])


def _led(text: str, known: Known) -> tuple[str | None, list[Span]]:
    at, spans = None, []
    for one in sorted([*_LED.finditer(text), *_EASTERN.finditer(text)], key=lambda found: found.start()):
        words = one["name"]
        for said in (words, words.split()[0]):
            name = named(said, known)
            if name:
                at = at or name
                spans.append((one.start(), one.start("name") + len(said)))
                break
    return at, spans
