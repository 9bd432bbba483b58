"""A verdict stays with its impl, and everybody who uses the impl reads it."""

import pytest

from registry.models import Impl, Subset
from runs.compute.base import ComputeFault
from runs.selftest import keeping
from runs.selftest.keeping import prove_impl
from tests.factories import planned, publish
from tests.registry.scorer_corpus import scorer

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = planned.sums(6)


@pytest.fixture
def made(alice, api):
    """(an API client, an impl that passes, the same that fails)."""
    client = api(alice)
    bm = client.post("benchmarks", {"name": "Sums"}).json
    sub = client.post(f"benchmarks/{bm['id']}/subsets", {"slug": "all", "tasks": ROWS}).json
    good = client.post("impls", {"subset": sub["id"], "code": scorer("return float(output == expected)")}).json
    bad = client.post("impls", {"subset": sub["id"], "grader": {"kind": "regex", "pattern": "^."}}).json
    return client, good, bad


def test_it_proves_a_registered_impl_and_shows_its_badge(made) -> None:
    client, good, bad = made
    assert (good["badge"], good["verdict"]) == (None, None)
    verdict = prove_impl(good["id"])
    assert (verdict["badge"], verdict["rows"], verdict["of"], verdict["revision"]) == ("proven", 6, 6, 1)
    told = client.get(f"impls/{good['id']}").json
    assert told["badge"] == "proven"
    assert told["verdict"] == {name: verdict[name] for name in ("ok", "badge", "rows", "of", "at", "checks")}
    assert prove_impl(bad["id"])["badge"] == "gameable"
    listed = client.get(f"impls?subset={good['subset']}").json["data"]
    assert {one["id"]: one["badge"] for one in listed} == {good["id"]: "proven", bad["id"]: "gameable"}


def test_a_good_verdict_is_found_once_and_a_bad_one_again(made) -> None:
    _, good, bad = made
    assert prove_impl(good["id"]) == prove_impl(good["id"])
    assert prove_impl(bad["id"])["at"] != prove_impl(bad["id"])["at"]
    Impl.objects.filter(pk=good["id"]).update(verdict={**Impl.objects.get(pk=good["id"]).verdict, "version": 0})
    assert keeping.kept_verdict(Impl.objects.get(pk=good["id"])) is None


def test_new_rows_want_a_new_verdict(alice, api) -> None:
    client = api(alice)
    bm = client.post("benchmarks", {"name": "Sums"}).json
    sub = client.post(f"benchmarks/{bm['id']}/subsets", {"slug": "all", "tasks": ROWS, "rolling": True}).json
    impl = client.post("impls", {"subset": sub["id"], "grader": {"kind": "exact"}}).json["id"]
    assert prove_impl(impl)["rows"] == 6
    added = client.post(f"subsets/{sub['id']}/tasks", {"tasks": [{"task_id": "new", "input": "?", "expected": "7"}]})
    assert added.status in (200, 201), added.content
    verdict = prove_impl(impl)
    assert (verdict["rows"], verdict["revision"]) == (7, 2)
    assert prove_impl(impl, revision=1)["rows"] == 6


def test_a_sample_is_fair_and_the_same_each_time(made, monkeypatch) -> None:
    _, good, _ = made
    monkeypatch.setattr(keeping, "MOST_ROWS", 4)
    impl = Impl.objects.select_related("subset").get(pk=good["id"])
    subject = keeping.subject_of(impl)
    assert (len(subject.rows), subject.of) == (4, 6)
    assert subject.rows == keeping.subject_of(impl).rows
    monkeypatch.setattr(keeping, "MOST_BYTES", 1)
    assert len(keeping.subject_of(impl).rows) == 1


def test_examples_are_for_those_who_may_see_answers(made, alice, bob, api) -> None:
    client, _, bad = made
    prove_impl(bad["id"])
    path = f"registry/impls/{bad['id']}"
    publish.everything()

    def examples(reader) -> list[object]:
        return [one for one in reader.get(path).json["verdict"]["checks"] if "example" in one]

    assert examples(api(bob))
    Subset.objects.update(answers="closed")
    assert examples(api(bob)) == examples(api(None)) == []
    assert examples(client)


def test_the_page_shows_what_was_found(made, alice, client) -> None:
    _, good, bad = made
    client.force_login(alice)
    page = client.get(f"/registry/scorers/{good['id']}").content.decode()
    assert "Not tested yet" in page
    prove_impl(good["id"])
    page = client.get(f"/registry/scorers/{good['id']}").content.decode()
    assert '<span class="badge good">proven</span>' in page
    assert "Tried on 6 of 6 rows" in page
    assert "The right answer scores 1 on 6 of 6 rows." in page
    prove_impl(bad["id"])
    page = client.get(f"/registry/scorers/{bad['id']}").content.decode()
    assert '<span class="badge bad">gameable</span>' in page
    assert "For example, task" in page


def test_pasted_code_is_warned_of_on_its_page(made, alice, client) -> None:
    _, good, _ = made
    client.force_login(alice)
    sent = {"kind": "code", "code": scorer("return 1.0"), "label": "x", "pass_threshold": "1", "isolation": "batch"}
    answer = client.post(f"/registry/subsets/{good['subset']}/scorer", sent, follow=True)
    page = answer.content.decode()
    assert "Line 14: score() returns 1 for whatever it is given." in page, page[:3000]


def test_j22_no_sandbox_is_no_verdict(made, monkeypatch) -> None:
    _, good, _ = made

    async def refused(self, spec):
        raise ComputeFault("no sandbox here")

    monkeypatch.setattr("runs.compute.local.LocalCompute.open", refused)
    with pytest.raises(ComputeFault):
        prove_impl(good["id"])
    assert Impl.objects.get(pk=good["id"]).verdict is None
