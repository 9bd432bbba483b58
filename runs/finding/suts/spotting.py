"""Where a request names a model. ``exact``: written as ids are, so that nothing has to be guessed."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from registry.catalog import all_entries
from runs.finding.datasets import SLASHED
from runs.finding.known import Known
from runs.finding.suts import places
from runs.finding.suts.makers import FAMILIES, MAKERS, ROUTERS, WHOLE, family, spelled
from runs.finding.vocabulary import FILLERS, SAMPLES
from runs.finding.words import fold, squash
from runs.local_model.server import MODEL as LOCAL
from runs.providers import PROVIDERS

Span = tuple[int, int]
_EDGE = r"(?<![A-Za-z0-9/.:@_-])"
_ID = r"[A-Za-z0-9](?:[A-Za-z0-9._:-]*[A-Za-z0-9])?"
_AT = re.compile(rf"{_EDGE}(?P<model>{_ID}(?:/{_ID})*)@(?P<provider>[A-Za-z0-9][A-Za-z0-9_-]*)")
_SLUG = re.compile(rf"{_EDGE}(?P<model>{_ID}(?:/{_ID})+)(?![A-Za-z0-9/@_-])")
_FAMILY = "|".join(
    {"o1": r"o1(?![A-Za-z0-9])", "o3": r"o3(?![A-Za-z0-9])", "o4": r"o4(?![A-Za-z0-9])", "phi": r"phi(?=-?\d)",
     "command": r"command-[ar]"}.get(name, name)
    for name in sorted(FAMILIES, key=len, reverse=True)
)  # fmt: skip
_TAIL = (
    r"(?:[ ](?:\d[\w.]*|mini|nano|pro|flash|lite|haiku|sonnet|opus|turbo|instruct|chat|large|small|medium|coder|r1|"
    r"v\d[\w.]*)\b)*"
)
_BARE = re.compile(
    rf"{_EDGE}(?P<family>{_FAMILY})(?P<rest>[A-Za-z0-9._:-]*[A-Za-z0-9])?(?P<tail>{_TAIL})(?![A-Za-z0-9/@_])",
    re.IGNORECASE,
)
_OWN = re.compile(
    rf"\b(?:on|with|using|mit|auf|sur|avec|con|en|model)\s+(?P<model>{_ID}(?:/{_ID})*)\s+"
    r"(?:via|on|at|over|through|über|auf|sur|chez|en|@)\s+(?:the\s+|my\s+)?(?P<at>[A-Za-z0-9][A-Za-z0-9_-]*)",
    re.IGNORECASE,
)

_ROUTED = re.compile(
    rf"{_EDGE}(?P<model>{_ID}/{_ID})\s*(?:,\s*)?(?:via|on|at|over|through|über|auf|sur|chez|en|tramite|@)\s+"
    r"(?:the\s+)?(?P<at>[A-Za-z][A-Za-z0-9_-]*(?: [A-Za-z]+)?)",
    re.IGNORECASE,
)
_SERVED = re.compile(
    r"\b(?P<local>(?:local|lokalen?|lokales)\s+)?(?:(?P<at>vllm|ollama|llama\.?cpp|lm ?studio|sglang|tgi)\s+)?"
    rf"(?P<word>models?|modells?)\b(?!\s*[=:])(?:\s+(?:called\s+|named\s+)?(?P<model>{_ID}(?:/{_ID})*))?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Said:
    """A model as it is written, "" for a family alone. ``at``: the provider that is written with it."""

    model: str
    family: str
    exact: bool
    at: str | None
    span: Span


def models(text: str, known: Known) -> list[Said]:
    """Every model that the text names."""
    found = _with_provider(text, known)
    found += _slashed(text, found)
    found += _by_family(text, found)
    return found or _at_home(text, known) or _at_a_router(text, known) or _local(text, known)


def slugs(text: str, found: Iterable[Said]) -> tuple[tuple[str, Span], ...]:
    """owner/name that is no model of a known maker."""
    spans = [one.span for one in found]
    return tuple(
        (one["model"], one.span())
        for one in _SLUG.finditer(text)
        if _free(one.span(), spans) and SLASHED.match(text, one.start())
    )


def _with_provider(text: str, known: Known) -> list[Said]:
    """model@provider; but neither an e-mail address nor pass@1."""
    found = []
    for one in _AT.finditer(text):
        kin, at = family(one["model"]), places.named(one["provider"], known)
        if at or kin:
            found.append(Said(one["model"], kin, True, at or one["provider"], one.span()))
    return found


def _slashed(text: str, before: Iterable[Said]) -> list[Said]:
    """maker/model, provider/model and router/maker/model."""
    found, spans = [], [one.span for one in before]
    for one in _SLUG.finditer(text):
        maker, _, rest = one["model"].partition("/")
        if not _free(one.span(), spans) or maker.lower() == "inspect_evals":
            continue
        if maker.lower() in ROUTERS or (maker.lower() in PROVIDERS and maker.lower() not in MAKERS):
            found.append(Said(rest, family(rest), True, maker.lower(), one.span()))
        elif maker.lower() in MAKERS or family(rest):
            found.append(Said(one["model"], family(rest), True, None, one.span()))
    return found


def _by_family(text: str, before: Iterable[Said]) -> list[Said]:
    """gpt-4o-mini, "Claude Haiku 4.5"; "Claude" alone names a model, but not which."""
    found, spans = [], [one.span for one in before]
    for one in _BARE.finditer(text):
        named, more = one["family"].lower(), (one["rest"] or "") + (one["tail"] or "")
        if not _free(one.span(), spans) or (not more and named in PROVIDERS):
            continue
        kin = named.split("-")[0]
        model, exact = spelled(f"{one['family']}{more}".strip(), FAMILIES[kin][1])
        found.append(Said(model if more or kin in WHOLE else "", kin, exact, None, one.span()))
    return found


def _at_home(text: str, known: Known) -> list[Said]:
    """A model of whatever name at a server of one's own, or at a connection: "my-finetune via vllm"."""
    for one in _OWN.finditer(text):
        at, model = places.named(one["at"], known), one["model"]
        if at is not None and model.casefold() not in PROVIDERS and (at in known.connections or PROVIDERS[at].free):
            return [Said(model, family(model), True, at, one.span("model"))]
    return []


