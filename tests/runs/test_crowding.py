"""How much one account may have going at a time: runs, and open streams."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from kernel.errors import DomainError
from runs import seats
from runs.models import Run
from tests.factories.launched import LOCAL, catalogue

pytestmark = pytest.mark.django_db


def launching(api, user):
    scorer = catalogue(user)
    body = {"benchmark": scorer.subset.benchmark_id, "subset": scorer.subset_id, "sut": LOCAL}
    caller = api(user)
    return lambda: caller.post("runs", body)


def test_m02_an_account_at_its_cap_launches_no_more(api, alice, bob, settings):
    settings.MAX_ACTIVE_RUNS = 2
    launch = launching(api, alice)
    assert [launch().status for _ in range(3)] == [201, 201, 429]
    refused = launch()
    assert (refused.json["code"], refused.json["limit"], refused.headers["Retry-After"]) == ("too_many_runs", 2, "10")
    assert launching(api, bob)().status == 201, "another account has a cap of its own"
    Run.objects.filter(owner=alice).update(status="ok")
    assert launch().status == 201, "an ended run makes room"


@pytest.mark.django_db(transaction=True)
def test_m02_launches_at_the_same_time_do_not_pass_the_cap(api, alice, settings):
    settings.MAX_ACTIVE_RUNS = 5
    launch = launching(api, alice)

    def one(_):
        try:
            return launch().status
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(one, range(16)))
    assert (found.count(201), found.count(429)) == (5, 11)
    assert Run.objects.count() == 5


def test_m01_streams_are_counted_when_they_open(api, alice, bob, settings):
    settings.MAX_STREAMS = 2
    run = launching(api, alice)().json["id"]
    caller = api(alice)
    taken = [seats.take(f"account {alice.pk}") for _ in range(2)]
    refused = caller.get(f"runs/{run}/stream")
    assert (refused.status, refused.json["code"]) == (429, "too_many_streams")
    seats.take(f"account {bob.pk}").close()
    taken[0].close()
    taken[0].close()  # twice is no error, and gives up one seat only
    seats.take(f"account {alice.pk}").close()
    taken.append(seats.take(f"account {alice.pk}"))
    with pytest.raises(DomainError):
        seats.take(f"account {alice.pk}")
    for seat in taken:
        seat.close()
    assert not seats._taken


def test_m01_a_stream_that_ends_gives_its_seat_up(api, alice, settings):
    settings.MAX_STREAMS = 1
    run = launching(api, alice)().json["id"]
    assert api(alice).call("HEAD", f"runs/{run}/stream").status == 200  # opens it, and closes it at once
    assert not seats._taken
