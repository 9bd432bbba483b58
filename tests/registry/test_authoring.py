"""Benchmarks and subsets over HTTP."""

import threading
from datetime import timedelta

import pytest
from django.db import connections

from accounts.principal import Principal
from kernel.clock import now
from kernel.errors import DomainError
from registry import authoring, queries, uploads
from registry.models import Benchmark, Subset, Task
from tests.factories import publish


# --- benchmarks ---
def test_it_creates_edits_and_deletes_a_benchmark(author):
    made = author.benchmark(description="d", category="tool-use", tags=["function-calling", "parallel"])
    assert made["object"] == "benchmark"
    assert made["id"].startswith("bm_")
    assert (made["visibility"], made["subsets"]) == ("private", [])
    assert made["owner"]["name"] == "Alice"
    path = f"benchmarks/{made['id']}"
    changed = author.client.patch(path, {"name": "Mirror", "tags": ["x"], "idempotency_key": "k"})
    assert (changed.json["name"], changed.json["tags"], changed.json["category"]) == ("Mirror", ["x"], "tool-use")
    assert author.client.delete(path).status == 204
    assert author.client.get(f"registry/benchmarks/{made['id']}").status == 404
    assert Benchmark.objects.get().deleted_at is not None


def test_it_needs_the_publish_scope(author, api, alice):
    mark = author.benchmark()
    sub = author.subset(mark["id"])
    reader = api(alice, "registry:read")
    calls = [
        ("POST", "benchmarks", {"name": "x"}),
        ("PATCH", f"benchmarks/{mark['id']}", {"name": "x"}),
        ("DELETE", f"benchmarks/{mark['id']}", None),
        ("POST", f"benchmarks/{mark['id']}/subsets", {"slug": "x", "rolling": True}),
        ("POST", f"subsets/{sub['id']}/tasks", {"tasks": []}),
        ("PATCH", f"subsets/{sub['id']}", {"name": "x"}),
        ("DELETE", f"subsets/{sub['id']}", None),
    ]
    for method, path, body in calls:
        answer = reader.call(method, path, body)
        assert (answer.status, answer.json["code"]) == (403, "insufficient_scope"), path
        assert api(None).call(method, path, body).status == 401


def test_it_hides_what_belongs_to_others(author, stranger, make_rows, same_404):
    mark = author.benchmark()
    sub = author.subset(mark["id"], rolling=True)
    pairs = [
        ("GET", "registry/benchmarks/{}", mark["id"], "bm_0", None),
        ("PATCH", "benchmarks/{}", mark["id"], "bm_0", {"name": "x"}),
        ("DELETE", "benchmarks/{}", mark["id"], "bm_0", None),
        ("POST", "benchmarks/{}/subsets", mark["id"], "bm_0", {"slug": "x", "tasks": make_rows(1)}),
        ("GET", "registry/subsets/{}", sub["id"], "sub_0", None),
        ("POST", "subsets/{}/tasks", sub["id"], "sub_0", {"tasks": make_rows(1, 9)}),
        ("PATCH", "subsets/{}", sub["id"], "sub_0", {"name": "x"}),
        ("DELETE", "subsets/{}", sub["id"], "sub_0", None),
    ]
    for method, path, theirs, unknown, body in pairs:
        same_404(stranger.client.call(method, path.format(theirs), body),
                 stranger.client.call(method, path.format(unknown), body))  # fmt: skip
    assert Task.objects.count() == 3


def test_it_lets_nobody_edit_a_public_benchmark_but_its_owner(author, stranger, api):
    mark = author.benchmark(tags=["a"])
    publish.everything()
    assert stranger.client.get(f"registry/benchmarks/{mark['id']}").json["name"] == mark["name"]
    assert api(None).get(f"registry/benchmarks/{mark['id']}").status == 200
    assert stranger.client.patch(f"benchmarks/{mark['id']}", {"name": "mine"}).status == 404
    assert stranger.client.delete(f"benchmarks/{mark['id']}").status == 404
    assert b"alice@example.org" not in api(None).get(f"registry/benchmarks/{mark['id']}").content


