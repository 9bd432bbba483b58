"""Wake-ups over the brokers that an installation may choose: sent, taken once, and come again when nobody confirms."""

import uuid
from collections.abc import Iterator
from queue import Empty

import pytest
from celery import current_app
from kombu import Connection
from kombu.exceptions import OperationalError
from kombu.simple import SimpleQueue

from tests.scaled.conftest import REDIS_URL

RUN = "01960000-0000-7000-8000-000000000000"
BROKERS = {"redis": REDIS_URL, "rabbitmq": "amqp://guest:guest@127.0.0.1:5672//"}


@pytest.fixture(params=sorted(BROKERS))
def bus(request: pytest.FixtureRequest) -> Iterator[tuple[Connection, SimpleQueue]]:
    """A connection and a queue of this test's own; skipped where that broker does not answer."""
    url = BROKERS[request.param]
    with Connection(url, connect_timeout=2) as link:
        try:
            link.ensure_connection(max_retries=0, timeout=2)
        except (OperationalError, OSError) as trouble:
            pytest.skip(f"no {request.param} at {url.rpartition('@')[2]} ({trouble})")
        queue = link.SimpleQueue(f"bw-test-{uuid.uuid4().hex[:12]}")
        yield link, queue
        queue.consumer.cancel()
        queue.queue.delete()


def test_it_carries_a_wake_up_that_is_kept_until_confirmed(bus: tuple[Connection, SimpleQueue]) -> None:
    link, queue = bus
    current_app.send_task("runs.advance", args=[RUN], connection=link, queue=queue.queue.name, ignore_result=True)
    taken = queue.get(timeout=5)
    assert (taken.headers["task"], taken.payload[0]) == ("runs.advance", [RUN])
    taken.requeue()  # as where a worker is lost
    again = queue.get(timeout=5)
    assert again.payload[0] == [RUN]
    again.ack()
    with pytest.raises(Empty):
        queue.get(timeout=0.2)
