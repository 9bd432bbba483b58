"""What the catalogue says of one benchmark. Read once, never changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
KINDS = ("multiple_choice", "function_call", "math", "code", "free_text", "multi_turn")
SOURCES = ("huggingface", "package", "url")
HARNESSES = ("inspect", "lmeval", "lighteval", "harbor")
# What `each_part` and a part may set: overrides of the locators of one source, of the harnesses, or of the grader.
OVERRIDES = (*SOURCES, "harness", "harness_args")


@dataclass(frozen=True)
class Part:
    """A part of a benchmark that people ask for by name: a subject, a category, a language.

    ``overrides``: source or "harness" -> what differs there from the whole. ``grader``: its own one, where it has one.
    ``apart``: it is not among the rows of the whole benchmark (another kind of task, or another edition).
    """

    slug: str
    name: str
    aliases: tuple[str, ...] = ()
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    grader: Mapping[str, Any] | None = None
    apart: bool = False


@dataclass(frozen=True)
class Entry:
    """A benchmark of the catalogue; docs/catalogue.md explains each field.

    ``chance``: the score of blind guessing, 0..1, or None where that means nothing. ``grader``: None where no grader
    of ours can score it; then only a harness can run it. ``version``: as people say it ("v4", "2.0"), or "".
    ``cased``: names that are ordinary words too, and count only in capitals.
    """

    slug: str
    name: str
    kind: str
    description: str
    licence: str
    metric: str
    chance: float | None = None
    size: int | None = None
    version: str = ""
    gated: bool = False
    aliases: tuple[str, ...] = ()
    cased: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    locators: tuple[Mapping[str, Any], ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    grader: Mapping[str, Any] | None = None
    harness: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    each_part: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    only_parts: bool = False

    def part(self, slug: str) -> Part:
        """KeyError that lists the known parts."""
        for one in self.parts:
            if one.slug == slug:
                return one
        raise KeyError(f"{self.name} has no part {slug!r}; known: {', '.join(one.slug for one in self.parts)}")

    def locators_of(self, part: str | None = None) -> list[Json]:
        """Where the rows are, best place first, each with the ``fields`` that hold there.

        For a whole that lies in several places: {"source": "several", "of": [{…, "part": slug}, …]}.
        KeyError for an unknown part.
        """
        if part is None and self.only_parts:
            return [{"source": "several", "of": self._each(at)} for at in range(len(self.locators))]
        return [self._placed(locator, part) for locator in self.locators]

    def harness_of(self, part: str | None = None) -> dict[str, Json]:
        """harness -> {"task", "args"?}: the task that measures the same. KeyError for an unknown part.

        A part leaves out the harnesses that can't run it alone.
        """
        tasks: dict[str, Any] = dict(self.harness)
        args: Mapping[str, Any] = {}
        if part is not None:
            own = self._overrides(part)
            args = own.get("harness_args", {})
            narrowed = {**args, **own.get("harness", {})}
            tasks = {name: task for name, task in {**tasks, **own.get("harness", {})}.items() if name in narrowed}
        return {name: {"task": task, **({"args": args[name]} if name in args else {})} for name, task in tasks.items()}

    def grader_of(self, part: str | None = None) -> Mapping[str, Any] | None:
        """The grader of the whole, or of a part. KeyError for an unknown part."""
        if part is None:
            return self.grader
        own = self.part(part)
        return own.grader if own.grader is not None else None if own.apart else self.grader

    def _each(self, at: int) -> list[Json]:
        """Where the parts of the whole are, all from the locator at this place of the list."""
        inside = [one.slug for one in self.parts if not one.apart]
        return [{**self._placed(self.locators[at], slug), "part": slug} for slug in inside]

    def _placed(self, locator: Mapping[str, Any], part: str | None) -> Json:
        own = self._overrides(part).get(locator["source"], {}) if part is not None else {}
        merged = {"fields": dict(self.fields), **locator, **own}
        if "where" in locator or "where" in own:
            merged["where"] = {**locator.get("where", {}), **own.get("where", {})}
        return merged

    def _overrides(self, slug: str) -> dict[str, Json]:
        own = self.part(slug).overrides
        names = {*self.each_part, *own}
        return {name: {**_filled(self.each_part.get(name, {}), slug), **own.get(name, {})} for name in names}


def _filled(value: Any, slug: str) -> Any:
    """``{slug}`` in every text becomes the part's slug, ``{words}`` the slug in words."""
    if isinstance(value, str):
        return value.replace("{slug}", slug).replace("{words}", slug.replace("_", " "))
    if isinstance(value, Mapping):
        return {name: _filled(inner, slug) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, slug) for inner in value]
    return value
