"""From what Find named to rows: the places of a catalogue entry in order, a data set of the Hub, an address."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from registry import catalog
from registry.catalog.entries import Entry
from registry.catalog.preparing import LAYOUTS
from runs.analysis.checks import risk
from runs.analysis.hints import place_in
from runs.analysis.planning import Held, Known
from runs.models import Run
from runs.sources import snapshots
from runs.sources.base import Row
from runs.sources.huggingface.choosing import config_of
from runs.sources.snapshots import Kept, Reads
from runs.sources.troubles import SourceError
from runs.sources.web import Web

Json = dict[str, Any]
Ways = Callable[[], AbstractAsyncContextManager[Web]]
# Another place of the same benchmark may still have its rows.
_ELSEWHERE = frozenset((
    "rows_unavailable", "rows_gated", "rows_unreadable", "source_busy", "host_blocked", "upstream_tls", "part_needed",
    "egress_unavailable", "secret_revoked", "secret_unavailable", "destination_forbidden",
))  # fmt: skip


@dataclass(frozen=True)
class Whole:
    """The rows of a benchmark or of a part of it, wherever they lay. ``ref`` names it for all time."""

    kind: str
    ref: str
    name: str
    part: str | None
    where: str
    locator: Json
    held: list[Held]
    known: Known = field(default_factory=Known)
    description: str = ""
    licence: str = ""
    revision: str = ""
    sha256: str = ""
    snapshots: list[str] = field(default_factory=list)
    facts: Mapping[str, Any] = field(default_factory=dict)
    risks: list[Json] = field(default_factory=list)


async def fetched(source: Mapping[str, Any], run: Run, orm: Reads, ways: Ways, choices: Sequence[str]) -> Whole:
    """``source``: of kind catalogue, huggingface or url. ``choices``: the owner's so far. Raises SourceError."""
    chosen = dict(choice.partition(":")[::2] for choice in choices)
    if source["kind"] == "catalogue":
        return await _of_catalogue({**source, **chosen}, run, orm, ways)
    if source["kind"] == "huggingface":
        return await _of_hub({**source, **chosen}, run, orm, ways)
    return await _of_url(source, run, orm, ways)


# -- the catalogue -----------------------------------------------------------------------------------------------------
async def _of_catalogue(source: Mapping[str, Any], run: Run, orm: Reads, ways: Ways) -> Whole:
    """The first place that has the rows; why earlier ones had not is told with the plan."""
    entry = _entry(str(source["ref"]))
    part = source.get("part")
    try:
        locators = entry.locators_of(part)
    except KeyError as unknown:
        raise SourceError(
            "part_needed",
            str(unknown.args[0]),
            "Name one of these parts.",
            choices=[{"id": one.slug, "name": one.name, "reason": f"a part of {entry.name}"} for one in entry.parts],
            asks="part",
        ) from None
    failed: list[tuple[Json, SourceError]] = []
    for locator in locators:
        try:
            whole = await _placed(entry, part, locator, run, orm, ways)
        except SourceError as trouble:
            if trouble.code not in _ELSEWHERE:
                raise
            failed.append((locator, trouble))
            continue
        return replace(whole, risks=[*whole.risks, *[_failed(*each) for each in failed]])
    if failed:
        first = failed[0][1]
        raise SourceError(first.code, first.message, first.hint)
    raise SourceError(
        "rows_unavailable",
        f"The catalogue knows no place that has the rows of {entry.name}.",
        "Launch it on a harness that brings its rows (harness=), or upload them as a subset of your own.",
    )


def _entry(slug: str) -> Entry:
    try:
        return catalog.get(slug)
    except KeyError as unknown:
        raise SourceError("bad_locator", str(unknown.args[0]), "Name the benchmark as the catalogue does.") from None


async def _placed(entry: Entry, part: str | None, locator: Json, run: Run, orm: Reads, ways: Ways) -> Whole:
    """The rows of one locator; of ``several`` all, one after another."""
    inner = list(locator["of"]) if locator["source"] == "several" else [locator]
    kept = [await _rows(each, run, orm, ways) for each in inner]
    held = [
        Held(
            _laid_out(each, one.rows),
            str(each.get("part") or part or entry.slug),
            each["fields"],
            each.get("where") or {},
        )
        for each, one in zip(inner, kept, strict=True)
    ]
    first = kept[0].snapshot
    named = f"{entry.name}, {entry.part(part).name}" if part else entry.name
    return Whole(
        kind="catalogue",
        ref=entry.slug,
        name=named,
        part=part,
        where=where(inner[0]) + (f" and {len(inner) - 1} more places" if len(inner) > 1 else ""),
        locator=plain(locator),
        held=held,
        known=Known(entry.kind, entry.grader_of(part), entry.metric, entry.chance, entry.notes),
        description=entry.description,
        licence=first.licence or entry.licence,
        revision=first.revision if len(kept) == 1 else "",
        sha256=_digest(kept),
        snapshots=[one.snapshot.pk for one in kept],
        facts=_facts(kept),
        risks=[*_of_place(inner[0])],
    )


