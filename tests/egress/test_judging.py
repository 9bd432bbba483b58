"""The judge: what a run may reach, what goes with it, and how soon that changes."""

import asyncio
import secrets
import socket
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from accounts.models import User
from runs.gateway_client import GatewayClient
from runs.gateway_keys import egress_token
from runs.models import Run
from secrets_vault import vault
from secrets_vault.models import BlockedHost, HostDefault, HostEntry, Secret, SecretUse
from tests.egress.conftest import Answer, ProxyProcess, Rig
from tests.egress.running import gateway, launched, secret
from tests.factories.launched import acting
from tests.factories.processes import GatewayProcess
from tests.twins.hosts_twin import Hosts, answer

__all__ = ["gateway"]
pytestmark = pytest.mark.django_db(transaction=True)
VALUE = "sk-or-v1-0123456789abcdef"


class NoJudge:
    """In a Rig's place for the judge: here the real one answers."""

    def __init__(self, port: int) -> None:
        self.port = port

    def open(self, lease: str) -> int:
        return self.port

    def send(self, **message: Any) -> None:
        return


class Bench:
    """A run's door at the real gateway, as a worker opens it."""

    def __init__(self, client: GatewayClient, run: Run, hosts: Hosts, proxy: ProxyProcess) -> None:
        self.client, self.run, self.hosts, self.proxy = client, run, hosts, proxy
        self.rig: Rig | None = None
        self.lease, self.mac_key = secrets.token_hex(16), secrets.token_hex(32)

    async def open(self, *, eager: bool = False) -> "Bench":
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(64)
            self.close()
            self.rig = Rig(NoJudge(listener.getsockname()[1]), self.hosts, self.proxy.bundle)  # type: ignore[arg-type]
            await self.client.egress(self.run.id, self.lease, self.mac_key, listener, eager=eager)
        self.token = egress_token(self.mac_key, self.lease)
        return self

    def close(self) -> None:
        if self.rig is not None:
            self.rig.close()

    async def ask(self, host: str, path: str = "/", *headers: str, token: str | None = None, **more: Any) -> Answer:
        return await asyncio.to_thread(self._ask, host, path, *headers, token=token or self.token, **more)

    def _ask(self, host: str, path: str, *headers: str, token: str, **more: Any) -> Answer:
        assert self.rig is not None
        self.rig.token = token
        return self.rig.ask(host, path, *headers, **more)


@pytest.fixture
async def client(gateway: GatewayProcess) -> AsyncIterator[GatewayClient]:
    found = GatewayClient(str(gateway.socket))
    await found.connect()
    yield found
    await found.close()
    await sync_to_async(connections.close_all)()


@pytest.fixture
async def make(client: GatewayClient, hosts: Hosts, proxy: ProxyProcess, alice: User) -> AsyncIterator[Any]:
    """``await make(network=…, names=…)``: an open door of a run of alice's that is under way."""

    made: list[Bench] = []

    async def bench(**fields: Any) -> Bench:
        hosts.forget()
        run = await sync_to_async(launched)(alice, "1", **fields)
        await Run.objects.filter(id=run.id).aupdate(status="running")
        made.append(await Bench(client, run, hosts, proxy).open())
        return made[-1]

    yield bench
    for each in made:
        each.close()


async def becomes(ask: Any, code: str, seconds: float = 2.2) -> None:
    """``ask()`` is answered with ``code`` within two seconds, and the moment it takes to ask."""
    until = time.monotonic() + seconds
    while (said := await ask()).code != code:
        assert time.monotonic() < until, said
        await asyncio.sleep(0.1)


async def test_h14_it_takes_the_runs_own_token_only(make: Any) -> None:
    mine, other = await make(network=("a.test",)), await make(network=("a.test",))
    assert (await mine.ask("a.test")).status == 200
    for token in (other.token, mine.token[:-1] + "x", "bwe1", "", "x" * 5000):
        assert (await mine.ask("a.test", token=token or "x")).status == 407
    assert (await other.ask("a.test")).status == 200


