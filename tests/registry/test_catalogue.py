"""Reading the catalogue over HTTP."""

from tests.factories import publish


def test_it_lists_ones_own_and_the_public(author, stranger, api, alice):
    mine = author.benchmark("mine", tags=["a", "b"], category="x")
    theirs = stranger.benchmark("theirs", tags=["b"])
    public = stranger.benchmark("public", tags=["b"])
    publish.benchmark(public["id"])
    listed = author.client.get("registry/benchmarks")
    assert listed.json["object"] == "list"
    assert [one["name"] for one in listed.json["data"]] == ["public", "mine"]
    assert theirs["id"] not in listed.content.decode()
    assert [one["name"] for one in api(None).get("registry/benchmarks").json["data"]] == ["public"]
    assert [one["id"] for one in author.client.get("registry/benchmarks?tag=a").json["data"]] == [mine["id"]]
    assert len(author.client.get("registry/benchmarks?tag=b").json["data"]) == 2
    assert author.client.get("registry/benchmarks?category=x&name=mine").json["data"][0]["id"] == mine["id"]
    assert [one["name"] for one in author.client.get("registry/benchmarks?sort=name").json["data"]] == [
        "mine",
        "public",
    ]
    assert api(alice, "runs:read").get("registry/benchmarks").json["code"] == "insufficient_scope"


def test_it_pages(author, stranger):
    for index in range(5):
        author.benchmark(f"b{index}")
    first = author.client.get("registry/benchmarks?limit=2&sort=name")
    second = author.client.get(f"registry/benchmarks?limit=2&sort=name&page_token={first.json['next_page_token']}")
    third = author.client.get(f"registry/benchmarks?limit=2&sort=name&page_token={second.json['next_page_token']}")
    names = [one["name"] for page in (first, second, third) for one in page.json["data"]]
    assert names == [f"b{index}" for index in range(5)]
    assert third.json["next_page_token"] is None
    token = first.json["next_page_token"]
    foreign = stranger.client.get(f"registry/benchmarks?limit=2&sort=name&page_token={token}")
    assert (foreign.status, foreign.json["code"]) == (400, "invalid_page_token")


def test_it_expands_and_selects(author):
    mark = author.benchmark()
    sub = author.subset(mark["id"])
    path = f"registry/benchmarks/{mark['id']}"
    assert author.client.get(path).json["subsets"] == [sub["id"]]
    assert author.client.get(f"{path}?expand=subsets").json["subsets"] == [sub]
    assert author.client.get("registry/benchmarks?expand=subsets").json["data"][0]["subsets"] == [sub]
    assert author.client.get(f"registry/subsets/{sub['id']}?expand=benchmark").json["benchmark"]["name"] == mark["name"]
    assert author.client.get(f"{path}?fields=name").json == {
        "object": "benchmark",
        "id": mark["id"],
        "name": mark["name"],
    }
    made = author.impl(sub["id"])
    assert author.client.get(f"impls/{made['id']}?expand=subset").json["subset"]["id"] == sub["id"]


def test_a19_it_expands_nothing_else(author):
    mark = author.benchmark()
    for path in (f"registry/benchmarks/{mark['id']}?expand=owner.email", "registry/benchmarks?expand=owner"):
        refused = author.client.get(path)
        assert (refused.status, refused.json["code"]) == (400, "invalid_expand")
    assert author.client.get(f"registry/benchmarks/{mark['id']}?fields=secret").json["code"] == "invalid_parameter"
    assert author.client.get(f"registry/benchmarks/{mark['id']}?colour=red").json["code"] == "invalid_parameter"
    assert author.client.get("registry/benchmarks?colour=red").json["code"] == "invalid_filter"
    assert author.client.get("registry/benchmarks?sort=owner").json["code"] == "invalid_sort"
    assert author.client.get("impls?limit=-1").json["code"] == "invalid_parameter"


def test_it_shows_no_deleted_subset(author):
    mark = author.benchmark()
    sub = author.subset(mark["id"])
    author.client.delete(f"subsets/{sub['id']}")
    assert author.client.get(f"registry/benchmarks/{mark['id']}").json["subsets"] == []
    made = author.subset(mark["id"], slug="again")
    author.client.delete(f"benchmarks/{mark['id']}")
    assert author.client.get(f"registry/subsets/{made['id']}").status == 404


def test_it_answers_the_same_number_of_queries_for_many(author, django_assert_max_num_queries):
    mark = author.benchmark()
    sub = author.subset(mark["id"])
    for index in range(4):
        author.benchmark(f"b{index}")
        author.impl(sub["id"], pass_threshold=index / 10)
    with django_assert_max_num_queries(5):
        author.client.get("registry/benchmarks?expand=subsets")
    with django_assert_max_num_queries(6):
        author.client.get(f"impls?subset={sub['id']}")


def test_the_openapi_document_names_each_operation_once(api, db):
    document = api(None).get("openapi.json").json
    names = [one["operationId"] for path in document["paths"].values() for one in path.values()]
    assert len(names) == len(set(names))
    assert "/v1/registry/impls/{impl_id}/code" in document["paths"]