@pytest.mark.parametrize("field", ["id", "owner", "visibility", "created_at", "subsets", "score"])
def test_a22_a_patch_takes_no_field_that_is_not_the_authors(author, field):
    mark = author.benchmark()
    refused = author.client.patch(f"benchmarks/{mark['id']}", {field: "public"})
    assert (refused.status, refused.json["code"]) == (422, "unknown_field")
    sub = author.subset(mark["id"])
    for more in (field, "slug", "task_count", "content_id", "benchmark", "state", "grader"):
        assert author.client.patch(f"subsets/{sub['id']}", {more: "x"}).json["code"] == "unknown_field"


@pytest.mark.parametrize("name", ["", "   "])
def test_it_says_that_a_name_must_not_be_blank(author, name):
    assert author.client.post("benchmarks", {"name": name}).json["detail"] == "name: Must not be blank."


def test_it_edits_only_what_was_read(author):
    mark = author.benchmark()
    got = author.client.get(f"registry/benchmarks/{mark['id']}?expand=subsets")
    author.subset(mark["id"])
    path = f"benchmarks/{mark['id']}"
    first = author.client.patch(path, {"name": "one"}, if_match=got.headers["ETag"])
    assert first.status == 200  # a new subset is no edit of the benchmark
    late = author.client.patch(path, {"name": "two"}, if_match=got.headers["ETag"])
    assert (late.status, late.json["code"]) == (412, "precondition_failed")
    now = author.client.get(f"registry/benchmarks/{mark['id']}")
    assert author.client.get(f"registry/benchmarks/{mark['id']}", if_none_match=now.headers["ETag"]).status == 304
    author.subset(mark["id"], slug="other", tasks=[{"task_id": "a", "input": 1}])
    assert author.client.get(f"registry/benchmarks/{mark['id']}", if_none_match=now.headers["ETag"]).status == 200


@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": "  "}, {"name": 5}, {"name": "x" * 201}, {"name": "x", "tags": [""]},
             {"name": "x", "nme": 1}, {"name": None}]
)  # fmt: skip
def test_it_refuses_a_bad_benchmark_as_a_problem(author, body):
    answer = author.client.post("benchmarks", body)
    assert answer.status == 422
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert not Benchmark.objects.exists()


def test_it_gives_the_same_answer_to_a_repeated_key(author):
    first = author.client.post("benchmarks", {"name": "x"}, idempotency_key="k")
    again = author.client.post("benchmarks", {"name": "x"}, idempotency_key="k")
    assert again.content == first.content
    assert Benchmark.objects.count() == 1
    path = f"benchmarks/{first.json['id']}/subsets"
    one = author.client.post(path, {"slug": "s", "tasks": [{"task_id": "a", "input": 1}]}, idempotency_key="s")
    two = author.client.post(path, {"slug": "s", "tasks": [{"task_id": "a", "input": 1}]}, idempotency_key="s")
    assert two.content == one.content
    assert Task.objects.count() == 1


# --- frozen subsets ---
def test_it_freezes_a_subset_at_creation(author, make_rows):
    mark = author.benchmark()
    sub = author.subset(mark["id"], tasks=make_rows(5), name="Five", description="d")
    assert sub["id"] == sub["content_id"]
    assert sub["id"].startswith("sub_")
    assert (sub["rolling"], sub["revision"], sub["task_count"], sub["state"]) == (False, 1, 5, "ready")
    assert sub["benchmark"] == mark["id"]
    assert sub["retired"] is False
    got = author.client.get(f"registry/subsets/{sub['id']}").json
    assert got == sub


def test_it_gives_the_same_tasks_the_same_id(author, make_rows):
    mark = author.benchmark()
    first = author.subset(mark["id"], tasks=make_rows(3))
    author.client.delete(f"subsets/{first['id']}")
    other = [dict(reversed(list(row.items()))) for row in make_rows(3)]  # key order is no content
    again = author.subset(mark["id"], slug="again", tasks=other)
    assert again["id"] == first["id"]
    assert (again["slug"], again["state"], again["task_count"]) == ("again", "ready", 3)
    elsewhere = author.subset(author.benchmark("other")["id"], tasks=make_rows(3))
    assert elsewhere["id"] != first["id"]


