"""The record of blocked hosts, and the event that tells of each once."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from runs import destroying, states
from runs.blocking import note_blocked
from runs.models import RunEvent
from secrets_vault.host_policy import Policy, blocked, policy_of, record_blocked
from secrets_vault.host_policy.blocked import Blocked
from secrets_vault.models import BlockedHost, HostDefault, HostEntry
from tests.factories.launched import acting, launch

pytestmark = pytest.mark.django_db
HOST = "api.wolframalpha.com"


def told(run) -> list[str]:
    return [event.data["host"] for event in RunEvent.objects.filter(run=run, type="HostBlocked").order_by("seq")]


def test_h18_it_keeps_one_row_per_run_and_host_and_counts(alice: User) -> None:
    assert record_blocked(alice.pk, "run-1", HOST, "host_blocked") is True
    assert record_blocked(alice.pk, "run-1", HOST, "host_blocked", 4) is False
    assert record_blocked(alice.pk, "run-2", HOST, "destination_forbidden") is True
    one, two = BlockedHost.objects.order_by("reference")
    assert (one.host, one.attempts, one.reason, one.owner) == (HOST, 5, "host_blocked", alice)
    assert one.first_at < one.last_at
    assert (two.attempts, two.reason) == (1, "destination_forbidden")


def test_h18_it_counts_a_host_that_is_met_twice_in_one_batch_once(alice: User) -> None:
    new = blocked.record(alice.pk, "run-1", [Blocked(HOST, "host_blocked", 2), Blocked(HOST, "bad_request", 3)])
    assert new == [Blocked(HOST, "bad_request", 5)]
    assert BlockedHost.objects.get().attempts == 5


def test_h18_it_keeps_at_most_a_thousand_hosts_of_a_run(alice: User) -> None:
    many = [Blocked(f"h{at}.example", "host_blocked") for at in range(blocked.MOST_HOSTS + 200)]
    assert len(blocked.record(alice.pk, "run-1", many[:700])) == 700
    assert len(blocked.record(alice.pk, "run-1", many)) == 301
    assert BlockedHost.objects.count() == blocked.MOST_HOSTS + 1
    assert BlockedHost.objects.get(host=blocked.REST).attempts == 200
    assert BlockedHost.objects.get(host="h0.example").attempts == 2
    assert record_blocked(alice.pk, "run-1", "late.example", "host_blocked") is False
    assert BlockedHost.objects.get(host=blocked.REST).attempts == 201
    assert record_blocked(alice.pk, "run-2", "late.example", "host_blocked") is True


def test_h18_odd_text_breaks_nothing(alice: User) -> None:
    record_blocked(alice.pk, "run-1", "\0\ud800" + "x" * 400, "bad_request" * 9)
    record_blocked(alice.pk, "run-1", "", "bad_request")
    assert sorted(len(host) for host in BlockedHost.objects.values_list("host", flat=True)) == [9, 255]


def test_it_drops_what_belongs_to_an_account_that_is_gone(alice: User) -> None:
    record_blocked(alice.pk + 1000, "run-1", HOST, "host_blocked")
    assert not BlockedHost.objects.exists()


def test_h18_a_run_tells_of_each_host_once(alice: User) -> None:
    run = launch(alice)
    assert note_blocked(run.id, [Blocked(HOST, "host_blocked", 3), Blocked("b.example", "host_blocked")])
    assert note_blocked(run.id, [Blocked(HOST, "host_blocked"), Blocked("c.example", "destination_forbidden")])
    assert note_blocked(str(run.id), [Blocked(HOST, "host_blocked")]) == []
    assert note_blocked(run.id, []) == []
    assert told(run) == [HOST, "b.example", "c.example"]
    first = RunEvent.objects.filter(run=run, type="HostBlocked").order_by("seq").first()
    assert first is not None
    assert first.data["reason"] == "host_blocked"
    assert first.data["message"].startswith(f"{HOST} was blocked. Neither")
    assert BlockedHost.objects.get(host=HOST).attempts == 5
    assert BlockedHost.objects.get(host=HOST).owner == alice


def test_h18_a_run_that_has_ended_counts_and_tells_nothing(alice: User) -> None:
    run = launch(alice)
    states.move(run.id, "halted", events_after=[("RunHalted", {})])
    note_blocked(run.id, [Blocked(HOST, "host_blocked")])
    assert told(run) == []
    assert BlockedHost.objects.get().reference == str(run.id)


def test_it_forgets_with_the_run(alice: User) -> None:
    run = launch(alice)
    note_blocked(run.id, [Blocked(HOST, "host_blocked")])
    states.move(run.id, "halted", events_after=[("RunHalted", {})])
    destroying.destroy(acting(alice), str(run.id))
    assert not BlockedHost.objects.exists()
    assert note_blocked(run.id, [Blocked(HOST, "host_blocked")]) == []


def test_it_reads_a_policy_in_one_query(alice: User, bob: User) -> None:
    assert policy_of(alice.pk) == Policy("allow", frozenset(), frozenset())
    HostDefault.objects.create(owner=alice, mode="block")
    HostDefault.objects.create(owner=bob, mode="allow")
    for number, (owner, pattern, mode) in enumerate(
        [(alice, "a.example", "allow"), (alice, "b.example", "allow"), (alice, "a.example", "block"),
         (bob, "c.example", "allow")]
    ):  # fmt: skip
        HostEntry.objects.create(id=f"hp_{number}", owner=owner, host_pattern=pattern, mode=mode)
    with CaptureQueriesContext(connection) as asked:
        found = policy_of(alice.pk)
    assert found == Policy("block", frozenset({"a.example", "b.example"}), frozenset({"a.example"}))
    assert len(asked) == 1
