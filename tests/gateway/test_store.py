"""The journal's table, as the raw SQL sees it."""

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.db.models import F

from runs.call_bodies import unpack
from runs.gateway import store as table
from runs.gateway.journal import FAILED, SETTLED, UNKNOWN, Call, Journal
from runs.gateway.leases import Attempt
from runs.gateway.process import Gateway
from runs.gateway.store import Store
from runs.models import ModelCall, Run


@pytest.fixture
async def store(tmp_path: Path) -> Any:
    journal = Journal(tmp_path)
    found = Store(journal)
    yield found
    await found.close()
    journal.close()
    await sync_to_async(connections.close_all)()  # the thread's connection would keep the test database open


class Late(Store):
    """What it reads is known only when all that waited has been written."""

    async def calls_of(self, run: str, ordinals: Sequence[int]) -> list[Call]:
        found = await super().calls_of(run, ordinals)
        await self.flush()
        return found


def _call(run: Run, ordinal: int = 0, status: str = SETTLED, occurrence: int = 0) -> Call:
    call = Call(str(run.id), ordinal, 1, "ab" * 32, occurrence)
    call.status, call.http_status, call.settled = status, 200, call.created + 1.5
    call.request, call.response = b'{"q": "\xc3\xa9"}', b"x" * 5000 + b"\x00\xff"
    call.served, call.upstream, call.finish_reason = "m\0", "someone", "stop"
    call.tokens_in, call.tokens_out, call.tokens_reasoning, call.tokens_cached = 5, 6, 2, 1
    call.cost, call.priced_by, call.tries, call.waited_ms, call.latency_ms = 2**40, "reported", 2, 30, 40
    return call


def test_it_names_every_column_of_the_model() -> None:
    columns = {field.column for field in ModelCall._meta.local_fields} - {"id", "run_id"}
    assert set(table._COLUMNS.replace(",", " ").split()) == columns


async def test_it_writes_and_reads_every_field(store: Store, make_run: Any) -> None:
    call = _call(await make_run())
    await store.write([call])
    (again,) = await store.calls_of(call.run, [0])
    for name in Call.__slots__:
        if name not in ("segment", "finished", "served", "created", "settled", "error_message"):
            assert getattr(again, name) == getattr(call, name), name
    assert again.served == "m\ufffd"
    assert abs(again.created - call.created) < 0.001
    row = await ModelCall.objects.aget(run_id=call.run)
    assert unpack(row.response) == call.response
    assert len(bytes(row.response)) < 200  # packed
    assert row.settled_at is not None


@pytest.mark.usefixtures("store")
async def test_d02_a_call_that_is_stored_while_one_looks_is_found(tmp_path: Path, make_run: Any) -> None:
    journal = Journal(tmp_path / "own")
    gate = Gateway(journal, Late(journal))
    book = await gate.books.take(str((await make_run()).id))
    call, other = _call(await Run.objects.aget()), _call(await Run.objects.aget(), ordinal=1)
    for one in (call, other):
        book.remember(one)
        gate.store.add(one)
    attempt = Attempt("key", 0, 2, 2)
    await gate.load(book, attempt)
    assert attempt.known == {(call.hash, 0): call}
    assert call.response, "it keeps its answer"
    book.seen.add(1)
    book.remember(other)
    gate.store.add(other)
    (told,) = await gate._fill(book, [(1, 1)], [None])
    assert told is not None
    assert told["calls"] == 1
    await gate.stop()


async def test_it_never_changes_a_settled_call(store: Store, make_run: Any) -> None:
    run = await make_run()
    await store.write([_call(run, status=UNKNOWN)])
    await store.write([_call(run, status=SETTLED)])
    await store.write([_call(run, status=FAILED)])
    assert [row.status async for row in ModelCall.objects.all()] == ["settled"]


async def test_it_takes_the_last_of_several_records(store: Store, make_run: Any) -> None:
    run = await make_run()
    await store.write([_call(run, status=UNKNOWN), _call(run, status=SETTLED), _call(run, 1, FAILED)])
    found = [(row.ordinal, row.status) async for row in ModelCall.objects.order_by(F("ordinal"))]
    assert found == [(0, "settled"), (1, "failed")]


async def test_it_drops_the_calls_of_a_destroyed_run(store: Store, make_run: Any) -> None:
    run = await make_run()
    gone = Run(id=uuid.uuid4())
    await store.write([_call(gone), _call(run)])
    assert [row.run_id async for row in ModelCall.objects.all()] == [run.id]


async def test_one_odd_call_keeps_no_other_back(store: Store, make_run: Any) -> None:
    run = await make_run()
    odd = _call(run, 1)
    odd.cost = 2**63
    stored: list[Call] = []
    store.on_stored.append(stored.append)
    for call in (_call(run, 0), odd, _call(run, 2)):
        store.add(call)
    await store.flush()
    assert [row.ordinal async for row in ModelCall.objects.order_by("ordinal")] == [0, 2]
    assert len(stored) == 3
    assert (store.waiting, store.waiting_bytes) == ([], 0)


async def test_it_comes_back_when_its_connections_broke(store: Store, make_run: Any) -> None:
    run = await make_run()
    await store.write([_call(run)])
    await store.calls_of(str(run.id), [0])
    for conn in (store._writer, store._reader):
        assert conn is not None
        await conn.close()
    await store.write([_call(run, 1)])
    assert len(await store.calls_of(str(run.id), [0, 1])) == 2