def _at_a_router(text: str, known: Known) -> list[Said]:
    """owner/name right before "via OpenRouter", unless it begins with the name of a benchmark: mmlu/anatomy."""
    for one in _ROUTED.finditer(text):
        at = places.named(one["at"], known) or places.named(one["at"].split()[0], known)
        if at in ROUTERS and squash(one["model"].split("/")[0]) not in _benchmarks():
            return [Said(one["model"], family(one["model"]), True, at, one.span("model"))]
    return []


@cache
def _benchmarks() -> frozenset[str]:
    return frozenset(squash(name) for entry in all_entries() for name in (entry.slug, entry.name, *entry.aliases))


def _local(text: str, known: Known) -> list[Said]:
    """ "my local vllm model foo"; or the local model, which has no other name."""
    one = _SERVED.search(text)
    if one is not None and (one["local"] or one["at"]):
        at = places.named(one["at"] or "local", known)
        model = one["model"] or ""
        if at is not None and model and fold(model) not in FILLERS | SAMPLES and not model.isdigit():
            return [Said(model, family(model), True, at, one.span())]
        if at == "local" and not one["at"]:
            return [Said(LOCAL, family(LOCAL), True, at, (one.start(), one.start("word") + len(one["word"])))]
        return [Said("", "", False, at, one.span("word"))]
    return []


def _free(span: Span, spans: Iterable[Span]) -> bool:
    return not any(start < span[1] and span[0] < stop for start, stop in spans)
