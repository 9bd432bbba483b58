"""Launches: what is written, and every refusal."""

from typing import Any

import pytest

from accounts.models import User
from kernel.errors import DomainError
from registry.models import Subset
from runs import launching
from runs.models import Phase, Run, RunEvent
from runs.schemas import LaunchBody
from tests.factories import launched

pytestmark = pytest.mark.django_db


def refused(owner: User, code: str, scorer: Any = None, **body: Any) -> DomainError:
    before = Run.objects.count()
    with pytest.raises(DomainError) as caught:
        launched.launch(owner, scorer, **body)
    assert caught.value.code == code, caught.value.detail
    assert Run.objects.count() == before, "a refused launch leaves no row"
    return caught.value


def test_it_writes_the_run_its_plan_and_its_first_event(alice: User) -> None:
    run = launched.launch(alice, launched.catalogue(alice, tasks=7), trials=3, concurrency=5)
    assert (run.status, run.mode, run.plan) == ("queued", "benchmark", ["materialize", "report"])
    assert (run.task_count, run.planned, run.concurrency, run.subset_revision) == (7, 21, 5, 1)
    assert list(Phase.objects.filter(run=run).values_list("name", "position")) == [("materialize", 0), ("report", 1)]
    assert list(RunEvent.objects.filter(run=run).values_list("seq", "type")) == [(1, "RunQueued")]
    assert run.sut == {**launched.LOCAL, "base_url": run.sut["base_url"], "params": {}, "connection": None}
    assert run.sut_key == {"kind": "none"}
    assert run.last_seq == 1


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"request": "Run it"}, {"request", "benchmark"}),
        ({"benchmark": None}, {"request", "benchmark", "replay"}),
        ({"replay": {"from_run": "x"}, "request": "Run it", "benchmark": None}, {"request", "replay"}),
    ],
)
def test_a09_it_wants_exactly_one_way(alice: User, body: dict[str, Any], named: set[str]) -> None:
    scorer = launched.catalogue(alice)
    if "replay" in body:
        error = refused(alice, "mutually_exclusive", **body)
    else:
        error = refused(alice, "mutually_exclusive", scorer, **body)
    assert {entry["loc"][-1] for entry in error.errors} == named
    assert all(name in error.detail for name in named)


def test_it_plans_the_authoring_phases_of_a_launch_in_words(alice: User) -> None:
    body = LaunchBody.model_validate({"request": "Run MMLU on qwen3-32b", "sut": launched.LOCAL})
    run = launching.launch(launched.acting(alice), body)
    assert run.plan == ["find", "analyze", "atomize", "materialize", "report"]
    assert (run.mode, run.request, run.planned, run.subset_id) == ("request", "Run MMLU on qwen3-32b", 0, None)
    assert run.sut["model"] == launched.LOCAL["model"]


def test_it_takes_a_launch_in_words_without_a_model(alice: User) -> None:
    body = LaunchBody.model_validate({"request": "Run MMLU on qwen3-32b"})
    assert launching.launch(launched.acting(alice), body).sut == {}


def test_it_names_driver_where_agent_is_sent(alice: User) -> None:
    assert "driver" in refused(alice, "unknown_field", agent="gpt").detail


def test_it_takes_the_short_form_and_the_other_name_of_sut(alice: User) -> None:
    run = launched.launch(alice, sut=None, model="qwen/qwen3@8b@local")
    assert (run.sut["model"], run.sut["provider"]) == ("qwen/qwen3@8b", "local")
    refused(alice, "mutually_exclusive", model="a@local")
    refused(alice, "validation_failed", sut=None)


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ({"harness": "inspect"}, "not_available", "inspect"),
        ({"harness": "benchwrigt"}, "validation_failed", "benchwright"),
        ({"compute": "e2b"}, "not_available", "local"),
        ({"compute": "loca"}, "validation_failed", "local"),
        ({"sut": {"model": "m", "provider": "openruter"}}, "validation_failed", "openrouter"),
        ({"sut": {"model": "m", "connection": "con_1"}}, "validation_failed", "You have no connection"),
        ({"sut": {"model": "m"}}, "validation_failed", "Name the model's provider"),
        ({"sut": {"model": "m", "provider": "local", "params": {"x": "y" * 17000}}}, "validation_failed", "params"),
        ({"phase_models": {"materialise": {"model": "m", "provider": "p"}}}, "validation_failed", "materialize"),
        ({"metadata": {str(n): n for n in range(501)}}, "validation_failed", "500"),
        ({"metadata": {"long": "x" * (64 << 10)}}, "validation_failed", "65536"),
        ({"metadata": {"limit": "5"}}, "validation_failed", "metadata.limit"),
        ({"metadata": {"limit": 0}}, "validation_failed", "metadata.limit"),
        ({"limits": {"runs": {}}}, "validation_failed", "run"),
        ({"constraints": {"max_cost": 5}}, "unknown_field", "max_cost_cents"),
        ({"constraints": {"max_tasks": 5}, "limits": {"run": {"tasks": 5}}}, "mutually_exclusive", "limits.run.tasks"),
    ],
)
def test_it_refuses_what_it_cannot_do(alice: User, body: dict[str, Any], code: str, said: str) -> None:
    assert said in refused(alice, code, **body).detail