def _called(locator: Mapping[str, Any], part: str | None, entry: Entry) -> str:
    return str(locator.get("part") or part or entry.slug).replace(" ", "_")


async def _rows(locator: Mapping[str, Any], run: Run, orm: Reads, ways: Ways) -> Kept:
    return await snapshots.rows_of(locator, run.owner_id, orm, ways)


def _laid_out(locator: Mapping[str, Any], rows: list[Row]) -> list[Row]:
    """Rows, also where the file is not rows but holds them."""
    layout = locator.get("layout")
    return rows if layout is None else list(LAYOUTS[layout](rows[0]))


def _of_place(locator: Mapping[str, Any]) -> list[Json]:
    found = [risk("note", str(locator["note"]))] if locator.get("note") else []
    if locator.get("sample"):
        words = "These are a part of the benchmark's rows: a score of them is not the benchmark's score."
        found.append(risk("sample", words, None if locator.get("where") else locator.get("rows")))
    return found


def _failed(locator: Mapping[str, Any], trouble: SourceError) -> Json:
    return risk("place_failed", f"Taken from another place, since {where(locator)} gave no rows: {trouble.message}")


# -- elsewhere ---------------------------------------------------------------------------------------------------------
async def _of_hub(source: Mapping[str, Any], run: Run, orm: Reads, ways: Ways) -> Whole:
    hinted = place_in([str(hint) for hint in run.hints])
    given = {name: source.get(name) or hinted.get(name) for name in ("config", "split", "revision", "path")}
    locator = {"source": "huggingface", "dataset": source.get("dataset") or source["ref"], **given}
    try:
        kept = await _rows(locator, run, orm, ways)
    except SourceError as trouble:
        part = source.get("part")
        meant = config_of([str(choice["id"]) for choice in trouble.choices], _named(part)) if part else None
        if trouble.asks not in ("config", "split") or meant is None:
            raise
        locator[trouble.asks] = meant
        kept = await _rows(locator, run, orm, ways)
    return _alone("huggingface", str(locator["dataset"]), source, locator, kept)


def _named(part: Any) -> str:
    return str(part).strip().replace(" ", "_")


async def _of_url(source: Mapping[str, Any], run: Run, orm: Reads, ways: Ways) -> Whole:
    locator = {"source": "url", "url": source["ref"]}
    return _alone("url", str(source["ref"]), source, locator, await _rows(locator, run, orm, ways))


def _alone(kind: str, ref: str, source: Mapping[str, Any], locator: Mapping[str, Any], kept: Kept) -> Whole:
    facts = kept.snapshot.facts
    name = str(source.get("name") or ref.rpartition("/")[2] or ref)
    part = " ".join(str(facts[each]) for each in ("config", "split") if facts.get(each) not in (None, "default"))
    return Whole(
        kind=kind,
        ref=ref,
        name=name,
        part=part or None,
        where=where(locator),
        locator=plain(locator),
        held=[Held(kept.rows, part.split(" ")[0] or "row", labels=facts.get("labels") or {})],
        licence=kept.snapshot.licence,
        revision=kept.snapshot.revision,
        sha256=kept.snapshot.sha256,
        snapshots=[kept.snapshot.pk],
        facts=facts,
    )


def where(locator: Mapping[str, Any]) -> str:
    """A place in words."""
    if locator["source"] == "several":
        return where(locator["of"][0]) + " and others"
    if locator["source"] == "huggingface":
        parts = [str(locator[name]) for name in ("config", "split") if locator.get(name)]
        return f"Hugging Face {locator['dataset']}" + (f" ({', '.join(parts)})" if parts else "")
    if locator["source"] == "package":
        return f"the package {locator['package']} {locator['version']}"
    return str(locator.get("url"))


def plain(locator: Mapping[str, Any]) -> Json:
    """The place alone, without what is done with its rows."""
    if locator["source"] == "several":
        return {"source": "several", "of": [plain(each) for each in locator["of"]]}
    return snapshots.place_of(locator)


def _digest(kept: Sequence[Kept]) -> str:
    if len(kept) == 1:
        return kept[0].snapshot.sha256
    return hashlib.sha256("\n".join(one.snapshot.sha256 for one in kept).encode()).hexdigest()


def _facts(kept: Sequence[Kept]) -> Json:
    merged: Json = {}
    for one in kept:
        merged = {**one.snapshot.facts, **merged}
    return merged
