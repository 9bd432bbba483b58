"""The Hub's search for datasets: what it lists for a name. Nothing is chosen here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings

from runs.sources.files.formats import format_of
from runs.sources.huggingface.choosing import NOT_ROWS
from runs.sources.huggingface.hub import parsed
from runs.sources.troubles import SourceError
from runs.sources.web import Answer, Web

PAGE = 30  # datasets that one search lists; where it lists as many, there may be more


@dataclass(frozen=True)
class Listed:
    """One dataset as the Hub lists it. ``downloads``: of the last 30 days. ``gated``: who reads it must ask first.

    ``readable``: whether it has files of a format that is read here; None where the list does not say.
    """

    id: str
    downloads: int = 0
    gated: bool = False
    readable: bool | None = None


async def search(web: Web, name: str) -> tuple[list[Listed], bool]:
    """(datasets whose id holds the name in one of its spellings, whether that is all of them)

    Raises SourceError: ``search_failed`` where the Hub answers, but not with a list; else those of the way to it.
    """
    found: dict[str, Listed] = {}
    whole = True
    for words in spellings(name):
        page = await _page(web, words)
        whole = whole and len(page) < PAGE
        found |= {one.id: one for one in page}
    return list(found.values()), whole


def spellings(name: str) -> list[str]:
    """The Hub looks for a piece of an id in any case, and ids have no spaces: ZebraLogic, Zebra-Logic, Zebra_Logic."""
    words = re.findall(r"[A-Z]+(?![a-z])[\d.]*|[A-Z]?[a-z]+[\d.]*|[\d.]+|[^\W_]+", name)
    return list(dict.fromkeys([sign.join(words) for sign in ("", "-", "_")])) if len(words) < 6 else [name.strip()]


async def _page(web: Web, words: str) -> list[Listed]:
    asked = {"search": words, "sort": "downloads", "limit": PAGE}
    try:
        answer = await _asked(web, {**asked, "full": "true"})
    except SourceError as trouble:
        if trouble.code != "rows_too_large":
            raise
        answer = await _asked(web, asked)  # lists of files that are too long: without them
    told = parsed(answer) if answer.ok else None
    if not isinstance(told, list):
        raise _failed(web, answer)
    return [_listed(one) for one in told if isinstance(one, dict) and isinstance(one.get("id"), str)]


async def _asked(web: Web, words: Mapping[str, Any]) -> Answer:
    return await web.get(f"{settings.HUGGINGFACE_URL}/api/datasets?{urlencode(words)}", accept="application/json")


def _listed(told: Mapping[str, Any]) -> Listed:
    downloads = told.get("downloads")
    gated = bool(told.get("private")) or told.get("gated") not in (None, False)
    return Listed(told["id"], downloads if isinstance(downloads, int) else 0, gated, _is_readable(told))


def _is_readable(told: Mapping[str, Any]) -> bool | None:
    """By its files, or by the tags of what the Hub could read itself."""
    if told.get("disabled"):
        return False
    tags = [str(tag) for tag in told.get("tags") or []]
    if any(tag.startswith("format:") and tag not in ("format:imagefolder", "format:audiofolder") for tag in tags):
        return True
    files = told.get("siblings")
    if not isinstance(files, list):
        return None
    paths = [str(each.get("rfilename", "")) for each in files if isinstance(each, Mapping)]
    return any(format_of(path) and not NOT_ROWS.search(path) for path in paths)


def _failed(web: Web, answer: Answer) -> SourceError:
    host = urlsplit(settings.HUGGINGFACE_URL).hostname or ""
    hint = "Try again later. If BENCHWRIGHT_HUGGINGFACE_URL names a mirror, look at whether it can search."
    if answer.status in (401, 403) and web.has_secret_for(host):
        hint = f"Your secret for {host} was sent along and is refused: rotate it, or delete it."
    return SourceError("search_failed", f"The Hub's search can't be used: it answers {answer.status}.", hint)
