"""Forks: what is taken over from the parent, where they set in, and every refusal."""

from typing import Any

import pytest

from accounts.models import User
from kernel.errors import DomainError
from registry.models import Impl
from runs.forking import making
from runs.models import Phase, Run, RunEvent
from runs.schemas import ForkBody
from secrets_vault.models import SecretLease
from tests.factories import launched

pytestmark = pytest.mark.django_db
WORDS = "Compare sets of {name, canonical_args} instead of ordered lists."


def fork(owner: User, parent: Run, **body: Any) -> Run:
    return making.fork(launched.acting(owner), str(parent.id), ForkBody.model_validate(body))


def refused(owner: User, parent: Run, code: str, **body: Any) -> DomainError:
    before = Run.objects.count()
    with pytest.raises(DomainError) as caught:
        fork(owner, parent, **body)
    assert caught.value.code == code, caught.value.detail
    assert Run.objects.count() == before, "a refused fork leaves no row"
    return caught.value


def other_scorer(parent: Run, owner: User | None = None) -> Impl:
    assert parent.subset is not None
    return launched.impl(parent.subset, owner)


def in_words(owner: User, **fields: Any) -> Run:
    """A run that was launched in words and has found its tasks and its scorer."""
    made = launched.ended(owner, ["passed", "failed"])
    found = {"find": {"limit": 2}, "analyze": {"kind": "function_call"}, "atomize": {"reused": False}}
    Run.objects.filter(id=made.id).update(mode="request", request="Run BFCL on smollm2", findings=found, **fields)
    return Run.objects.select_related("subset").get(id=made.id)


def test_p3_it_rewinds_to_atomize_with_the_description(alice: User) -> None:
    parent = launched.ended(
        alice, ["passed", "failed", "errored"], trials=3, metadata={"sweep": "a"}, hints=["be brief"],
        limits={"run": {"duration": 60}}, concurrency=5,
    )  # fmt: skip
    made = fork(alice, parent, description=WORDS, from_phase="atomize")
    assert (made.mode, made.relation, made.parent_id) == ("fork", "fork", parent.id)
    assert made.plan == ["atomize", "materialize", "report"]
    assert (made.description, made.from_phase, made.fork_mode, made.impl_id) == (WORDS, "atomize", "rerun", None)
    kept = ("benchmark_id", "subset_id", "subset_revision", "task_count", "planned", "trials", "concurrency", "limits",
            "metadata", "hints", "sut", "harness")  # fmt: skip
    assert [getattr(made, name) for name in kept] == [getattr(parent, name) for name in kept]
    assert list(Phase.objects.filter(run=made).order_by("position").values_list("name", flat=True)) == made.plan
    assert list(RunEvent.objects.filter(run=made).values_list("type", flat=True)) == ["RunQueued"]
    assert not made.completes


@pytest.mark.parametrize(
    ("phase", "plan", "findings"),
    [
        ("find", ["find", "analyze", "atomize", "materialize", "report"], set()),
        ("analyze", ["analyze", "atomize", "materialize", "report"], {"find"}),
        ("atomize", ["atomize", "materialize", "report"], {"find", "analyze"}),
        ("materialize", ["materialize", "report"], {"find", "analyze"}),
    ],
)
def test_it_takes_over_what_the_phases_before_found(
    alice: User, phase: str, plan: list[str], findings: set[str]
) -> None:
    parent = in_words(alice)
    made = fork(alice, parent, description="Take another part.", from_phase=phase)
    assert (made.plan, set(made.findings), made.request) == (plan, findings, parent.request)
    found_anew = phase in ("find", "analyze")
    assert (made.planned, made.subset_id) == ((0, None) if found_anew else (parent.planned, parent.subset_id))
    assert (made.impl_id == parent.impl_id) is (phase == "materialize")


def test_it_keeps_the_parents_tasks_to_the_row(alice: User) -> None:
    scorer = launched.impl(launched.subset(launched.benchmark(alice), 4, rolling=True))
    parent = launched.ended(alice, ["passed", "failed", "errored", "failed"], scorer=scorer)
    replay = launched.launch(alice, replay={"from_run": str(parent.id), "only_failed": True})
    launched.end_cells(replay, {0: "failed", 1: "failed"})
    launched.finish(replay)
    launched.append(scorer.subset, 3, start=4, revision=2)
    type(scorer.subset).objects.filter(pk=scorer.subset_id).update(revision=2, task_count=7)
    for run, tasks, positions in ((parent, 4, None), (replay, 2, [1, 3])):
        made = fork(alice, run, description=WORDS)
        assert (made.subset_revision, made.task_count, made.task_positions) == (1, tasks, positions)


def test_with_another_scorer_nothing_is_left_to_author(alice: User) -> None:
    parent = launched.ended(alice)
    scorer = other_scorer(parent)
    made = fork(alice, parent, impl=scorer.id, from_phase="atomize", description="strict")
    assert (made.plan, made.impl_id, made.from_phase) == (["materialize", "report"], scorer.id, "materialize")
    assert not made.foreign_impl
    refused(alice, parent, "mutually_exclusive", impl=scorer.id, from_phase="analyze")
    refused(alice, parent, "not_found", impl="imp_0")
    refused(alice, parent, "validation_failed", impl=launched.catalogue(alice).id)


