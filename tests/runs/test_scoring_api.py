"""The runs of a subset or an impl, and a run's scorer as an impl of its own."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from registry.models import Impl, ImplRegistration
from runs.models import Run
from tests.factories import launched

Door = Callable[..., Any]
pytestmark = pytest.mark.django_db


def test_it_lists_the_runs_of_a_subset_and_of_an_impl_that_one_may_see(alice: User, bob: User, api: Door) -> None:
    scorer = launched.catalogue(alice)
    public = launched.ended(alice, scorer=scorer, visibility="public")
    private = launched.ended(alice, scorer=scorer)
    launched.ended(alice)
    for path in (f"registry/subsets/{scorer.subset_id}/runs", f"registry/impls/{scorer.id}/runs"):
        assert [row["id"] for row in api(alice).get(path).json["data"]] == [str(private.id), str(public.id)]
        assert [row["id"] for row in api(bob).get(path).json["data"]] == [str(public.id)]
        assert [row["id"] for row in api(None).get(path).json["data"]] == [str(public.id)]
        page = api(alice).get(f"{path}?limit=1&sort=created_at").json
        rest = api(alice).get(f"{path}?limit=1&sort=created_at&page_token={page['next_page_token']}").json
        assert [row["id"] for row in page["data"] + rest["data"]] == [str(public.id), str(private.id)]
        assert api(alice).get(f"{path}?status=failed").json["data"] == []
        assert api(alice).get(f"{path}?state=failed").json["code"] == "invalid_filter"
    Run.objects.filter(id=public.id).update(visibility="private")
    scorer.subset.benchmark.visibility = "private"
    scorer.subset.benchmark.save()
    assert api(bob).get(f"registry/subsets/{scorer.subset_id}/runs").status == 404
    assert api(bob).get(f"registry/impls/{scorer.id}/runs").status == 404


def test_a_runs_scorer_becomes_an_impl_of_another_subset(alice: User, bob: User, api: Door) -> None:
    scorer = launched.catalogue(alice)
    Impl.objects.filter(id=scorer.id).update(pass_threshold=0.5, network=["example.org"], isolation="task")
    run = launched.ended(alice, scorer=scorer)
    other = launched.subset(scorer.subset.benchmark, 2)
    body = {"from_run": str(run.id), "subset": other.id, "label": "inherited"}
    made = api(alice).post("impls/from_run", body, idempotency_key="k")
    assert made.status == 201
    assert (made.json["subset"], made.json["label"], made.json["official"]) == (other.id, "inherited", True)
    assert (made.json["pass_threshold"], made.json["network"], made.json["isolation"]) == (0.5, ["example.org"], "task")
    assert Impl.objects.get(id=made.json["id"]).code == scorer.code
    assert api(alice).post("impls/from_run", body, idempotency_key="k").content == made.content
    assert api(alice).post("impls/from_run", {**body, "subset": "sub_0"}).status == 404
    assert api(alice).post("impls/from_run", {**body, "benchmark": "bm_0"}).status == 422
    assert api(alice, "registry:read", "runs:read").post("impls/from_run", body).json["code"] == "insufficient_scope"
    assert api(bob).post("impls/from_run", body).status == 404


def test_somebody_elses_own_scorer_can_not_be_taken(alice: User, bob: User, api: Door) -> None:
    official = launched.catalogue(alice)
    launched.ended(alice, scorer=official, visibility="public")
    own = launched.impl(official.subset, bob)
    run = launched.ended(bob, scorer=own, impl=own.id, visibility="public")
    refused = api(alice).post("impls/from_run", {"from_run": str(run.id)})
    assert (refused.status, refused.json["code"]) == (409, "impl_unavailable")
    assert not ImplRegistration.objects.filter(owner=alice, impl=own).exists()
