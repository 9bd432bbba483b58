"""Rows as they were when they were first fetched: kept by content, and served from here ever after."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from django.conf import settings

from kernel import ids, strict_json
from kernel.blobs import Blobs
from runs.models import Snapshot
from runs.sources.base import Fetched, Locator, Row, Source
from runs.sources.table import SOURCES
from runs.sources.troubles import SourceError
from runs.sources.web import WayLost, Web

T = TypeVar("T")
Ways = Callable[[], AbstractAsyncContextManager[Web]]
WAYS = 5  # most ways out that are tried for one fetch


class Reads(Protocol):
    """``runs.context.Context.orm``: a read or write by Django's ORM on a thread of its own."""

    async def __call__(self, read: Any, *args: Any) -> Any: ...


@dataclass(frozen=True)
class Kept:
    """Rows with the snapshot that they come from. ``fresh``: they were fetched just now."""

    snapshot: Snapshot
    rows: list[Row]
    fresh: bool


async def rows_of(locator: Locator, account: int, orm: Reads, way_out: Ways) -> Kept:
    """The rows at a locator: from the store where they are, else fetched by ``way_out()`` and kept.

    ``account``: whose run it is. Two that come at once get the same snapshot. Raises SourceError.
    """
    source, place = source_of(locator), place_of(locator)
    kept = await orm(_kept, place, account)
    if kept is not None:
        return Kept(kept[0], kept[1], fresh=False)
    fetched = await by_a_way(way_out, lambda web: source.fetch(place, web))
    if not fetched.rows:
        raise SourceError(
            "rows_unavailable",
            "There are no rows at that place.",
            "Name another config, split or file: this one is empty.",
        )
    snapshot, rows = await orm(_keep, place, account, fetched)
    return Kept(snapshot, rows, fresh=True)


async def by_a_way(ways: Ways, ask: Callable[[Web], Awaitable[T]]) -> T:
    """What ``ask`` comes to, begun anew with another way out where one ends meanwhile. Raises SourceError."""
    for _ in range(WAYS):
        try:
            async with ways() as web:
                return await ask(web)
        except WayLost:
            continue
    raise SourceError(
        "egress_unavailable",
        f"The way to the network ended {WAYS} times while it was used.",
        "Whoever runs this installation should look at its gateway and its egress proxy: `manage.py doctor`.",
    )


def source_of(locator: Locator) -> Source:
    """What fetches this locator. SourceError ``bad_locator``."""
    name = locator.get("source")
    if name not in SOURCES:
        raise SourceError(
            "bad_locator", f"There is no source {name!r}.", f"A locator's source is one of {', '.join(SOURCES)}."
        )
    source: Source = SOURCES[str(name)]()
    source.check(locator)
    return source


def place_of(locator: Locator) -> dict[str, Any]:
    """The locator without what does not say which rows are meant. SourceError ``bad_locator``."""
    keys = ("source", *source_of(locator).keys)
    return {name: locator[name] for name in keys if locator.get(name) is not None}


def key_of(place: Locator, account: int | None = None) -> str:
    """What a snapshot is found by. With ``account``: rows that only this account may see."""
    said: dict[str, Any] = {"locator": dict(place)}
    if account is not None:
        said["account"] = account
    return hashlib.sha256(strict_json.canonical(said)).hexdigest()


def forget(snapshot_id: str) -> bool:
    """Let the next run that asks for the locator fetch it anew. Subsets made of the rows keep theirs."""
    gone, _ = Snapshot.objects.filter(id=snapshot_id).delete()
    return bool(gone)


def lines_of(rows: list[Row]) -> bytes:
    """Rows as they are kept: a line of canonical JSON each."""
    return b"".join(strict_json.canonical(row) + b"\n" for row in rows)


def _store() -> Blobs:
    return Blobs(settings.SNAPSHOTS_DIR)


def _kept(place: Locator, account: int) -> tuple[Snapshot, list[Row]] | None:
    """The account's own snapshot goes before everybody's. None where there is none, or its file is gone or torn."""
    found = {
        each.locator_key: each
        for each in Snapshot.objects.filter(locator_key__in=[key_of(place, account), key_of(place)])
    }
    for key in (key_of(place, account), key_of(place)):
        if key in found:
            rows = _read(found[key])
            if rows is not None:
                return found[key], rows
    return None


def _read(snapshot: Snapshot) -> list[Row] | None:
    try:
        data = _store().read(snapshot.sha256, 0, snapshot.size + 1)
    except FileNotFoundError:
        return None
    if hashlib.sha256(data).hexdigest() != snapshot.sha256:
        _store().remove(snapshot.sha256)  # else what is fetched anew would be taken for what is there
        return None
    return _rows(data)


def _rows(data: bytes) -> list[Row]:
    return [strict_json.loads(line) for line in data.split(b"\n") if line]


def _keep(place: Locator, account: int, fetched: Fetched) -> tuple[Snapshot, list[Row]]:
    """Store the rows; whoever was first has made the snapshot, and everybody goes on with it."""
    data = lines_of(fetched.rows)
    name = _store().put(data)
    facts: Mapping[str, Any] = {
        "sha256": name,
        "size": len(data),
        "rows": len(fetched.rows),
        "revision": fetched.revision[:120],
        "licence": fetched.licence[:120],
        "facts": fetched.facts,
    }
    snapshot, _ = Snapshot.objects.get_or_create(
        locator_key=key_of(place, account if fetched.private else None),
        defaults={"id": f"snp_{ids.ulid()}", "locator": dict(place), **facts},
    )
    rows = _read(snapshot)  # as everybody after us will have them, down to the order of their columns
    if rows is None:
        _replace(snapshot, facts, fetched)
        rows = _rows(data)
    return snapshot, rows


def _replace(snapshot: Snapshot, facts: Mapping[str, Any], fetched: Fetched) -> None:
    """The snapshot's own file is lost, and the place shows other rows by now: these are kept, and it is said."""
    was = {"was": {"sha256": snapshot.sha256, "revision": snapshot.revision}}
    for field, value in {**facts, "facts": {**fetched.facts, **was}}.items():
        setattr(snapshot, field, value)
    snapshot.save()
