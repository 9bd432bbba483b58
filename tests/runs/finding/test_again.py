"""The same words twice: the second run comes to the rows, the subset and the scorer of the first."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from registry import authoring, scorers
from registry.models import Subset
from runs.models import Run
from tests.factories import launched, publish
from tests.runs.analysis import shapes
from tests.runs.driver.conftest import Ways, hosts, hub, index, places, stepping, tunnel, ways
from tests.runs.finding.test_find_phase import bound, found
from tests.runs.sources.writing import jsonl
from tests.twins.hosts_twin import Hosts, answer
from tests.twins.huggingface_twin import HuggingFaceTwin

__all__ = ["hosts", "hub", "index", "places", "stepping", "tunnel", "ways"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("ways")]
Step = Callable[[Run], Run]
SUMS = jsonl(shapes.GSM8K)
GERMAN = jsonl([{**row, "question": f"Frage: {row['question']}"} for row in shapes.GSM8K])


def analysed(stepping: Step, owner: User, words: str, **body: Any) -> Run:
    run = stepping(stepping(bound(owner, words, **body)))
    assert run.error is None, run.error
    return run


def configured(hub: HuggingFaceTwin) -> None:
    configs = [{"config_name": name, "data_files": [{"split": "test", "path": f"{name}/*"}]} for name in ("de", "en")]
    hub.dataset("acme/Sums", {"de/test.jsonl": GERMAN, "en/test.jsonl": SUMS}, card={"configs": configs})


def test_an_id_of_the_hub_comes_to_the_subset_and_the_scorer_of_the_first_run(
    alice: User, hub: HuggingFaceTwin, ways: Ways, stepping: Step
) -> None:
    hub.dataset("acme/Sums", {"test.jsonl": SUMS})
    first = analysed(stepping, alice, "Run acme/Sums on it, 5 samples")
    assert not any("run before" in note for note in found(first)["notes"])
    scorer = scorers.create(launched.acting(alice), str(first.subset_id), grader={"kind": "numeric"}).impl_id
    hub.datasets.clear()
    for words in ("Run acme/Sums on it, 5 samples", "run acme/sums on it", "dataset acme/Sums"):
        again = analysed(stepping, alice, words)
        assert (again.subset_id, again.benchmark_id) == (first.subset_id, first.benchmark_id)
        assert again.findings["analyze"]["impl"] == scorer
        note = f"the same rows are the same subset of your acme/Sums ({first.benchmark_id})"
        assert any(note in one for one in found(again)["notes"])
    assert ways.opened == 1, "the rows are kept"
    assert Subset.objects.count() == 1


def test_a_name_that_was_searched_for_comes_to_what_was_found(
    alice: User, hub: HuggingFaceTwin, stepping: Step
) -> None:
    hub.dataset("acme/ZebraLogic", {"test.jsonl": SUMS}, downloads=40_000)
    first = analysed(stepping, alice, "Run ZebraLogic on it")
    hub.dataset("rival/ZebraLogic", {"test.jsonl": GERMAN}, downloads=90_000)
    assert analysed(stepping, alice, "Run ZebraLogic on it").subset_id == first.subset_id
    run = stepping(bound(alice, "Run ZebraLogic split train on it"))
    assert found(run)["source"]["split"] == "train"


def test_another_config_or_revision_is_another_subset_of_the_same_benchmark(
    alice: User, hub: HuggingFaceTwin, stepping: Step
) -> None:
    configured(hub)
    german = analysed(stepping, alice, "Run acme/Sums config de on it")
    english = analysed(stepping, alice, "Run acme/Sums config en on it")
    assert german.subset_id != english.subset_id
    assert german.benchmark_id == english.benchmark_id
    assert analysed(stepping, alice, "Run acme/Sums config de on it").subset_id == german.subset_id
    asked = stepping(stepping(bound(alice, "Run acme/Sums on it")))
    assert (asked.status, asked.error["code"]) == ("failed", "part_needed"), "as it was the first time"
    hub.dataset("acme/Sums", {"test.jsonl": SUMS[: SUMS.index(b"\n", 900) + 1]}, sha="b" * 40)
    newer = analysed(stepping, alice, f"Run acme/Sums revision {'b' * 40} on it")
    assert newer.benchmark_id == german.benchmark_id
    assert newer.subset_id not in (german.subset_id, english.subset_id)


def test_somebody_elses_benchmark_of_the_same_data_set_is_no_rival(
    alice: User, bob: User, hub: HuggingFaceTwin, stepping: Step
) -> None:
    hub.dataset("acme/Sums", {"test.jsonl": SUMS})
    theirs = analysed(stepping, bob, "Run acme/Sums on it")
    publish.benchmark(theirs.benchmark_id)
    ours = analysed(stepping, alice, "Run acme/Sums on it")
    assert ours.benchmark is not None
    assert ours.benchmark.owner_id == alice.pk


def test_a_benchmark_of_that_name_with_other_rows_is_asked_about(
    alice: User, hub: HuggingFaceTwin, stepping: Step
) -> None:
    made = authoring.create_benchmark(launched.acting(alice), "acme/Sums", "mine")
    authoring.create_subset(
        launched.acting(alice), made.pk, slug="all", tasks=[{"task_id": "1", "input": "1+1", "expected": "2"}]
    )
    hub.dataset("acme/Sums", {"test.jsonl": SUMS})
    run = stepping(bound(alice, "Run acme/Sums on it"))
    assert run.error["code"] == "several_benchmarks"
    assert {one["id"].partition(":")[0] for one in run.error["choices"]} == {"registry", "huggingface"}


def test_an_address_comes_to_the_subset_of_the_first_run(alice: User, hosts: Hosts, stepping: Step) -> None:
    hosts.say("rows.test", "/sums.jsonl", answer(SUMS, 'ETag: "v1"'))
    first = analysed(stepping, alice, "Run https://rows.test/sums.jsonl on it")
    again = analysed(stepping, alice, "Run https://rows.test/sums.jsonl on it")
    assert again.subset_id == first.subset_id
    assert any("run before" in note for note in found(again)["notes"])
    by_name = analysed(stepping, alice, "Run sums.jsonl on it")
    assert by_name.subset_id == first.subset_id