def test_it_names_the_subset_that_already_has_these_tasks(author, make_rows):
    mark = author.benchmark()
    first = author.subset(mark["id"])
    twin = author.client.post(f"benchmarks/{mark['id']}/subsets", {"slug": "twin", "tasks": make_rows(3)})
    assert (twin.status, twin.json["code"]) == (409, "subset_exists")
    assert first["id"] in twin.json["detail"]
    assert twin.json["subset"] == first["id"]
    assert Task.objects.count() == 3
    taken = author.client.post(f"benchmarks/{mark['id']}/subsets", {"slug": "parallel", "tasks": make_rows(2)})
    assert (taken.status, taken.json["code"]) == (409, "slug_taken")
    assert author.subset(author.benchmark("other")["id"], slug="parallel")["slug"] == "parallel"


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"slug": "x"}, ["body", "tasks"]),
        ({"slug": "x", "tasks": []}, ["body", "tasks"]),
        ({"slug": "", "tasks": [{"task_id": "a", "input": 1}]}, ["body", "slug"]),
        ({"slug": "a/b", "tasks": [{"task_id": "a", "input": 1}]}, ["body", "slug"]),
        ({"slug": "x", "rolling": True, "staged": True}, ["body", "staged"]),
        ({"slug": "x", "tasks": [{"task_id": "a", "input": 1}], "answers": "maybe"}, ["body", "answers"]),
        (
            {"slug": "x", "tasks": [{"task_id": "a", "input": 1}], "grader": {"kind": "magic"}},
            ["body", "grader", "kind"],
        ),
    ],
)
def test_it_refuses_a_bad_subset_as_a_problem(author, body, loc):
    mark = author.benchmark()
    answer = author.client.post(f"benchmarks/{mark['id']}/subsets", body)
    assert answer.status == 422, answer.content
    assert answer.json["errors"][0]["loc"] == loc
    assert not Subset.objects.exists()


# --- rolling subsets ---
def test_it_appends_revisions_and_freezes_one_way(author, make_rows):
    mark = author.benchmark()
    sub = author.subset(mark["id"], slug="daily", rolling=True, tasks=[])
    assert (sub["task_count"], sub["revision"], sub["content_id"]) == (0, 1, None)
    grown = author.client.post(f"subsets/{sub['id']}/tasks", {"tasks": make_rows(2)})
    assert (grown.status, grown.json["revision"], grown.json["task_count"]) == (200, 2, 2)
    assert (grown.json["id"], grown.json["appended"]) == (sub["id"], 2)
    author.client.post(f"subsets/{sub['id']}/tasks", {"tasks": make_rows(3, 2)})
    assert [row.task_id for row in queries.task_rows(sub["id"], 2)] == ["t0", "t1"]
    assert queries.task_count(sub["id"], 3) == 5
    frozen = author.client.patch(f"subsets/{sub['id']}", {"rolling": False})
    assert frozen.json["id"] == sub["id"]
    assert frozen.json["rolling"] is False
    assert frozen.json["content_id"].startswith("sub_")
    assert frozen.json["content_id"] != sub["id"]
    late = author.client.post(f"subsets/{sub['id']}/tasks", {"tasks": make_rows(1, 9)})
    assert (late.status, late.json["code"]) == (409, "subset_frozen")
    back = author.client.patch(f"subsets/{sub['id']}", {"rolling": True})
    assert (back.status, back.json["code"]) == (409, "subset_frozen")
    assert author.client.patch(f"subsets/{sub['id']}", {"rolling": False}).status == 200


def test_d27_an_append_changes_no_earlier_revision_and_no_frozen_subset(author, make_rows):
    mark = author.benchmark()
    rolling = author.subset(mark["id"], slug="r", rolling=True)
    before = queries.task_rows(rolling["id"], 1)
    author.client.post(f"subsets/{rolling['id']}/tasks", {"tasks": make_rows(2, 5)})
    assert queries.task_rows(rolling["id"], 1) == before
    assert queries.task_count(rolling["id"], 1) == 3
    frozen = author.subset(mark["id"], slug="f", tasks=make_rows(4))
    refused = author.client.post(f"subsets/{frozen['id']}/tasks", {"tasks": make_rows(1, 9)})
    assert (refused.status, refused.json["code"]) == (409, "subset_frozen")
    reopened = author.client.patch(f"subsets/{frozen['id']}", {"rolling": True})
    assert (reopened.status, reopened.json["code"]) == (409, "subset_frozen")


