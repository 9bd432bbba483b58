"""The Hub's own API, and what its refusals mean for the run's owner."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import orjson
from django.conf import settings

from runs.sources.troubles import SourceError
from runs.sources.web import Answer, Web

NEAREST = 5


@dataclass(frozen=True)
class Dataset:
    """``revision``: the commit; ``private``: not everybody may read it; ``paths``: the names of its files."""

    id: str
    revision: str
    licence: str
    private: bool
    paths: list[str]
    card: Any

    def file(self, path: str) -> str:
        return f"{settings.HUGGINGFACE_URL}/datasets/{self.id}/resolve/{self.revision}/{quote(path)}"


async def dataset(web: Web, name: str, revision: str | None) -> Dataset:
    """What the Hub says of a dataset at a revision (a commit, tag or branch; None = its newest). Raises SourceError."""
    at = f"/revision/{quote(revision, safe='')}" if revision else ""
    answer = await web.get(f"{settings.HUGGINGFACE_URL}/api/datasets/{quote(name)}{at}")
    if not answer.ok:
        raise await refusal(web, name, answer, revision)
    told = parsed(answer)
    if not isinstance(told, dict) or not isinstance(told.get("sha"), str):
        raise SourceError(
            "rows_unavailable",
            f"The Hub's answer about {name} can't be understood.",
            "If BENCHWRIGHT_HUGGINGFACE_URL names a mirror, look at what it serves.",
        )
    if told.get("disabled"):
        raise SourceError(
            "rows_unavailable", f"The Hub has disabled {name}.", "Its publisher has to settle that there."
        )
    return Dataset(
        id=str(told.get("id") or name),
        revision=told["sha"],
        licence=_licence(told),
        private=bool(told.get("private")) or told.get("gated") not in (None, False),
        paths=[str(each["rfilename"]) for each in told.get("siblings") or [] if "rfilename" in each],
        card=told.get("cardData") or {},
    )


async def converted(web: Web, found: Dataset) -> dict[str, dict[str, list[str]]]:
    """The Hub's own conversion to parquet: config -> split -> addresses. Empty where it has made none."""
    answer = await web.get(f"{settings.HUGGINGFACE_URL}/api/datasets/{found.id}/parquet")
    told = parsed(answer) if answer.ok else None
    if not isinstance(told, dict):
        return {}
    return {name: splits for name, splits in told.items() if isinstance(splits, dict)}


async def viewed_splits(web: Web, found: Dataset) -> dict[str, list[str]]:
    """What the dataset viewer can show: config -> splits."""
    answer = await web.get(f"{settings.DATASETS_SERVER_URL}/splits?{urlencode({'dataset': found.id})}")
    told = parsed(answer) if answer.ok else None
    shown: dict[str, list[str]] = {}
    for each in (told or {}).get("splits", []) if isinstance(told, dict) else []:
        shown.setdefault(str(each.get("config")), []).append(str(each.get("split")))
    return shown


async def viewed_page(web: Web, found: Dataset, config: str, split: str, offset: int) -> Mapping[str, Any]:
    """One page of the viewer's rows, as it comes. Raises SourceError."""
    asked = {"dataset": found.id, "config": config, "split": split, "offset": offset, "length": 100}
    answer = await web.get(f"{settings.DATASETS_SERVER_URL}/rows?{urlencode(asked)}")
    told = parsed(answer) if answer.ok else None
    if not isinstance(told, dict) or not isinstance(told.get("rows"), list):
        raise SourceError(
            "rows_unavailable",
            f"Neither files nor the Hub's viewer give rows of {found.id} ({config}, {split}).",
            "Its publisher has to upload rows as parquet, JSON lines or CSV: scripts that make them are not run here. "
            "Or load the rows yourself and upload them as a subset.",
        )
    return told


def parsed(answer: Answer) -> Any:
    try:
        return orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return None


async def refusal(web: Web, name: str, answer: Answer, revision: str | None = None) -> SourceError:
    """What a 401, 403 or 404 of the Hub means, and who can change that."""
    code = answer.headers.get("x-error-code", "")
    if code == "RevisionNotFound":
        return SourceError(
            "rows_unavailable",
            f"The dataset {name} has no revision {revision}.",
            "Name a commit, tag or branch of it.",
        )
    if code == "GatedRepo" or answer.status == 403:
        return _gated(web, name)
    if code in ("", "RepoNotFound") and answer.status in (401, 404):
        return await _unknown(web, name, answer.status)
    if answer.status in (401, 404):
        return SourceError(
            "rows_unavailable", f"{answer.url} is not there ({code}).", "Look at the file's name in the dataset's list."
        )
    return SourceError(
        "rows_unavailable",
        f"The Hub answers {answer.status} about {name}.",
        "Try again later.",
    )


def _gated(web: Web, name: str) -> SourceError:
    host = urlsplit(settings.HUGGINGFACE_URL).hostname or ""
    page = f"{settings.HUGGINGFACE_URL}/datasets/{name}"
    if web.has_secret_for(host):
        hint = f"Your secret for {host} was sent and did not suffice: accept the terms at {page} with its account, "
        hint += "and let the token read gated repositories."
    else:
        hint = f"Accept the terms at {page}, then add a secret: a read token of that account, with the rule {host} "
        hint += "(bearer). Runs launched after that send it."
    return SourceError("rows_gated", f"The dataset {name} is gated: its publisher wants to know who reads it.", hint)


async def _unknown(web: Web, name: str, status: int) -> SourceError:
    host = urlsplit(settings.HUGGINGFACE_URL).hostname or ""
    near = await nearest(web, name)
    meant = f"Nearest: {', '.join(near)}. " if near else ""
    if web.has_secret_for(host):
        secret = f"If it is private, your secret for {host} has no access to it."
    else:
        secret = f"If it is private, add a secret for it: a read token with the rule {host} (bearer)."
    return SourceError(
        "rows_unavailable" if status == 404 else "rows_gated",
        f"The Hub shows no dataset {name}: there is none, or it is private.",
        meant + secret,
        choices=[{"id": each, "name": each, "reason": "a dataset of a similar name"} for each in near],
        asks="dataset",
    )


async def nearest(web: Web, name: str) -> list[str]:
    """Names of datasets that look like ``name``, the likest first."""
    owner, _, short = name.rpartition("/")
    names = await _search(web, {"search": short})
    if owner:
        names |= await _search(web, {"author": owner})
    return sorted(names, key=lambda each: (-_likeness(each, name), each))[:NEAREST]


async def _search(web: Web, words: Mapping[str, str]) -> set[str]:
    try:
        answer = await web.get(f"{settings.HUGGINGFACE_URL}/api/datasets?{urlencode({**words, 'limit': 50})}")
    except SourceError:
        return set()
    told = parsed(answer) if answer.ok else None
    listed = told if isinstance(told, list) else []
    return {str(each["id"]) for each in listed if isinstance(each, dict) and "id" in each}


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.casefold(), other.casefold()).ratio()


def _licence(told: Mapping[str, Any]) -> str:
    card = told.get("cardData")
    named = card.get("license") if isinstance(card, dict) else None
    if isinstance(named, list):
        named = ", ".join(map(str, named))
    if isinstance(named, str) and named:
        return named
    tags = [str(tag) for tag in told.get("tags") or []]
    return next((tag.removeprefix("license:") for tag in tags if tag.startswith("license:")), "")
