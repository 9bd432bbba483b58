"""Every place and grader of the catalogue is one that Analyze can take."""

import pytest

from registry import catalog, graders
from registry.catalog.entries import Entry
from runs.analysis.edits import column_faults
from runs.driver.rules import places


def all_of(entry: Entry) -> list[str | None]:
    return [None, *(part.slug for part in entry.parts)]


@pytest.mark.parametrize("entry", catalog.all_entries(), ids=lambda entry: entry.slug)
def test_its_places_can_be_fetched_and_its_graders_used(entry: Entry) -> None:
    for part in all_of(entry):
        for locator in entry.locators_of(part):
            place = places.plain(locator)
            inner = place["of"] if place["source"] == "several" else [place]
            assert inner
            assert all({"fields", "where", "part"}.isdisjoint(each) for each in inner)
            assert places.where(locator)
        grader = entry.grader_of(part)
        if grader is not None:
            assert graders.validate_grader(grader)["kind"] == grader["kind"]


def test_literal_choices_are_no_columns() -> None:
    assert column_faults({"input": {"question": "q"}, "choices": ["=yes", "=no"], "expected": "a.b"}, ["q", "a"]) == []
    assert column_faults({"input": "q", "choices": ["c1"]}, ["q"])[0]["loc"] == ["edits", "fields"]
