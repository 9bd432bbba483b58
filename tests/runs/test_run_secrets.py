"""Whose secrets a launch hands to whose code."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from kernel.errors import DomainError
from registry import scorers
from runs import destroying, objects
from runs.models import Run
from secrets_vault.models import SecretLease
from tests.factories import launched, publish

pytestmark = pytest.mark.django_db


def shared(owner: User) -> Any:
    """A scorer that anybody may run."""
    scorer = launched.catalogue(owner)
    publish.benchmark(scorer.subset.benchmark_id)
    return scorer


def leased(run: Run) -> set[str]:
    return set(SecretLease.objects.filter(reference=str(run.id)).values_list("secret__name", flat=True))


def said(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = objects.run_object(run, launched.acting(run.owner))["secrets"]
    return found


def test_a_run_of_ones_own_scorer_leases_what_the_account_has(alice: User, bob: User) -> None:
    mine = {launched.secret(alice, host).name for host in ("api.one.example", "*.two.example")}
    launched.secret(bob, "api.three.example")
    run = launched.launch(alice)
    assert leased(run) == mine
    assert said(run) == {"sut_key": None, "leased": sorted(mine), "foreign_impl": False, "notice": None}


def test_h01_somebody_elses_code_gets_the_models_key_and_what_was_named(alice: User, bob: User) -> None:
    scorer = shared(alice)
    key, other = launched.secret(bob, "openrouter.ai"), launched.secret(bob, "api.github.com")
    sut = {"model": "qwen/qwen3-32b", "provider": "openrouter"}
    run = launched.launch(bob, scorer, sut=sut)
    assert (leased(run), run.sut_key["secret"]) == (set(), key.id)
    told = said(run)
    assert (told["foreign_impl"], told["leased"], told["sut_key"]) == (True, [], key.name)
    assert "none of your secrets" in told["notice"]
    named = launched.launch(bob, scorer, sut=sut, secrets=[other.name])
    assert leased(named) == {other.name}
    assert other.name in said(named)["notice"]


def test_h01_a_replay_of_a_strangers_run_runs_the_strangers_code(alice: User, bob: User) -> None:
    launched.secret(bob, "api.github.com")
    first = launched.ended(alice, scorer=shared(alice), visibility="public")
    replay = launched.launch(bob, replay={"from_run": str(first.id)}, sut=launched.LOCAL)
    assert (replay.foreign_impl, leased(replay)) == (True, set())


def test_h01_a_scorer_copied_from_a_strangers_run_stays_foreign_until_its_code_is_sent(alice: User, bob: User) -> None:
    launched.secret(bob, "api.github.com")
    scorer, me = shared(alice), launched.acting(bob)
    scorers.copy(me, scorer, scorer.subset_id, label="taken over")
    assert launched.launch(bob, scorer, impl="latest:taken over").foreign_impl
    code = (
        "class Task(BenchTask):\n    def solve(self, index, input): return ''\n"
        "    def score(self, index, output, expected): return 1.0\n"
    )
    theirs = scorers.create(launched.acting(alice), scorer.subset_id, code=code, label="theirs")
    mine = scorers.copy(me, theirs.impl, scorer.subset_id, label="mine")
    assert mine.copied
    scorers.create(me, scorer.subset_id, code=code)
    run = launched.launch(bob, scorer, impl=mine.impl_id)
    assert (run.foreign_impl, len(leased(run))) == (False, 1)


def test_a_copy_of_ones_own_scorer_is_ones_own(alice: User) -> None:
    scorer = launched.catalogue(alice)
    other = launched.subset(scorer.subset.benchmark)
    assert not scorers.copy(launched.acting(alice), scorer, other.id).copied


def test_it_refuses_a_secret_that_is_not_there_before_anything_is_written(alice: User) -> None:
    with pytest.raises(DomainError) as no:
        launched.launch(alice, secrets=["NOBODYS"])
    assert (no.value.code, no.value.errors[0]["loc"]) == ("validation_failed", ["body", "secrets", 0])
    assert not Run.objects.exists()


def test_only_the_owner_reads_which_secrets_a_run_holds(alice: User, bob: User, api: Callable[..., Any]) -> None:
    secret = launched.secret(alice, "api.one.example")
    run = launched.ended(alice, scorer=shared(alice), visibility="public")
    assert api(alice).get(f"runs/{run.id}").json["secrets"]["leased"] == [secret.name]
    assert api(alice).get("runs").json["data"][0]["secrets"]["leased"] == [secret.name]
    for who in (bob, None):
        answer = api(who).get(f"runs/{run.id}")
        assert answer.json["secrets"] is None
        assert secret.name not in answer.content.decode()


def test_its_page_says_so_to_its_owner_alone(alice: User, bob: User, client: Any) -> None:
    scorer, secret = shared(alice), launched.secret(bob, "api.github.com")
    run = launched.launch(bob, scorer, secrets=[secret.name], visibility="public")
    client.force_login(bob)
    page = client.get(f"/runs/{run.id}").content.decode()
    assert "somebody else" in page
    assert secret.name in page
    client.force_login(alice)
    page = client.get(f"/runs/{run.id}").content.decode()
    assert "somebody else" not in page
    assert secret.name not in page


def test_a_destroyed_run_holds_nothing(alice: User) -> None:
    launched.secret(alice, "api.one.example")
    run = launched.ended(alice)
    destroying.destroy(launched.acting(alice), str(run.id))
    assert leased(run) == set()
