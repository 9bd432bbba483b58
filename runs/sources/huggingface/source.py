"""{"source": "huggingface", "dataset", "config"?, "split"?, "revision"?, "path"?, "answers_path"?}.

The revision is resolved to a commit first, and all that follows is read from that commit. In this order: the file that
``path`` names; files that the card declares; files whose names tell their split; the Hub's own conversion to parquet;
its viewer, page by page. Scripts in a dataset are never run.
"""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from runs.sources.base import Fetched, Locator, Row
from runs.sources.files import fetching
from runs.sources.files.formats import format_of
from runs.sources.files.joining import joined
from runs.sources.huggingface import choosing, hub
from runs.sources.huggingface.hub import Dataset
from runs.sources.troubles import SourceError, missing
from runs.sources.web import Web, too_large

_NAME = re.compile(r"[\w.-]{1,96}(/[\w.-]{1,96})?", re.ASCII)
_PAGE = 100


class HuggingFace:
    keys = ("dataset", "config", "split", "revision", "path", "answers_path")

    def check(self, locator: Locator) -> None:
        name = locator.get("dataset")
        if not isinstance(name, str) or not _NAME.fullmatch(name) or ".." in name:
            raise missing("huggingface", "dataset (as owner/name)")

    async def fetch(self, locator: Locator, web: Web) -> Fetched:
        found = await hub.dataset(web, str(locator["dataset"]), locator.get("revision"))
        if locator.get("path"):
            rows, facts = await _named(web, found, locator)
        else:
            rows, facts = await _chosen(web, found, locator)
        return Fetched(rows, found.revision, found.licence, found.private, {**facts, "dataset": found.id})


async def _named(web: Web, found: Dataset, locator: Locator) -> tuple[list[Row], dict[str, Any]]:
    paths = [str(locator[key]) for key in ("path", "answers_path") if locator.get(key)]
    read = [await _file(web, found, found.file(path), path) for path in paths]
    rows = joined(read[0].rows, read[1].rows, paths) if len(read) > 1 else read[0].rows
    return rows, fetching.merged(read)


async def _chosen(web: Web, found: Dataset, locator: Locator) -> tuple[list[Row], dict[str, Any]]:
    held = choosing.declared(found.card, found.paths) or choosing.inferred(found.paths)
    if held and _readable(held):
        config, split = _place(found, held, locator)
        addresses = [(found.file(path), path) for path in held[config][split]]
    else:
        held = await _converted(web, found, locator)
        if not held:
            return await _viewed(web, found, locator)
        config, split = _place(found, held, locator)
        addresses = [(url, f"{config}/{split}/{number}.parquet") for number, url in enumerate(held[config][split])]
    read = await _files(web, found, addresses)
    rows = [row for file in read for row in file.rows]
    return rows, {**fetching.merged(read), "config": config, "split": split}


def _readable(held: choosing.Files) -> bool:
    return all(format_of(path) for splits in held.values() for paths in splits.values() for path in paths)


async def _converted(web: Web, found: Dataset, locator: Locator) -> choosing.Files:
    """Only of the newest commit: the Hub keeps no conversion of older ones."""
    if locator.get("revision"):
        newest = await hub.dataset(web, found.id, None)
        if newest.revision != found.revision:
            return {}
    return await hub.converted(web, found)


def _place(found: Dataset, held: choosing.Files, locator: Locator) -> tuple[str, str]:
    """The config and the split that are meant. SourceError ``part_needed`` where it must be said."""
    config = choosing.config_of(list(held), locator.get("config"))
    if config is None:
        raise _ask(found, "config", locator.get("config"), list(held))
    split = choosing.split_of(list(held[config]), locator.get("split"))
    if split is None:
        raise _ask(found, "split", locator.get("split"), list(held[config]))
    return config, split


def _ask(found: Dataset, what: str, asked: str | None, names: Sequence[str]) -> SourceError:
    shown = ", ".join(names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")
    said = f"no {what} {asked!r}" if asked else f"{len(names)} {what}s, and none of a usual name"
    return SourceError(
        "part_needed",
        f"The dataset {found.id} has {said}. It has: {shown}.",
        f'Name one of them as a hint: hints=["{what} {names[0]}"].',
        choices=[{"id": name, "name": name, "reason": f"a {what} of {found.id}"} for name in names[:200]],
        asks=what,
    )


async def _files(web: Web, found: Dataset, addresses: list[tuple[str, str]]) -> list[fetching.File]:
    read: list[fetching.File] = []
    for url, name in addresses:
        read.append(await _file(web, found, url, name))
        if sum(file.facts["bytes"] for file in read) > settings.SOURCE_BYTES:
            raise too_large(f"{found.id} ({len(addresses)} files)", settings.SOURCE_BYTES)
        if sum(len(file.rows) for file in read) > settings.SOURCE_ROWS:
            raise SourceError(
                "rows_too_large",
                f"{found.id} has more than {settings.SOURCE_ROWS:,} rows in that split, the limit.",
                "Name another split or config; whoever runs this installation can raise BENCHWRIGHT_SOURCE_ROWS.",
            )
    return read


async def _file(web: Web, found: Dataset, url: str, name: str) -> fetching.File:
    if urlsplit(url).scheme != "https":
        raise SourceError("rows_unavailable", f"The Hub names an odd address for {name}.", "Try again later.")
    got = await fetching.fetched(web, url, name, format_of(name))
    if not isinstance(got, fetching.File):
        raise await hub.refusal(web, found.id, got, found.revision)
    return got


async def _viewed(web: Web, found: Dataset, locator: Locator) -> tuple[list[Row], dict[str, Any]]:
    shown = await hub.viewed_splits(web, found)
    held: choosing.Files = {config: {split: [] for split in splits} for config, splits in shown.items()}
    config, split = _place(found, held, locator) if held else ("default", str(locator.get("split") or "test"))
    rows: list[Row] = []
    while True:
        page = await hub.viewed_page(web, found, config, split, len(rows))
        rows += [_whole(found, each) for each in page["rows"]]
        total = int(page.get("num_rows_total") or 0)
        if total > settings.SOURCE_ROWS:
            raise too_large(f"{found.id} ({total:,} rows)", settings.SOURCE_BYTES)
        if not page["rows"] or len(rows) >= total:
            break
    facts = {"files": [], "left_out": [], "labels": _labels(page), "config": config, "split": split, "viewer": True}
    return rows, facts


def _whole(found: Dataset, told: dict[str, Any]) -> Row:
    if told.get("truncated_cells"):
        raise SourceError(
            "rows_unavailable",
            f"The Hub's viewer cuts long values of {found.id} short, and its files can't be read.",
            "Its publisher has to upload rows as parquet, JSON lines or CSV. Or upload them yourself as a subset.",
        )
    return dict(told["row"])


def _labels(page: Any) -> dict[str, list[str]]:
    named = {}
    for feature in page.get("features") or []:
        kind = feature.get("type") or {}
        if isinstance(kind, dict) and kind.get("_type") == "ClassLabel" and kind.get("names"):
            named[str(feature["name"])] = [str(name) for name in kind["names"]]
    return named
