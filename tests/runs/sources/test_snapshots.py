"""Rows are fetched once: later runs, other accounts and a second worker get the same snapshot, without the network."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management import call_command

from runs.models import Snapshot
from runs.sources import snapshots
from runs.sources.troubles import SourceError
from runs.sources.web import Web, opened
from tests.runs.sources.writing import jsonl
from tests.twins.hosts_twin import Hosts, answer
from tests.twins.tunnel_twin import TOKEN, TunnelTwin

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = [{"q": "b", "n": 1.5, "big": 123456789012345678901, "inner": {"z": 1, "a": [None, True]}}, {"q": "ü"}]
PLACE = {"source": "url", "url": "https://rows.test/r.jsonl"}
ALICE, BOB = 1, 2


class Ways:
    """Ways out, counted."""

    def __init__(self, hosts: Hosts, tunnel: TunnelTwin, *secret_hosts: str) -> None:
        self.hosts, self.tunnel, self.secret_hosts, self.opened = hosts, tunnel, secret_hosts, 0

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Web]:
        self.opened += 1
        async with opened(self.tunnel.url, TOKEN, str(self.hosts.authority.file), self.secret_hosts) as web:
            yield web


async def orm(read: Any, *args: Any) -> Any:
    return await sync_to_async(read, thread_sensitive=True)(*args)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, settings: Any, hosts: Hosts) -> Path:
    settings.SNAPSHOTS_DIR = tmp_path
    hosts.say("rows.test", "/r.jsonl", answer(jsonl(ROWS), 'ETag: "v1"'))
    return tmp_path


async def test_it_fetches_once_and_serves_the_same_rows_ever_after(hosts: Hosts, tunnel: TunnelTwin) -> None:
    ways = Ways(hosts, tunnel)
    first = await snapshots.rows_of(PLACE, ALICE, orm, ways)
    hosts.say("rows.test", "/r.jsonl", answer(b"gone", status="404 Not Found"))
    second = await snapshots.rows_of(
        {**PLACE, "fields": {"input": "q"}, "note": "no part of the place"}, BOB, orm, ways
    )
    assert (first.rows, first.fresh) == (ROWS, True)
    assert (second.rows, second.fresh) == (ROWS, False)
    assert second.snapshot.pk == first.snapshot.pk
    assert (first.snapshot.revision, first.snapshot.rows) == ("v1", 2)
    assert ways.opened == 1


async def test_it_keeps_rows_as_canonical_lines_under_their_hash(hosts: Hosts, tunnel: TunnelTwin, store: Path) -> None:
    kept = (await snapshots.rows_of(PLACE, ALICE, orm, Ways(hosts, tunnel))).snapshot
    data = (store / kept.sha256[:2] / kept.sha256).read_bytes()
    first = b'{"big":123456789012345678901,"inner":{"a":[null,true],"z":1},"n":1.5,"q":"b"}\n'
    assert data == first + '{"q":"ü"}\n'.encode()
    assert kept.size == len(data)


async def test_two_workers_at_once_make_one_snapshot(hosts: Hosts, tunnel: TunnelTwin) -> None:
    replies = [answer(jsonl(ROWS)), answer(jsonl([{"q": "the place has changed in between"}]))]
    hosts.scripts["rows.test", "/r.jsonl"] = lambda seen: replies.pop(0)  # type: ignore[assignment]
    ways = Ways(hosts, tunnel)
    one, two = await asyncio.gather(*[snapshots.rows_of(PLACE, ALICE, orm, ways) for _ in range(2)])
    assert ways.opened == 2
    assert one.snapshot.pk == two.snapshot.pk
    assert one.rows == two.rows
    assert await Snapshot.objects.acount() == 1


async def test_what_a_secret_opened_is_served_to_nobody_else(hosts: Hosts, tunnel: TunnelTwin) -> None:
    private = Ways(hosts, tunnel, "rows.test")
    await snapshots.rows_of(PLACE, ALICE, orm, private)
    assert not (await snapshots.rows_of(PLACE, ALICE, orm, private)).fresh
    hosts.say("rows.test", "/r.jsonl", answer(b"no", status="401 Unauthorized"))
    with pytest.raises(SourceError, match="does not show"):
        await snapshots.rows_of(PLACE, BOB, orm, Ways(hosts, tunnel))


async def test_another_revision_is_another_place(hosts: Hosts, tunnel: TunnelTwin) -> None:
    ways = Ways(hosts, tunnel)
    await snapshots.rows_of(PLACE, ALICE, orm, ways)
    hosts.say("rows.test", "/r.jsonl", answer(jsonl([{"q": "new"}])))
    assert (await snapshots.rows_of({**PLACE, "revision": "2026-11"}, ALICE, orm, ways)).rows == [{"q": "new"}]
    assert (await snapshots.rows_of(PLACE, ALICE, orm, ways)).rows == ROWS


@pytest.mark.parametrize("harm", ["gone", "torn"])
async def test_a_lost_file_is_fetched_again(hosts: Hosts, tunnel: TunnelTwin, store: Path, harm: str) -> None:
    ways = Ways(hosts, tunnel)
    kept = (await snapshots.rows_of(PLACE, ALICE, orm, ways)).snapshot
    file = store / kept.sha256[:2] / kept.sha256
    file.unlink() if harm == "gone" else file.write_bytes(file.read_bytes()[:-3])
    again = await snapshots.rows_of(PLACE, ALICE, orm, ways)
    assert (again.rows, again.snapshot.pk, again.fresh) == (ROWS, kept.pk, True)
    assert not (await snapshots.rows_of(PLACE, ALICE, orm, ways)).fresh
    file.unlink()
    hosts.say("rows.test", "/r.jsonl", answer(jsonl([{"q": "other rows by now"}]), 'ETag: "v2"'))
    other = await snapshots.rows_of(PLACE, ALICE, orm, ways)
    assert other.rows == [{"q": "other rows by now"}]
    assert other.snapshot.facts["was"] == {"sha256": kept.sha256, "revision": "v1"}


async def test_a_place_without_rows_is_no_snapshot(hosts: Hosts, tunnel: TunnelTwin) -> None:
    hosts.say("rows.test", "/r.jsonl", answer(b"[]", "Content-Type: application/json"))
    with pytest.raises(SourceError, match="no rows"):
        await snapshots.rows_of({**PLACE, "format": "json"}, ALICE, orm, Ways(hosts, tunnel))
    assert not await Snapshot.objects.aexists()


async def test_an_operator_can_have_rows_fetched_anew(
    hosts: Hosts, tunnel: TunnelTwin, capsys: pytest.CaptureFixture[str]
) -> None:
    ways = Ways(hosts, tunnel)
    kept = (await snapshots.rows_of(PLACE, ALICE, orm, ways)).snapshot
    await sync_to_async(call_command)("snapshots")
    assert f"{kept.pk}  2 rows" in capsys.readouterr().out
    await sync_to_async(call_command)("snapshots", "--forget", kept.pk)
    hosts.say("rows.test", "/r.jsonl", answer(jsonl([{"q": "new"}])))
    assert (await snapshots.rows_of(PLACE, ALICE, orm, ways)).rows == [{"q": "new"}]


@pytest.mark.parametrize("locator", [{}, {"source": "ftp", "url": "x"}, {"source": "url"}])
async def test_it_refuses_a_locator_that_leads_nowhere(
    hosts: Hosts, tunnel: TunnelTwin, locator: dict[str, str]
) -> None:
    with pytest.raises(SourceError) as caught:
        await snapshots.rows_of(locator, ALICE, orm, Ways(hosts, tunnel))
    assert caught.value.code == "bad_locator"
    assert settings.SNAPSHOTS_DIR
