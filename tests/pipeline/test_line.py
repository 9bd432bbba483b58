"""The line to the gateway: what a worker is told when the gateway dies under it."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from accounts.models import User
from runs.harnesses.benchwright.line import Line
from runs.models import Run
from tests.factories import planned
from tests.factories.processes import GatewayProcess

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(alice: User) -> Run:
    return planned.run(alice)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.setblocking(False)
        yield made


async def test_d02_facts_wait_for_the_next_gateway(run: Run, gateway: GatewayProcess, listener: socket.socket) -> None:
    """Told nothing by a gateway that just died, a worker would take a call that died with it for the scorer's fault."""
    line = Line(str(run.id))
    await line.open(listener)
    before = line.lease
    try:
        gateway.kill()  # blocks the loop: nobody has seen yet that the line is dead
        asked = asyncio.ensure_future(line.facts([(0, 1)]))
        await asyncio.to_thread(gateway.start)
        told = await asyncio.wait_for(asked, 20)
    finally:
        await line.close()
    assert (told[0]["known"], told[0]["calls"]) == (False, 0), "a gateway's own word"
    assert line.lease != before, "so cells of the old lease can be told from those of the new one"
