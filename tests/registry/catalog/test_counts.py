"""How many rows an entry says that a package holds is how many are read from it."""

from collections.abc import Iterator
from typing import Any

import pytest

from registry.catalog import Entry, all_entries
from registry.catalog.mapping import fits
from registry.catalog.preparing import LAYOUTS
from runs.sources.files.formats import format_of
from runs.sources.files.reading import rows_in
from tests.factories import wheels

Place = dict[str, Any]


def places() -> Iterator[tuple[Entry, str | None, Place]]:
    for entry in all_entries():
        for part in (None, *(one.slug for one in entry.parts)):
            for place in entry.locators_of(part):
                if place["source"] == "package":
                    yield entry, part, place


ALL = list(places())
COUNTED = [(entry, part, place) for entry, part, place in ALL if "where" not in place]
NARROWED = [(entry, part, place) for entry, part, place in ALL if "where" in place]


def named(given: list[tuple[Entry, str | None, Place]]) -> list[str]:
    return [f"{entry.slug}{f'/{part}' if part else ''}" for entry, part, _ in given]


async def read(place: Place) -> list[dict[str, Any]]:
    with wheels.wheel(place["package"], place["version"]).open("rb") as file:
        rows, _ = await rows_in(file, place["path"], format_of(place["path"]), member=place["path"])
    return list(LAYOUTS[place["layout"]](rows[0])) if "layout" in place else rows


@pytest.mark.parametrize(("entry", "part", "place"), ALL, ids=named(ALL))
def test_it_says_how_many_rows_a_package_holds(entry: Entry, part: str | None, place: Place) -> None:
    assert isinstance(place.get("rows"), int), "rows = as many as are read there"
    if not place.get("sample") and part is None and entry.size is not None:
        assert place["rows"] == entry.size, "what its authors publish; else sample = true, or a note that says why"


@pytest.mark.long
@pytest.mark.parametrize(("entry", "part", "place"), COUNTED, ids=named(COUNTED))
async def test_it_counts_as_many_as_it_says(entry: Entry, part: str | None, place: Place) -> None:
    assert len(await read(place)) == place["rows"]


@pytest.mark.long
async def test_every_part_of_a_shared_file_has_rows_in_it() -> None:
    held: dict[str, list[dict[str, Any]]] = {}
    for entry, part, place in NARROWED:
        rows = held[place["path"]] = held.get(place["path"]) or await read(place)
        assert any(fits(place["where"], row) for row in rows), (entry.slug, part)
