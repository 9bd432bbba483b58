"""What a run may use of its account's secrets: frozen at its launch, taken away by deletion alone."""

import pytest

from accounts.models import User
from kernel.errors import DomainError
from secrets_vault import leases, vault
from secrets_vault.models import Secret, SecretLease
from tests.factories.launched import acting

pytestmark = pytest.mark.django_db

VALUE = "kv-3fA9sQ7xLm2Zt8Rw"


def rule(pattern: str, kind: str = "bearer", target: str = "Authorization") -> dict[str, str]:
    return {"host_pattern": pattern, "inject_kind": kind, "inject_target": target}


def kept(owner: User, name: str, *patterns: str) -> Secret:
    return vault.create(acting(owner), name, VALUE, [rule(pattern) for pattern in patterns])


def test_it_grants_an_own_scorer_every_live_secret_and_no_strangers(alice: User, bob: User) -> None:
    one, two = kept(alice, "ONE", "api.one.example"), kept(alice, "TWO", "*.two.example", "two.example")
    vault.delete(acting(alice), kept(alice, "GONE", "gone.example"))
    kept(bob, "BOBS", "api.bob.example")
    leases.grant(alice, "run-1", own_impl=True, names=[])
    rows = SecretLease.objects.filter(reference="run-1").order_by("secret_id")
    assert [row.secret_id for row in rows] == sorted([one.id, two.id])
    assert {row.owner_id for row in rows} == {alice.id}
    assert rows.get(secret=two).rules == [rule("*.two.example"), rule("two.example")]


def test_it_grants_somebody_elses_code_only_what_was_named(alice: User) -> None:
    kept(alice, "ONE", "api.one.example")
    two = kept(alice, "TWO", "api.two.example")
    assert leases.grant(alice, "run-0", own_impl=False, names=[]) == []
    assert [row.secret_id for row in leases.grant(alice, "run-1", own_impl=False, names=["TWO"])] == [two.id]


def test_it_refuses_a_name_that_the_account_does_not_have(alice: User, bob: User) -> None:
    kept(bob, "BOBS", "api.bob.example")
    for own in (True, False):
        with pytest.raises(DomainError) as no:
            leases.grant(alice, "run-1", own_impl=own, names=["BOBS"])
        assert (no.value.code, no.value.errors[0]["loc"]) == ("validation_failed", ["body", "secrets", 0])
    assert not SecretLease.objects.exists()


def test_g06_rotating_and_new_rules_spare_what_was_leased(alice: User) -> None:
    secret = kept(alice, "ONE", "api.one.example")
    leases.grant(alice, "before", own_impl=True, names=[])
    vault.update(acting(alice), secret, value="kv-another-value", rules=[rule("api.moved.example")])
    leases.grant(alice, "after", own_impl=True, names=[])
    (before,), (after,) = leases.held("before"), leases.held("after")
    assert (before.version, after.version) == (1, 2)
    assert [one.host_pattern for one in before.rules] == ["api.one.example"]
    assert [one.host_pattern for one in after.rules] == ["api.moved.example"]
    assert not before.revoked
    vault.delete(acting(alice), secret)
    assert leases.held("before")[0].revoked


def test_g10_the_most_specific_rule_answers_and_only_one(alice: User) -> None:
    kept(alice, "WIDE", "*.example.org")
    kept(alice, "NARROW", "*.api.example.org")
    kept(alice, "EXACT", "v1.api.example.org")
    leases.grant(alice, "run-1", own_impl=True, names=[])
    held = leases.held("run-1")
    for host, name in (
        ("www.example.org", "WIDE"),
        ("v2.api.example.org", "NARROW"),
        ("v1.api.example.org", "EXACT"),
        ("api.example.org", "WIDE"),
    ):
        found = leases.answering(held, host)
        assert found is not None
        assert found[0].name == name
    assert leases.answering(held, "example.org") is None
    assert leases.answering([], "www.example.org") is None


def test_g10_two_secrets_for_one_pattern_are_refused_at_creation(alice: User) -> None:
    kept(alice, "ONE", "api.one.example")
    with pytest.raises(DomainError) as no:
        kept(alice, "TWO", "API.one.example.")
    assert (no.value.code, no.value.status) == ("secret_rule_conflict", 409)


def test_it_forgets_what_a_destroyed_run_held(alice: User) -> None:
    kept(alice, "ONE", "api.one.example")
    leases.grant(alice, "run-1", own_impl=True, names=[])
    assert leases.names(["run-1", "run-2"]) == {"run-1": ["ONE"]}
    leases.release("run-1")
    assert leases.names(["run-1"]) == {}