@pytest.mark.parametrize("status", ["ok", "failed", "halted"])
async def test_h14_a_token_dies_with_its_run(make: Any, status: str) -> None:
    bench = await make(network=("a.test",))
    assert (await bench.ask("a.test")).status == 200
    await Run.objects.filter(id=bench.run.id).aupdate(status=status)
    until = time.monotonic() + 2.2
    while True:
        try:
            if (await bench.ask("a.test")).status != 200:
                break
        except (ConnectionError, OSError, AssertionError):
            break
        assert time.monotonic() < until
        await asyncio.sleep(0.1)


async def test_g06_a_deleted_secret_stops_within_two_seconds_and_a_rotated_one_goes_on(make: Any, alice: User) -> None:
    await sync_to_async(secret)(alice, "A_KEY", VALUE, "a.test")
    bench = await make()
    assert (await bench.ask("a.test")).status == 200
    assert bench.hosts.seen[-1].header("authorization") == f"Bearer {VALUE}"
    await sync_to_async(rotate)(alice, "A_KEY", "sk-or-v2-0123456789abcdef")
    await asyncio.sleep(1.5)
    assert (await bench.ask("a.test")).status == 200
    assert bench.hosts.seen[-1].header("authorization") == f"Bearer {VALUE}"
    await sync_to_async(delete)(alice, "A_KEY")
    await becomes(lambda: bench.ask("a.test"), "secret_revoked")
    count = len(bench.hosts.seen)
    assert (await bench.ask("a.test")).code == "secret_revoked"
    assert len(bench.hosts.seen) == count


async def test_g06_a_deletion_ends_what_is_under_way(make: Any, alice: User) -> None:
    await sync_to_async(secret)(alice, "A_KEY", VALUE, "a.test")
    bench = await make()
    slow = [(0.0, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), *((0.4, b"d") for _ in range(6))]
    bench.hosts.say("a.test", "/slow", slow)
    asking = asyncio.create_task(bench.ask("a.test", "/slow"))
    await asyncio.sleep(0.3)
    await sync_to_async(delete)(alice, "A_KEY")
    said = await asyncio.wait_for(asking, 2.3)
    assert len(said.body) < 9


async def test_h19_a_changed_policy_reaches_runs_within_two_seconds(make: Any, alice: User) -> None:
    bench = await make(network=("a.test",))
    assert (await bench.ask("a.test")).status == 200
    await HostEntry.objects.acreate(id="hp_1", owner=alice, host_pattern="a.test", mode="block")
    await becomes(lambda: bench.ask("a.test"), "host_blocked")
    assert (await bench.ask("b.test")).code == "host_blocked"
    await HostEntry.objects.acreate(id="hp_2", owner=alice, host_pattern="b.test", mode="allow")
    await becomes(lambda: bench.ask("b.test"), "")
    await HostEntry.objects.acreate(id="hp_3", owner=alice, host_pattern="b.test", mode="block")
    await becomes(lambda: bench.ask("b.test"), "host_blocked")  # block beats allow


async def test_h19_default_block_lets_nothing_pass_that_is_not_named(make: Any, alice: User) -> None:
    await HostDefault.objects.acreate(owner=alice, mode="block")
    await sync_to_async(secret)(alice, "B_KEY", VALUE, "b.test")
    bench = await make(network=("a.test",))
    for host in ("a.test", "b.test", "api.github.com"):
        assert (await bench.ask(host)).code == "host_blocked"
    assert not bench.hosts.seen
    await HostEntry.objects.acreate(id="hp_1", owner=alice, host_pattern="*.openrouter.test", mode="allow")
    await becomes(lambda: bench.ask("api.openrouter.test"), "")


async def test_h18_it_counts_a_blocked_host_once_for_each_run(make: Any) -> None:
    bench = await make(network=("a.test",))
    for _ in range(3):
        await bench.ask("b.test")
    await bench.ask("<script>.test")
    await bench.ask("10.0.0.1")
    await bench.client.close_egress(bench.lease)
    rows = {
        row.host: (row.reason, row.attempts) async for row in BlockedHost.objects.filter(reference=str(bench.run.id))
    }
    assert rows["b.test"] == ("host_blocked", 3)
    assert rows["10.0.0.1"] == ("host_blocked", 1)


