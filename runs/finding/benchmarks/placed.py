"""Which entries of the catalogue, and which parts of them, take their rows from a place of the Hub."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from registry.catalog import Entry, all_entries


@dataclass(frozen=True)
class Placed:
    """``part``: None for the whole. ``config``: None for the usual one."""

    entry: Entry
    part: str | None
    config: str | None
    split: str | None
    filtered: bool = False  # only some of the rows there


def at(dataset: str) -> Sequence[Placed]:
    """By the data set's id in any case, with its owner or without."""
    return _places().get(dataset.lower(), ())


@cache
def _places() -> Mapping[str, Sequence[Placed]]:
    found: dict[str, list[Placed]] = {}
    for entry, part, place in _all():
        if place["source"] == "huggingface":
            config = place.get("config")
            config = None if config == "default" else config
            told = Placed(entry, part, config, place.get("split"), "where" in place)
            name = str(place["dataset"]).lower()
            for key in {name, name.rpartition("/")[2]}:
                found.setdefault(key, []).append(told)
    return found


def _all() -> Iterator[tuple[Entry, str | None, Mapping[str, Any]]]:
    for entry in all_entries():
        yield from ((entry, None, place) for place in entry.locators)
        for part in entry.parts:
            yield from ((entry, part.slug, place) for place in entry.locators_of(part.slug))


@cache
def datasets() -> frozenset[str]:
    """Ids with their owners, in lower case."""
    return frozenset(name for name in _places() if "/" in name)