def test_it_will_not_freeze_an_empty_or_a_known_subset(author, make_rows):
    mark = author.benchmark()
    empty = author.subset(mark["id"], slug="e", rolling=True, tasks=[])
    assert author.client.patch(f"subsets/{empty['id']}", {"rolling": False}).status == 422
    author.subset(mark["id"], slug="f", tasks=make_rows(3))
    twin = author.subset(mark["id"], slug="r", rolling=True, tasks=make_rows(3))
    refused = author.client.patch(f"subsets/{twin['id']}", {"rolling": False})
    assert (refused.status, refused.json["code"]) == (409, "subset_exists")


def test_b10_a_retried_append_stores_its_rows_once(author, make_rows):
    sub = author.subset(author.benchmark()["id"], rolling=True)
    path, body = f"subsets/{sub['id']}/tasks", {"tasks": make_rows(2, 10)}
    first = author.client.post(path, body, idempotency_key="bugs-append-2026-04-01")
    again = author.client.post(path, body, idempotency_key="bugs-append-2026-04-01")
    assert again.content == first.content
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Task.objects.count() == 5
    body["tasks"][1]["expected"] = "changed"
    other = author.client.post(path, body, idempotency_key="bugs-append-2026-04-01")
    assert (other.status, other.json["code"]) == (422, "idempotency_key_reused")
    assert Task.objects.count() == 5
    assert author.client.get(f"registry/subsets/{sub['id']}").json["revision"] == 2


def test_it_refuses_an_append_of_nothing(author):
    sub = author.subset(author.benchmark()["id"], rolling=True)
    assert author.client.post(f"subsets/{sub['id']}/tasks", {"tasks": []}).status == 422
    refused = author.client.post(f"subsets/{sub['id']}/tasks", {"tasks": [], "complete": True})
    assert refused.json["errors"][0]["loc"] == ["body", "complete"]


# --- staged uploads ---
def test_it_takes_a_staged_upload_in_pieces(author, make_rows):
    mark = author.benchmark()
    staged = author.subset(mark["id"], slug="big", tasks=make_rows(1000), staged=True)
    assert (staged["state"], staged["content_id"]) == ("staging", None)
    path = f"subsets/{staged['id']}/tasks"
    more = author.client.post(path, {"tasks": make_rows(1000, 1000)})
    assert (more.json["state"], more.json["id"]) == ("staging", staged["id"])
    done = author.client.post(path, {"tasks": make_rows(500, 2000), "complete": True}, idempotency_key="last")
    assert done.status == 200
    assert (done.json["state"], done.json["task_count"], done.json["revision"]) == ("ready", 2500, 1)
    assert done.json["id"] == done.json["content_id"] != staged["id"]
    assert author.client.get(f"registry/subsets/{staged['id']}").status == 404
    rows = queries.task_rows(done.json["id"], 1)
    assert [row.task_id for row in rows] == [f"t{index}" for index in range(2500)]
    assert [row.position for row in rows] == list(range(2500))
    replayed = author.client.post(path, {"tasks": make_rows(500, 2000), "complete": True}, idempotency_key="last")
    assert replayed.content == done.content
    late = author.client.post(f"subsets/{done.json['id']}/tasks", {"tasks": make_rows(1, 9999)})
    assert late.json["code"] == "subset_frozen"


def test_it_gives_a_staged_upload_the_id_of_its_whole(author, make_rows):
    mark = author.benchmark()
    whole = author.subset(mark["id"], tasks=make_rows(6))
    author.client.delete(f"subsets/{whole['id']}")
    staged = author.subset(mark["id"], slug="again", tasks=make_rows(2), staged=True)
    author.client.post(f"subsets/{staged['id']}/tasks", {"tasks": make_rows(4, 2)})
    done = author.client.post(f"subsets/{staged['id']}/tasks", {"complete": True}).json
    assert done["id"] == whole["id"]
    assert Task.objects.filter(subset_id=whole["id"]).count() == Task.objects.count() == 6


