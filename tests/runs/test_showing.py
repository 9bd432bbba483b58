"""What a public run shows of its benchmark: what it used, and nothing that it did not."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections, transaction

from accounts.models import User
from registry.models import Benchmark, Subset
from runs import publishing
from runs.models import Run
from tests.factories import launched

Door = Callable[..., Any]


def listed(reader: Any, benchmark: str) -> list[str]:
    return reader.get(f"registry/benchmarks/{benchmark}").json["subsets"]


@pytest.mark.django_db
def test_other_subsets_and_scorers_stay_private(alice: User, bob: User, api: Door) -> None:
    used = launched.catalogue(alice)
    benchmark = used.subset.benchmark
    unused = launched.impl(used.subset)
    other = launched.impl(launched.subset(benchmark))
    launched.ended(alice, scorer=used, impl=used.id, visibility="public")
    for reader in (api(bob), api(None)):
        assert listed(reader, benchmark.id) == [used.subset_id]
        assert reader.get(f"registry/subsets/{used.subset_id}").json["visibility"] == "public"
        assert reader.get(f"registry/impls/{used.id}").json["visibility"] == "public"
        assert reader.get(f"registry/impls/{used.id}/code").content.decode() == used.code
        assert reader.get(f"registry/subsets/{other.subset_id}").status == 404
        for hidden in (unused, other):
            assert reader.get(f"registry/impls/{hidden.id}").status == 404
            assert reader.get(f"registry/impls/{hidden.id}/code").status == 404
    launch = {"benchmark": benchmark.id, "sut": launched.LOCAL}
    assert api(bob).post("runs", {**launch, "subset": other.subset_id}).status == 404
    assert api(bob).post("runs", {**launch, "subset": used.subset_id, "impl": unused.id}).status == 404
    own = api(bob).post("runs", {**launch, "subset": used.subset_id})
    assert own.json["impl"]["id"] == used.id, "the newest scorer is not theirs to see"
    assert listed(api(alice), benchmark.id) == [used.subset_id, other.subset_id]
    assert api(alice).get(f"registry/impls/{unused.id}").json["visibility"] == "private"


@pytest.mark.django_db
def test_each_is_shown_while_a_public_run_used_it(alice: User, bob: User, api: Door) -> None:
    first = launched.catalogue(alice)
    benchmark = first.subset.benchmark
    second = launched.impl(launched.subset(benchmark))
    runs = [launched.ended(alice, scorer=scorer) for scorer in (first, second)]
    assert api(bob).get(f"registry/benchmarks/{benchmark.id}").status == 404
    for run in runs:
        assert api(alice).post(f"runs/{run.id}/publish").status == 200
    assert listed(api(bob), benchmark.id) == [first.subset_id, second.subset_id]
    assert api(alice).patch(f"runs/{runs[0].id}", {"visibility": "private"}).status == 200
    assert listed(api(bob), benchmark.id) == [second.subset_id]
    assert api(bob).get(f"registry/impls/{first.id}").status == 404
    assert api(alice).delete(f"runs/{runs[1].id}").status == 204
    assert api(bob).get(f"registry/benchmarks/{benchmark.id}").status == 404
    assert api(bob).get(f"registry/impls/{second.id}/code").status == 404


@pytest.mark.django_db(transaction=True)
def test_two_runs_that_are_published_at_once_are_both_shown(alice: User) -> None:
    first = launched.catalogue(alice)
    second = launched.impl(launched.subset(first.subset.benchmark))
    runs = [launched.ended(alice, scorer=scorer) for scorer in (first, second)]
    ended = threading.Event()

    def publish(run: Run) -> None:
        Run.objects.filter(id=run.id).update(visibility="public")
        publishing.follow(run)

    def beside() -> None:
        with transaction.atomic():
            publish(runs[1])
        ended.set()
        connections.close_all()

    thread = threading.Thread(target=beside)
    with transaction.atomic():
        publish(runs[0])
        thread.start()
        assert not ended.wait(0.5), "it waits for the other one to end"
    thread.join()
    assert Benchmark.objects.get().visibility == "public"
    assert {one.visibility for one in Subset.objects.all()} == {"public"}