def test_d24_it_caps_the_tasks_by_the_narrower_of_both(alice: User) -> None:
    scorer = launched.catalogue(alice, tasks=20)
    run = launched.launch(alice, scorer, limits={"run": {"tasks": 8}}, metadata={"limit": 5})
    assert (run.task_count, run.planned) == (5, 5)
    run = launched.launch(alice, scorer, constraints={"max_tasks": 3}, metadata={"limit": 5})
    assert (run.task_count, run.limits) == (3, {"run": {"tasks": 3}})
    assert launched.launch(alice, scorer, metadata={"limit": 100}).task_count == 20


def test_it_takes_the_only_ready_subset_or_names_the_choices(alice: User) -> None:
    scorer = launched.catalogue(alice)
    mark = scorer.subset.benchmark
    launched.subset(mark, slug="upload", state="staging")
    assert launched.launch(alice, scorer, subset=None).subset_id == scorer.subset_id
    assert launched.launch(alice, scorer, subset=scorer.subset.slug).subset_id == scorer.subset_id
    other = launched.subset(mark, slug="hard")
    detail = refused(alice, "validation_failed", scorer, subset=None).detail
    assert other.id in detail
    assert scorer.subset_id in detail


def test_it_refuses_a_subset_that_is_not_ready_or_not_of_this_benchmark(alice: User) -> None:
    scorer = launched.catalogue(alice)
    staging = launched.subset(scorer.subset.benchmark, slug="up", state="staging")
    refused(alice, "subset_incomplete", scorer, subset=staging.id)
    retired = launched.subset(scorer.subset.benchmark, slug="old", state="retired")
    refused(alice, "validation_failed", scorer, subset=retired.id)
    foreign = launched.catalogue(alice).subset
    assert foreign.id in refused(alice, "validation_failed", scorer, subset=foreign.id).detail
    refused(alice, "not_found", scorer, subset="sub_none")
    empty = launched.impl(launched.subset(scorer.subset.benchmark, 0, slug="empty", rolling=True))
    assert "no tasks" in refused(alice, "validation_failed", empty).detail


def test_it_does_not_run_what_belongs_to_a_stranger(alice: User, bob: User) -> None:
    scorer = launched.catalogue(alice)
    refused(bob, "not_found", scorer)


def test_it_binds_the_secret_of_the_providers_host(alice: User, bob: User) -> None:
    body = {"sut": {"model": "qwen/qwen3-32b", "provider": "openrouter"}}
    error = refused(alice, "missing_secret", **body)
    assert "openrouter.ai" in error.detail
    launched.secret(bob, "openrouter.ai")
    refused(alice, "missing_secret", **body)
    kept = launched.secret(alice, "openrouter.ai")
    run = launched.launch(alice, **body)
    assert run.sut_key == {
        "kind": "secret",
        "secret": kept.id,
        "version": 1,
        "inject_kind": "bearer",
        "inject_target": "Authorization",
        "host": "openrouter.ai",
    }


def test_d26_d27_it_pins_the_revision_of_a_rolling_subset(alice: User) -> None:
    scorer = launched.impl(launched.subset(launched.benchmark(alice), 3, rolling=True))
    run = launched.launch(alice, scorer)
    launched.append(scorer.subset, 2, start=3, revision=2)
    Subset.objects.filter(id=scorer.subset_id).update(revision=2, task_count=5)
    run.refresh_from_db()
    assert (run.subset_revision, run.task_count, run.planned) == (1, 3, 3)
    assert launched.launch(alice, scorer).task_count == 5


def test_it_wants_secrets_that_exist(alice: User, bob: User) -> None:
    theirs, mine = launched.secret(bob, "api.example.org"), launched.secret(alice, "api.example.org")
    assert theirs.name in refused(alice, "validation_failed", secrets=[mine.name, theirs.name]).detail
    assert launched.launch(alice, secrets=[mine.name]).secrets == [mine.name]
