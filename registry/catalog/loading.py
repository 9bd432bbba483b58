"""Reads the files of the catalogue, and refuses those that would mislead somebody."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from registry.catalog.entries import HARNESSES, KINDS, OVERRIDES, SOURCES, Entry, Part
from registry.catalog.preparing import LAYOUTS, PREPARATIONS

DATA = Path(__file__).parent / "data"
_NAMES = {one.name for one in fields(Entry)}
_LOCATOR = {"source", "fields", "where", "rows", "sample", "note", "layout"}
_OF_SOURCE = {
    "huggingface": {"dataset", "config", "split", "revision"},
    "package": {"package", "version", "path", "answers_path"},
    "url": {"url", "answers_url"},
}
_FIELDS = {"task_id", "input", "expected", "choices", "prepare", "solution"}


class CatalogFault(ValueError):
    """A file of the catalogue says something that can't be right; the message names file and entry."""


@cache
def all_entries() -> tuple[Entry, ...]:
    """Every entry, by slug. Raises CatalogFault."""
    found = [entry for path in sorted(DATA.glob("*.toml")) for entry in read(path)]
    slugs = [entry.slug for entry in found]
    twice = {slug for slug in slugs if slugs.count(slug) > 1}
    if twice:
        raise CatalogFault(f"said twice in the catalogue: {', '.join(sorted(twice))}")
    return tuple(sorted(found, key=lambda entry: entry.slug))


def get(slug: str) -> Entry:
    """KeyError where the catalogue has no such entry."""
    for entry in all_entries():
        if entry.slug == slug:
            return entry
    raise KeyError(f"the catalogue has no {slug!r}")


def read(path: Path) -> Iterator[Entry]:
    """The entries of one file. Raises CatalogFault."""
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as fault:
        raise CatalogFault(f"{path.name}: {fault}") from None
    for one in said.get("benchmark", ()):
        try:
            yield _entry(one)
        except (KeyError, TypeError, ValueError) as fault:
            raise CatalogFault(f"{path.name}, {one.get('slug', 'an entry without a slug')}: {fault}") from None


def _entry(said: Mapping[str, Any]) -> Entry:
    unknown = set(said) - _NAMES
    if unknown:
        raise ValueError(f"unknown fields {sorted(unknown)}")
    if said["kind"] not in KINDS:
        raise ValueError(f"kind is one of {', '.join(KINDS)}")
    locators = tuple(_locator(one) for one in said.get("locators", ()))
    _known(said.get("harness", {}), HARNESSES, "harness")
    _known(said.get("each_part", {}), OVERRIDES, "each_part")
    made = {
        **said,
        "aliases": tuple(said.get("aliases", ())),
        "cased": tuple(said.get("cased", ())),
        "notes": tuple(said.get("notes", ())),
        "locators": locators,
        "fields": _mapping(said["fields"]) if "fields" in said else {},
        "parts": tuple(_part(one) for one in said.get("parts", ())),
    }
    if locators and not made["fields"] and not all("fields" in one for one in locators):
        raise ValueError("fields are missing: how does a row become a task?")
    return Entry(**made)


def _locator(said: Mapping[str, Any]) -> Mapping[str, Any]:
    source = said["source"]
    _known([source], SOURCES, "source")
    _known(said, _LOCATOR | _OF_SOURCE[source], f"locator of {source}")
    if "layout" in said:
        _known([said["layout"]], LAYOUTS, "layout")
    return {**said, "fields": _mapping(said["fields"])} if "fields" in said else said


def _mapping(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """The declarative form that docs/catalogue.md describes, with its absent members."""
    _known(said, _FIELDS, "fields")
    if said.get("prepare") is not None:
        _known([said["prepare"]], PREPARATIONS, "preparation")
    if "input" not in said:
        raise ValueError("fields.input is missing")
    return {"task_id": None, "choices": None, "expected": None, "prepare": None, "solution": None, **said}


def _part(said: str | Mapping[str, Any]) -> Part:
    """A slug alone, or {slug, name?, aliases?, grader?, apart?} with overrides."""
    own: dict[str, Any] = {"slug": said} if isinstance(said, str) else dict(said)
    slug = own.pop("slug")
    name = own.pop("name", None) or slug.replace("_", " ").replace("-", " ").title()
    aliases, grader, apart = tuple(own.pop("aliases", ())), own.pop("grader", None), own.pop("apart", False)
    _known(own, OVERRIDES, f"part {slug}")
    return Part(slug, name, aliases, own, grader, apart)


def _known(said: Any, known: Any, what: str) -> None:
    unknown = sorted(set(said) - set(known))
    if unknown:
        raise ValueError(f"{what}: unknown {', '.join(unknown)}; known: {', '.join(sorted(known))}")
