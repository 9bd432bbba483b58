"""The Find phase of real runs: what is stored, what is asked, and how an answer lets the run go on."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings

from accounts.models import User
from accounts.principal import Principal
from kernel.errors import DomainError
from registry.models import Benchmark
from runs import launching
from runs.driver.deciding import approve
from runs.models import Phase, Run, RunEvent
from runs.objects import run_object
from runs.schemas import LaunchBody
from secrets_vault import sealing, vault
from tests.factories import launched, publish
from tests.factories.processes import work

__all__ = ["work"]

pytestmark = pytest.mark.django_db(transaction=True)
Work = Callable[..., Run]


def launch(owner: User, request: str, **body: Any) -> Run:
    return launching.launch(launched.acting(owner), LaunchBody.model_validate({"request": request, **body}))


def bound(owner: User, request: str, **body: Any) -> Run:
    return launch(owner, request, sut=launched.LOCAL, **body)


def asked(owner: User, request: str, **body: Any) -> Run:
    return launch(owner, request, metadata={"autonomous": False}, **body)


def found(run: Run) -> dict[str, Any]:
    """What Find stored; the phase has completed."""
    assert Phase.objects.get(run=run, name="find").status == "completed", run.error
    return dict(run.findings["find"])


def a_key(owner: User) -> None:
    sealing.ensure_keys(settings.KEYS_DIR)
    rule = {"host_pattern": "openrouter.ai", "inject_kind": "bearer"}
    vault.create(Principal(owner, frozenset(), "pat"), "OPENROUTER_API_KEY", "sk-or-v1-0123456789", [rule])


def a_benchmark(owner: User, name: str, *slugs: str, **fields: Any) -> Benchmark:
    made = launched.benchmark(owner, name=name, **fields)
    for slug in slugs or ("all",):
        launched.subset(made, slug=slug)
    return made


def test_it_stores_what_the_words_mean(alice: User, work: Work) -> None:
    run = work(bound(alice, "Run MMLU abstract algebra, 50 samples, 3 trials"))
    doc = found(run)
    assert doc["source"] == {"kind": "catalogue", "ref": "mmlu", "part": "abstract_algebra", "name": "MMLU"}
    assert (doc["limit"], doc["part"], run.trials, doc["sut"]) == (50, "abstract_algebra", 3, None)
    assert doc["confidence"] > 0.9
    assert doc["candidates"][0]["id"] == "catalogue:mmlu/abstract_algebra"
    assert doc["request"] == run.request


def test_it_binds_the_model_that_the_words_name(alice: User, work: Work) -> None:
    a_key(alice)
    run = work(launch(alice, "Run MMLU Abstract Algebra on openai/gpt-4o-mini via OpenRouter at temperature 0"))
    found(run)
    assert (run.sut["model"], run.sut["provider"]) == ("openai/gpt-4o-mini", "openrouter")
    assert run.sut["params"] == {"temperature": 0.0}
    assert run.sut_key["kind"] == "secret"


def test_it_lets_the_launch_go_before_the_words(alice: User, work: Work) -> None:
    sut = {**launched.LOCAL, "params": {"temperature": 0.5}}
    run = work(launch(alice, "GSM8K on gpt-4o-mini via OpenRouter, temperature 0, seed 7, 3 trials", sut=sut, trials=2))
    found(run)
    assert (run.sut["model"], run.sut["provider"], run.trials) == ("smollm2", "local", 2)
    assert run.sut["params"] == {"temperature": 0.5, "seed": 7}


def test_it_names_a_missing_key(alice: User, work: Work) -> None:
    run = work(launch(alice, "Run GSM8K on openai/gpt-4o-mini via OpenRouter"))
    assert run.status == "failed"
    assert (run.error["phase"], run.error["code"]) == ("find", "missing_secret")
    assert run.error["hint"].startswith("Add the secret")
    asked = {"identifier": "openai/gpt-4o-mini", "provider": "openrouter"}
    assert asked.items() <= run_object(run, launched.acting(alice))["model"].items()
    stranger = run_object(run, None)
    assert (stranger["model"]["identifier"], "model" in stranger["error"]) == (None, False), "the words are its owner's"


def test_it_reads_hints_like_words(alice: User, work: Work) -> None:
    doc = found(work(bound(alice, "run it", hints=["the benchmark is GSM8K", "only 10 samples"])))
    assert (doc["source"]["ref"], doc["limit"]) == ("gsm8k", 10)


def test_it_finds_the_callers_own_before_the_catalogue(alice: User, work: Work) -> None:
    own = a_benchmark(alice, "MMLU Pro Frontier Gauntlet", "v1-2026-04")
    doc = found(work(bound(alice, "Run the MMLU Pro Frontier Gauntlet on qwen3-32b")))
    assert doc["source"]["kind"] == "registry"
    assert (doc["source"]["ref"], doc["source"]["subset"]) == (own.pk, own.subsets.get().pk)
    assert found(work(bound(alice, "Run MMLU Pro")))["source"]["ref"] == "mmlu-pro"


def test_it_never_sees_a_strangers_private_benchmark(alice: User, bob: User, work: Work) -> None:
    hidden = a_benchmark(bob, "Zebra Stripes Exam")
    run = work(bound(alice, "Run the Zebra Stripes Exam"))
    assert (run.status, run.error["code"]) == ("failed", "egress_unavailable"), "looked for at the Hub, not found here"
    assert hidden.pk not in str(run.error)
    publish.benchmark(hidden.pk)
    assert found(work(bound(alice, "Run the Zebra Stripes Exam")))["source"]["ref"] == hidden.pk


def test_it_does_not_let_a_stranger_take_a_known_name(alice: User, bob: User, work: Work) -> None:
    for name in ("MMLU", "MMLU Abstract Algebra", "Run MMLU on"):
        publish.benchmark(a_benchmark(bob, name).pk)
    doc = found(work(bound(alice, "Run MMLU Abstract Algebra on qwen3-32b")))
    assert (doc["source"]["kind"], doc["source"]["ref"]) == ("catalogue", "mmlu")


def test_it_takes_rows_fetched_for_an_entry_as_that_entry(alice: User, work: Work) -> None:
    made = launched.benchmark(alice, name="MMLU")
    launched.subset(made, slug="anatomy", source={"kind": "catalogue", "ref": "mmlu", "part": "anatomy"})
    doc = found(work(bound(alice, "Run MMLU virology")))
    assert doc["source"] == {"kind": "catalogue", "ref": "mmlu", "part": "virology", "name": "MMLU"}


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        ("Run MMLU and GSM8K", "several_benchmarks", ["catalogue:mmlu", "catalogue:gsm8k"]),
        ("Run AIME", "unclear_benchmark", ["catalogue:aime-2024", "catalogue:aime-2025"]),
        ("Run MMLU-CF", "unclear_benchmark", ["catalogue:mmlu"]),
        ("Run GPQA main and diamond", "unclear_part", ["catalogue:gpqa/main", "catalogue:gpqa/diamond"]),
        ("Run Capitals", "several_subsets", ["Capitals: easy", "Capitals: hard"]),
        ("Run MMLU 100", "unclear_limit", ["limit:100"]),
    ],
)
def test_it_fails_with_the_candidates_where_nobody_is_there(
    alice: User, work: Work, words: str, code: str, named: list[str]
) -> None:
    a_benchmark(alice, "Capitals", "easy", "hard")
    run = work(bound(alice, words))
    assert (run.status, run.error["phase"], run.error["code"]) == ("failed", "find", code)
    assert all(one in run.error["hint"] for one in named), run.error["hint"]
    assert "metadata.autonomous=false" in run.error["hint"]


def test_it_fails_plainly_where_there_is_no_candidate(alice: User, work: Work) -> None:
    run = work(bound(alice, "Is it any good?", metadata={"autonomous": False}))
    assert (run.status, run.error["code"]) == ("failed", "unresolved_request")
    assert "You have no benchmark with tasks yet. Name a well-known one (such as GSM8K or MMLU)" in run.error["hint"]
    made = a_benchmark(alice, "Capitals", "easy")
    run = work(bound(alice, "Is it any good?"))
    assert f"or one of yours: Capitals ({made.pk})." in run.error["hint"]


def test_an_own_benchmark_without_tasks_is_named_as_such_and_never_run(alice: User, bob: User, work: Work) -> None:
    made = launched.benchmark(alice, name="Capitals")
    run = work(bound(alice, "Run my Capitals, first 5"))
    assert (run.status, run.error["code"]) == ("failed", "rows_unavailable")
    assert f"Capitals ({made.pk}) has no tasks yet" in run.error["message"]
    assert f"benchwright bench subset create {made.pk}" in run.error["hint"]
    run = work(bound(bob, "Run Capitals"))
    assert run.error["code"] != "rows_unavailable", "what others have not filled is not told"
    launched.benchmark(alice, name="GSM8K")
    told = found(work(bound(alice, "Run GSM8K")))
    assert any("Your own GSM8K" in note and "has no tasks yet" in note for note in told["notes"])


def test_a_quick_check_is_a_small_run_that_says_so(alice: User, work: Work) -> None:
    a_benchmark(alice, "Capitals", "easy")
    told = found(work(bound(alice, "quick check of Capitals")))
    assert told["limit"] == 20
    assert any("“quick check” is read as the first 20 tasks" in note for note in told["notes"])
    launch_says = found(work(bound(alice, "quick check of Capitals", limits={"run": {"tasks": 1}})))
    assert launch_says["limit"] is None


def test_other_money_than_dollars_is_refused_by_name(alice: User, work: Work) -> None:
    run = work(bound(alice, "GSM8K for at most 5 €"))
    assert (run.status, run.error["code"]) == ("failed", "unclear_ceiling")
    assert "costs are counted in US dollars, and no other currency is converted" in run.error["message"]
    assert "run.cost" in run.error["hint"]


def test_it_can_not_say_that_there_is_no_such_benchmark_where_the_hub_is_out_of_reach(alice: User, work: Work) -> None:
    run = work(bound(alice, "Run FrontierMath", metadata={"autonomous": False}))
    assert (run.status, run.error["code"]) == ("failed", "egress_unavailable")
    assert "Nobody here knows FrontierMath." in run.error["message"]
    assert "Name a well-known one" in run.error["hint"]


def test_it_asks_and_goes_on_with_the_answer(alice: User, work: Work) -> None:
    run = work(asked(alice, "Run MMLU and GSM8K, 20 samples", sut=launched.LOCAL))
    assert run.status == "needs_input"
    assert {one["id"] for one in run.asked["choices"]} == {"catalogue:mmlu", "catalogue:gsm8k"}
    assert RunEvent.objects.get(run=run, type="InputNeeded").data["code"] == "several_benchmarks"
    approve(launched.acting(alice), str(run.id), {"choice": "catalogue:gsm8k"})
    doc = found(work(Run.objects.get(id=run.id)))
    assert (doc["source"]["ref"], doc["limit"], doc["confidence"]) == ("gsm8k", 20, 1.0)


def test_it_asks_for_a_subset_and_goes_on_with_it(alice: User, work: Work) -> None:
    made = a_benchmark(alice, "Capitals", "easy", "hard")
    run = work(asked(alice, "Run Capitals", sut=launched.LOCAL))
    hard = made.subsets.get(slug="hard").pk
    approve(launched.acting(alice), str(run.id), {"choice": f"registry:{made.pk}/{hard}"})
    doc = found(work(Run.objects.get(id=run.id)))
    assert (doc["source"]["subset"], doc["source"]["part"]) == (hard, "hard")


def test_it_asks_twice_and_forgets_no_answer(alice: User, work: Work) -> None:
    a_key(alice)
    run = work(asked(alice, "Run MMLU and GSM8K on qwen3-32b"))
    approve(launched.acting(alice), str(run.id), {"choice": "catalogue:mmlu"})
    run = work(Run.objects.get(id=run.id))
    assert (run.status, run.asked["code"]) == ("needs_input", "unclear_model")
    approve(launched.acting(alice), str(run.id), {"choice": "model:qwen/qwen3-32b@openrouter"})
    run = work(Run.objects.get(id=run.id))
    assert found(run)["source"]["ref"] == "mmlu"
    assert (run.sut["model"], run.sut["provider"]) == ("qwen/qwen3-32b", "openrouter")


def test_another_model_than_those_offered_may_be_named(alice: User, work: Work) -> None:
    run = work(asked(alice, "Run GSM8K, 2 samples, on gpt-4o or claude via simulated"))
    assert run.asked["code"] == "unclear_model"
    for unheard in ("echo@simulated", "model:echo", "model:echo@nowhere", "model:@simulated"):
        with pytest.raises(DomainError, match="Or name another: model:"):
            approve(launched.acting(alice), str(run.id), {"choice": unheard})
    approve(launched.acting(alice), str(run.id), {"choice": "model:echo@simulated"})
    run = work(Run.objects.get(id=run.id))
    assert (run.sut["model"], run.sut["provider"]) == ("echo", "simulated")


def test_it_goes_on_with_a_chosen_number(alice: User, work: Work) -> None:
    run = work(asked(alice, "MMLU 100", sut=launched.LOCAL))
    approve(launched.acting(alice), str(run.id), {"choice": "limit:100"})
    assert found(work(Run.objects.get(id=run.id)))["limit"] == 100


def test_it_tells_what_the_words_want_and_the_run_does_not_do(alice: User, work: Work) -> None:
    doc = found(work(bound(alice, "Run MMLU abstract_algebra via Inspect")))
    assert doc["harness"] == {
        "name": "inspect", "task": "inspect_evals/mmlu_0_shot", "args": {"subjects": ["abstract_algebra"]},
    }  # fmt: skip
    assert any("harness='inspect'" in note for note in doc["notes"])
    doc = found(work(bound(alice, "Run IFEval")))
    assert any("lmeval" in note for note in doc["notes"])


def test_it_names_the_task_of_a_harness_that_is_the_same(alice: User, work: Work) -> None:
    doc = found(work(bound(alice, "run lm-eval task arc_challenge on it")))
    assert doc["source"]["ref"] == "arc-challenge"
    assert doc["harness"] == {"name": "lmeval", "task": "arc_challenge"}
    assert doc["same_tasks"]["inspect"] == {"task": "inspect_evals/arc_challenge"}
    assert found(work(bound(alice, "Run the arc_challenge_chat task of lm-eval")))["source"]["ref"] == "arc-challenge"


def test_it_runs_nothing_in_the_place_of_a_task_that_is_not_scored_here(alice: User, work: Work) -> None:
    run = work(bound(alice, "lm-eval task truthfulqa_gen"))
    assert (run.status, run.error["code"]) == ("failed", "harness_only")
    assert "truthfulqa_gen is known to lm-eval 0.4.13" in run.error["message"]
    assert "nothing here scores it yet" in run.error["message"]
    run = work(asked(alice, "lm-eval task truthfulqa_gen, 7 samples", sut=launched.LOCAL))
    rows = "huggingface:truthfulqa/truthful_qa#generation/validation"
    approve(launched.acting(alice), str(run.id), {"choice": rows})
    doc = found(work(Run.objects.get(id=run.id)))
    assert doc["source"] == {
        "kind": "huggingface", "ref": "truthfulqa/truthful_qa", "name": "truthfulqa/truthful_qa",
        "config": "generation", "split": "validation",
    }  # fmt: skip
    assert (doc["limit"], doc["same_tasks"]) == (7, {})


def test_it_asks_whether_a_slug_is_a_model_or_a_data_set(alice: User, work: Work) -> None:
    run = work(asked(alice, "Run acme/zebra"))
    approve(launched.acting(alice), str(run.id), {"choice": "huggingface:acme/zebra"})
    run = work(Run.objects.get(id=run.id))
    assert (run.status, run.error["code"]) == ("failed", "no_model")


def test_it_asks_for_a_model_where_none_is_named(alice: User, work: Work) -> None:
    run = work(launch(alice, "Run GSM8K"))
    assert (run.status, run.error["code"]) == ("failed", "no_model")
    assert "sut=" in run.error["hint"]


def test_a_choice_among_the_hints_answers_what_an_earlier_run_asked(alice: User, work: Work) -> None:
    first = work(bound(alice, "Run MMLU and GSM8K, 20 samples"))
    assert [one["id"] for one in first.error["choices"]] == ["catalogue:mmlu", "catalogue:gsm8k"]
    assert all(set(one) == {"id", "name", "reason"} for one in first.error["choices"])
    doc = found(work(bound(alice, first.request, hints=["choice:catalogue:gsm8k", "be brief"])))
    assert (doc["source"]["ref"], doc["limit"], doc["confidence"]) == ("gsm8k", 20, 1.0)
    lost = work(bound(alice, first.request, hints=["choice:catalogue:nothing"]))
    assert lost.error["code"] == "several_benchmarks", "a choice that is none is no answer"
