"""A data set that a request names outright: by its address, or as owner/name."""

import re
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

from runs.finding.vocabulary import FILLERS
from runs.finding.words import fold

Span = tuple[int, int]
_URL = re.compile(r"(?:https?|hf|huggingface)://[!-~]+", re.IGNORECASE)
_HUB = re.compile(
    r"^(?:https?://(?:www\.)?(?:huggingface\.co|hf\.co)/datasets/|(?:hf|huggingface)://datasets/)"
    r"(?P<ref>[\w.-]+/[\w.-]+)"
    r"(?:/viewer/(?P<config>[\w.-]+)(?:/(?P<split>[\w.-]+))?)?(?:@(?P<revision>\w+))?"
    r"(?:/(?:resolve|blob|raw)/(?P<of>[\w.-]+)/(?P<path>[\w./+-]+))?(?:/tree/(?P<tree>[\w.-]+))?"
    r"(?:\?(?P<query>[\w=&.-]+))?",
    re.IGNORECASE | re.ASCII,
)
# A page of GitHub that shows a file; the file itself lies elsewhere.
_SHOWN = re.compile(r"^https://github\.com/(?P<repo>[\w.-]+/[\w.-]+)/(?:blob|raw)/(?P<rest>[^?#]+)", re.IGNORECASE)
SLASHED = re.compile(
    r"(?<![A-Za-z0-9/.:@_-])(?P<ref>[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*)(?![A-Za-z0-9/@:_-])"
)
_SAID = re.compile(
    r"(?:data ?sets?|datensatz|datensätze|jeux? de données|conjunto de datos|数据集|データセット|"
    r"hugging ?face|\bhf\b|rows? of)"
    r"\W{0,4}(?:the|der|le|el|von|de)?\W{0,3}$",
    re.IGNORECASE,
)
_SAID_BEHIND = re.compile(r"^\W{0,3}(?:data ?set|datensatz|数据集|データセット)", re.IGNORECASE)
_DETAIL = re.compile(
    r"\b(?P<what>config|configuration|subset|split|revision)\s*[=:]?\s*[\"']?(?P<value>[A-Za-z0-9][\w.-]*)",
    re.IGNORECASE,
)
_DETAIL_BEHIND = re.compile(
    r"(?<![\w./-])(?P<value>[A-Za-z0-9][\w.-]*)[\s-]+(?P<what>config|configuration|split|revision)\b", re.IGNORECASE
)
_CHOICE = re.compile(
    r"huggingface:(?P<ref>[\w.-]+(?:/[\w.-]+)?)(?:#(?P<config>[^/]*)(?:/(?P<split>[^/]+))?)?", re.ASCII
)
_WORDS = frozenset(["config", "configuration", "subset", "split", "revision"])
_NOT_A_VALUE = _WORDS | {"of", "the", "with", "on", "and", "for", "from", "in", "to", "is", "into", "by", "up"}
_NOT_BEFORE = (FILLERS | _NOT_A_VALUE) - {"train", "test"}


@dataclass(frozen=True)
class Named:
    """A data set said outright. ``kind``: "huggingface" or "url"."""

    kind: str
    ref: str
    span: Span
    config: str | None = None
    split: str | None = None
    revision: str | None = None
    path: str | None = None

    def choice(self) -> str:
        """The id of a choice that tells all of it but the revision and the path: huggingface:owner/name#config/split"""
        place = "/".join((self.config or "", self.split or "")).rstrip("/")
        return f"{self.kind}:{self.ref}{f'#{place}' if place else ''}"

    def source(self) -> dict[str, str]:
        """As Find hands it on."""
        details = {"config": self.config, "split": self.split, "revision": self.revision, "path": self.path}
        given = {name: value for name, value in details.items() if value is not None}
        return {
            "kind": self.kind,
            "ref": self.ref,
            **given,
            "name": self.ref if self.kind == "huggingface" else _end(self.ref),
        }


def of_choice(choice: str) -> Named | None:
    """The data set behind the id of a choice; None where it is none of these."""
    found = _CHOICE.fullmatch(choice)
    return found and Named("huggingface", found["ref"], (0, 0), found["config"] or None, found["split"] or None)


def addresses(text: str) -> list[Named]:
    """Those named by an address."""
    found = []
    for one in _URL.finditer(text):
        address = one.group().rstrip(".,;:!?)]}'\"")
        span = (one.start(), one.start() + len(address))
        hub = _HUB.match(address)
        if hub:
            found.append(_of_hub(hub, span))
        elif address.lower().startswith("http"):
            found.append(Named("url", _file(address), span))
    return found


def _of_hub(hub: re.Match[str], span: Span) -> Named:
    """With what the address says: a page of the viewer, a file at a revision, or promptfoo's ?config=…&split=…"""
    asked = dict(parse_qsl(hub["query"] or ""))
    config = hub["config"] or asked.get("config") or asked.get("subset")
    revision = hub["revision"] or hub["of"] or hub["tree"] or asked.get("revision")
    revision = None if revision == "main" else revision
    return Named("huggingface", hub["ref"], span, config, hub["split"] or asked.get("split"), revision, hub["path"])


def _file(address: str) -> str:
    shown = _SHOWN.match(address)
    return f"https://raw.githubusercontent.com/{shown['repo']}/{shown['rest']}" if shown else address


def said(text: str, known: frozenset[str]) -> list[Named]:
    """Those named as owner/name: beside a word for data set, or among the ``known`` ones (in lower case)."""
    found = []
    for one in SLASHED.finditer(text):
        ref = one["ref"].rstrip(".")
        span = (one.start(), one.start() + len(ref))
        called = _SAID.search(text[: span[0]]) or _SAID_BEHIND.search(text[span[1] :])
        if called or ref.lower() in known:
            found.append(detailed(Named("huggingface", ref, span), text))
    return found


def detailed(named: Named, text: str) -> Named:
    """With the configuration, split and revision that the words name, where it says none itself: first those behind it,
    then those before it, then "the train split".
    """
    told: dict[str, str] = {}
    led = [*_DETAIL.finditer(text, named.span[1]), *_DETAIL.finditer(text, 0, named.span[0])]
    led = [one for one in led if fold(one["value"]) not in _NOT_A_VALUE]
    taken = {one.start("what") for one in led}
    behind = [one for one in _DETAIL_BEHIND.finditer(text) if fold(one["value"]) not in _NOT_BEFORE]
    for one in [*led, *(one for one in behind if one.start("what") not in taken)]:
        what = one["what"].lower()
        told.setdefault("config" if what in ("configuration", "subset") else what, one["value"])
    return replace(
        named,
        config=named.config or told.get("config"),
        split=named.split or told.get("split"),
        revision=named.revision or told.get("revision"),
    )


def _end(address: str) -> str:
    return address.split("?")[0].rstrip("/").rsplit("/", 1)[-1] or address