async def test_h13_it_sends_no_secret_over_plain_http(make: Any, alice: User) -> None:
    await sync_to_async(secret)(alice, "A_KEY", VALUE, "a.test")
    bench = await make(network=("plain.test", "a.test"))
    bench.rig.token = bench.token
    assert (await asyncio.to_thread(bench.rig.plain, "a.test")).code == "destination_forbidden"
    assert not bench.hosts.seen
    assert (await asyncio.to_thread(bench.rig.plain, "plain.test")).status == 200


async def test_h02_an_allowed_host_that_leads_inside_is_recorded(make: Any, alice: User) -> None:
    bench = await make(network=("localhost", "169.254.169.254"))
    for host in ("localhost", "169.254.169.254"):
        assert (await bench.ask(host)).status == 403
    await bench.client.close_egress(bench.lease)
    rows = {row.host: row.reason async for row in BlockedHost.objects.filter(reference=str(bench.run.id))}
    assert rows == dict.fromkeys(("localhost", "169.254.169.254"), "destination_forbidden")


async def test_g10_the_most_specific_secret_answers(make: Any, alice: User) -> None:
    await sync_to_async(secret)(alice, "WIDE", VALUE + "wide", "*.openrouter.test")
    await sync_to_async(secret)(alice, "EXACT", VALUE + "exact", "api.openrouter.test")
    bench = await make()
    await bench.ask("api.openrouter.test")
    assert bench.hosts.seen[0].header("authorization") == f"Bearer {VALUE}exact"
    assert bench.hosts.seen[0].count("authorization") == 1


async def test_g14_it_notes_what_was_used_where(make: Any, alice: User) -> None:
    kept = await sync_to_async(secret)(alice, "A_KEY", VALUE, "a.test")
    bench = await make()
    for _ in range(3):
        await bench.ask("a.test", "/v1/x?private=1")
    async with asyncio.timeout(5):
        while not await SecretUse.objects.filter(secret=kept).aexists():
            await asyncio.sleep(0.1)
    row = await SecretUse.objects.aget(secret=kept)
    assert (row.via, row.host, row.path, row.uses, row.version) == ("egress", "a.test", "/v1/x", 3, 1)


async def test_h10_one_hosts_secret_is_taken_out_of_anothers_answers(make: Any, alice: User) -> None:
    await sync_to_async(secret)(alice, "A_KEY", VALUE, "a.test")
    bench = await make(network=("b.test",))
    await bench.ask("a.test")
    bench.hosts.say("b.test", "/", answer(VALUE.encode()))
    assert (await bench.ask("b.test")).body == b"[redacted]"


async def test_h23_two_runs_of_one_account_share_nothing(make: Any, alice: User) -> None:
    await sync_to_async(secret)(alice, "A_KEY", VALUE, "a.test")
    benches = [await make(), await make()]
    benches[0].hosts.say("a.test", "/", answer(b"hi", "Set-Cookie: a=b", "Cache-Control: max-age=99"))
    for bench in (*benches, *benches):
        assert (await bench.ask("a.test")).status == 200
    assert len({seen.connection for seen in benches[0].hosts.seen}) == 4
    assert not any(seen.header("cookie") for seen in benches[0].hosts.seen)


async def test_it_serves_again_after_the_worker_has_come_back(make: Any) -> None:
    bench = await make(network=("a.test",))
    assert (await bench.ask("a.test")).status == 200
    await bench.client.close_egress(bench.lease)
    await bench.open(eager=True)
    assert (await bench.ask("a.test")).status == 200


def rotate(owner: User, name: str, value: str) -> None:
    vault.rotate(acting(owner), Secret.objects.get(owner=owner, name=name, deleted_at=None), value)


def delete(owner: User, name: str) -> None:
    vault.delete(acting(owner), Secret.objects.get(owner=owner, name=name, deleted_at=None))