def test_it_uses_no_subset_whose_upload_is_unfinished(author, make_rows, scorer):
    staged = author.subset(author.benchmark()["id"], tasks=make_rows(2), staged=True)
    refused = author.client.post("impls", {"subset": staged["id"], "code": scorer})
    assert (refused.status, refused.json["code"]) == (409, "subset_incomplete")
    assert author.client.delete(f"subsets/{staged['id']}").status == 204
    assert not Task.objects.exists()
    assert not Subset.objects.exists()


def test_an_abandoned_upload_gives_its_slug_back(author, make_rows):
    mark = author.benchmark()
    staged = author.subset(mark["id"], slug="main", tasks=make_rows(2), staged=True)
    path = f"benchmarks/{mark['id']}/subsets"
    assert author.client.post(path, {"slug": "main", "tasks": make_rows(1)}).json["code"] == "slug_taken"
    assert uploads.sweep_abandoned() == 0
    Subset.objects.update(updated_at=now() - uploads.ABANDONED_AFTER - timedelta(minutes=1))
    again = author.subset(mark["id"], slug="main", tasks=make_rows(1))
    assert again["state"] == "ready"
    assert not Subset.objects.filter(pk=staged["id"]).exists()


def test_the_sweeper_removes_abandoned_uploads_and_nothing_else(author, make_rows):
    mark = author.benchmark()
    old = author.subset(mark["id"], slug="old", tasks=make_rows(2), staged=True)
    fresh = author.subset(mark["id"], slug="fresh", tasks=make_rows(3), staged=True)
    ready = author.subset(mark["id"], slug="ready", tasks=make_rows(4))
    long_ago = now() - uploads.ABANDONED_AFTER - timedelta(minutes=1)
    Subset.objects.filter(pk__in=[old["id"], ready["id"]]).update(updated_at=long_ago)
    assert uploads.sweep_abandoned() == 1
    assert set(Subset.objects.values_list("pk", flat=True)) == {fresh["id"], ready["id"]}
    assert Task.objects.count() == 7


def test_it_shows_an_unfinished_upload_to_its_owner_only(author, stranger, make_rows):
    mark = author.benchmark()
    staged = author.subset(mark["id"], tasks=make_rows(2), staged=True)
    publish.everything()
    assert author.client.get(f"registry/subsets/{staged['id']}").json["state"] == "staging"
    assert stranger.client.get(f"registry/subsets/{staged['id']}").status == 404
    assert stranger.client.get(f"registry/benchmarks/{mark['id']}").json["subsets"] == []


def test_it_finishes_no_upload_without_tasks(author):
    staged = author.subset(author.benchmark()["id"], tasks=[], staged=True)
    refused = author.client.post(f"subsets/{staged['id']}/tasks", {"complete": True})
    assert refused.status == 422
    assert Subset.objects.get().state == "staging"


def test_a_subset_deleted_frees_its_slug_and_keeps_its_rows(author, make_rows):
    mark = author.benchmark()
    sub = author.subset(mark["id"])
    assert author.client.delete(f"subsets/{sub['id']}").status == 204
    assert author.client.get(f"registry/subsets/{sub['id']}").status == 404
    assert Task.objects.filter(subset_id=sub["id"]).count() == 3
    assert author.subset(mark["id"], tasks=make_rows(1))["slug"] == sub["slug"]


@pytest.mark.django_db(transaction=True)
def test_it_serialises_appends(alice):
    who = Principal(alice, frozenset(), "pat_test")
    mark = authoring.create_benchmark(who, "x")
    sub = authoring.create_subset(who, mark.pk, "r", rolling=True)
    told: list[str] = []
    start = threading.Barrier(4)

    def append(number: int) -> None:
        start.wait()
        try:
            # every second one brings an id that its neighbour brings too
            tasks = [{"task_id": f"own{number}", "input": 1}, {"task_id": f"shared{number // 2}", "input": 1}]
            authoring.append_tasks(who, sub.pk, tasks)
            told.append("done")
        except DomainError as error:
            told.append(error.code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=append, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == ["done", "done", "duplicate_task_id", "duplicate_task_id"]
    assert sorted(Task.objects.values_list("position", flat=True)) == [0, 1, 2, 3]
    assert Subset.objects.get().revision == 3