def test_it_forks_another_models_answers_and_its_own_settings(alice: User) -> None:
    parent = launched.ended(alice)
    made = fork(alice, parent, description=WORDS, sut="other@local", trials=2, metadata={"limit": 1}, concurrency=2)
    assert (made.sut["model"], made.trials, made.task_count, made.planned) == ("other", 2, 1, 2)
    assert (made.metadata, made.concurrency) == ({"limit": 1}, 2)


def test_a_strangers_public_run_is_forked_with_ones_own_settings(alice: User, bob: User) -> None:
    parent = launched.ended(
        alice, metadata={"mine": 1}, hints=["mine"], limits={"run": {"cost": 1}}, visibility="public"
    )
    Run.objects.filter(id=parent.id).update(findings={"find": {}, "analyze": {}}, request="Run it")
    made = fork(bob, parent, description=WORDS)
    assert (made.owner_id, made.metadata, made.hints, made.limits, made.findings) == (bob.id, {}, [], {}, {})
    assert (made.task_count, made.visibility) == (parent.task_count, "private")
    refused(bob, parent, "validation_failed", description=WORDS, from_phase="analyze")
    rescored = fork(bob, parent, from_phase="materialize", mode="rescore")
    assert rescored.foreign_impl
    assert set(rescored.sut) == {"model", "provider", "params"}
    Run.objects.filter(id=parent.id).update(visibility="private")
    refused(bob, parent, "not_found", description=WORDS)


def test_d25_it_forks_no_run_that_is_going(alice: User) -> None:
    assert "Wait for its end" in refused(alice, launched.launch(alice), "run_not_replayable", description=WORDS).detail


@pytest.mark.parametrize("status", ["failed", "halted"])
def test_d25_a_run_that_failed_or_was_halted_can_be_forked(alice: User, status: str) -> None:
    assert fork(alice, launched.ended(alice, to=status), description=WORDS).status == "queued"


def test_it_says_from_where_a_run_without_tasks_can_be_forked(alice: User) -> None:
    parent = in_words(alice, subset=None, impl=None, status="failed")
    assert "from find" in refused(alice, parent, "run_not_replayable", description=WORDS).detail
    assert fork(alice, parent, from_phase="find").findings == {}
    without = launched.ended(alice)
    Run.objects.filter(id=without.id).update(impl=None)
    assert "from atomize" in refused(alice, without, "run_not_replayable", from_phase="materialize").detail


def test_it_wants_to_know_what_to_change(alice: User) -> None:
    parent = launched.ended(alice)
    assert "description" in refused(alice, parent, "validation_failed").detail
    assert "words" in refused(alice, parent, "validation_failed", from_phase="find").detail
    refused(alice, parent, "secret_in_payload", description="Use sk-or-v1-" + "0123456789abcdef" * 4)


# --- rescore ---
def test_a_rescore_binds_no_key_and_leases_no_secret(alice: User) -> None:
    parent = launched.ended(alice, ["passed", "failed", "errored"], trials=3)
    Run.objects.filter(id=parent.id).update(
        sut={"model": "gone", "provider": "openrouter", "base_url": "https://x", "params": {"top_p": 1}},
        sut_key={"kind": "secret", "secret": "sec_gone"},
    )  # its key was deleted since: graded anew it can be all the same
    launched.secret(alice, "openrouter.ai")
    made = fork(alice, parent, impl=other_scorer(parent).id, mode="rescore")
    assert made.sut == {"model": "gone", "provider": "openrouter", "base_url": "https://x", "params": {"top_p": 1}}
    assert (made.sut_key, made.planned, made.fork_mode) == ({}, parent.planned, "rescore")
    assert not SecretLease.objects.filter(reference=str(made.id)).exists()


@pytest.mark.parametrize(
    "more", [{"sut": "a@local"}, {"trials": 2}, {"secrets": ["A"]}, {"metadata": {"limit": 1}}, {"from_phase": "find"}]
)
def test_a_rescore_changes_nothing_but_the_scorer(alice: User, more: dict[str, Any]) -> None:
    parent = in_words(alice)
    refused(alice, parent, "validation_failed", **{"description": WORDS, "mode": "rescore", **more})


def test_a_rescore_needs_outputs(alice: User) -> None:
    parent = launched.ended(alice)
    parent.outputs.all().delete()
    assert "no output" in refused(alice, parent, "run_not_replayable", mode="rescore", description=WORDS).detail


@pytest.mark.parametrize(
    ("body", "judge", "cost", "said"),
    [
        ({"from_phase": "materialize"}, None, 0, "which costs nothing."),
        ({"from_phase": "materialize"}, {"model": "m", "provider": "simulated"}, None, "The scorer's judge is asked"),
        ({"from_phase": "atomize", "description": WORDS}, None, None, "Only a judge costs"),
    ],
)
def test_the_plan_of_a_rescore_says_what_a_rescore_costs(
    alice: User, body: dict[str, Any], judge: Any, cost: int | None, said: str
) -> None:
    parent = in_words(alice)
    parent.findings["analyze"]["estimate"] = {"cost_micro_cents": 500, "tokens": 9, "basis": "A guess: 2 calls"}
    parent.save()
    Impl.objects.filter(id=parent.impl_id).update(judge=judge)
    estimate = fork(alice, parent, mode="rescore", **body).findings["analyze"]["estimate"]
    assert estimate["basis"].startswith("No call of the model: the parent's stored outputs are graded anew")
    assert said in estimate["basis"]
    assert estimate["cost_micro_cents"] == cost
    again = fork(alice, parent, description=WORDS)
    assert again.findings["analyze"]["estimate"]["cost_micro_cents"] == 500, "one that asks anew keeps its estimate"
