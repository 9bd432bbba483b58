"""Scorers over HTTP."""

import sys
from hashlib import sha256

import pytest

from accounts.principal import Principal
from kernel.errors import DomainError
from registry import queries
from registry.models import Impl, ImplRegistration
from tests.factories import publish


@pytest.fixture
def sub(author):
    return author.subset(author.benchmark()["id"])


def acting(user) -> Principal:
    return Principal(user, frozenset(), "pat_test")


def test_it_registers_lists_edits_and_deletes_a_scorer(author, sub, scorer):
    made = author.impl(sub["id"], label="strict-set scorer v1", language="python", description="d",
                       benchmark=sub["benchmark"])  # fmt: skip
    assert made["object"] == "impl"
    assert made["id"].startswith("imp_")
    assert made["code_sha256"] == sha256(scorer.encode()).hexdigest()
    assert (made["pass_threshold"], made["network"], made["judge"], made["official"]) == (1.0, [], None, True)
    path = f"impls/{made['id']}"
    assert author.client.get(path).json == author.client.get(f"registry/{path}").json == made
    listed = author.client.get(f"impls?subset={sub['id']}").json["data"]
    assert listed == [made]
    changed = author.client.patch(path, {"label": "v2", "idempotency_key": "k"})
    assert (changed.json["label"], changed.json["id"]) == ("v2", made["id"])
    for field in ("code", "pass_threshold", "id", "official", "subset"):
        assert author.client.patch(path, {field: "x"}).json["code"] == "unknown_field"
    assert author.client.delete(path).status == 204
    assert author.client.get(path).status == 404
    assert author.client.get("impls").json["data"] == []
    assert Impl.objects.count() == 1  # what graded a run stays


def test_it_reads_the_code_back(author, sub, scorer):
    made = author.impl(sub["id"])
    for path in (f"impls/{made['id']}/code", f"registry/impls/{made['id']}/code"):
        text = author.client.get(path)
        assert text.content.decode() == scorer
        assert text.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert text.headers["X-Content-Type-Options"] == "nosniff"
        wrapped = author.client.get(path, accept="application/json")
        assert wrapped.json == {
            "object": "impl_code",
            "id": made["id"],
            "code": scorer,
            "sha256": made["code_sha256"],
        }


def test_it_shares_the_bytes_and_keeps_labels_apart(author, stranger, sub):
    mine = author.impl(sub["id"], label="mine")
    publish.everything()
    theirs = stranger.impl(sub["id"], label="theirs")
    assert mine["id"] == theirs["id"]
    assert Impl.objects.count() == 1
    assert stranger.client.get(f"impls/{mine['id']}").json["label"] == "theirs"
    assert author.client.get(f"impls/{mine['id']}").json["label"] == "mine"
    assert stranger.client.get(f"impls?subset={sub['id']}").json["data"] == [theirs]
    assert theirs["official"] is True  # its bytes are the owner's too
    stranger.client.delete(f"impls/{mine['id']}")
    assert author.client.get(f"impls/{mine['id']}").status == 200
    assert stranger.client.get(f"impls/{mine['id']}").json["label"] == "mine"  # the official one is still to be seen
    own = stranger.impl(sub["id"], code=mine["code_sha256"] and author_code("0.0"))
    assert own["official"] is False
    assert author.client.get(f"impls/{own['id']}").status == 404


def author_code(score: str) -> str:
    return (
        "from bench_task import BenchTask\nclass Task(BenchTask):\n"
        f"    def solve(self, i, input): return ''\n    def score(self, i, o, e): return {score}\n"
    )


def test_registering_again_renames_at_most(author, sub):
    first = author.impl(sub["id"], label="a", description="d")
    again = author.impl(sub["id"], label="b")
    assert (again["id"], again["label"], again["description"]) == (first["id"], "b", "d")
    assert ImplRegistration.objects.count() == 1


def test_it_needs_scopes_and_hides_foreign_scorers(author, stranger, api, alice, sub, scorer, same_404):
    made = author.impl(sub["id"])
    path = f"impls/{made['id']}"
    reader = api(alice, "registry:read")
    assert reader.get(path).status == 200
    for method, body in (("PATCH", {"label": "x"}), ("DELETE", None)):
        assert reader.call(method, path, body).json["code"] == "insufficient_scope"
    assert reader.post("impls", {"subset": sub["id"], "code": scorer}).status == 403
    assert api(alice, "runs:read").get("impls").status == 403
    assert api(None).get("impls").status == 401
    for method, tail, body in (("GET", "", None), ("GET", "/code", None), ("PATCH", "", {"label": "x"}),
                               ("DELETE", "", None)):  # fmt: skip
        same_404(
            stranger.client.call(method, path + tail, body), stranger.client.call(method, f"impls/imp_0{tail}", body)
        )
    same_404(stranger.client.post("impls", {"subset": sub["id"], "code": scorer}),
             stranger.client.post("impls", {"subset": "sub_0", "code": scorer}))  # fmt: skip
    assert stranger.client.get(f"impls?subset={sub['id']}").status == 404


def test_it_gives_the_same_answer_to_a_repeated_key(author, sub, scorer):
    body = {"subset": sub["id"], "code": scorer, "label": "x"}
    first = author.client.post("impls", body, idempotency_key="k")
    assert author.client.post("impls", body, idempotency_key="k").content == first.content
    assert author.client.post("impls", {**body, "label": "y"}, idempotency_key="k").status == 422


@pytest.mark.parametrize(
    ("code", "line", "word"),
    [
        ("from bench_task import BenchTask\n\nclass Task(BenchTask)\n  pass", 3, "':'"),
        ("x = 1", 1, "BenchTask"),
        ("class Task:\n    pass", 1, "BenchTask"),
        ("class Task(BenchTask):\n\tif x:\n        pass", 3, ""),
        ("x = (" * 10_000 + ")" * 10_000, 1, ""),
        ("x = " + "-" * 200_000 + "1", 1, ""),
        ("return 1", 1, "return"),
    ],
)
def test_i18_code_that_can_not_be_a_scorer_is_refused_with_its_line(author, sub, code, line, word):
    refused = author.client.post("impls", {"subset": sub["id"], "code": code})
    assert (refused.status, refused.json["code"]) == (422, "validation_failed")
    assert refused.json["errors"][0]["loc"] == ["body", "code"]
    assert refused.json["line"] == line
    assert word in refused.json["detail"]
    assert not Impl.objects.exists()


def test_i18_a_syntax_error_names_its_column_too(author, sub):
    code = "from bench_task import BenchTask\nclass Task(BenchTask):\n    def score(self, index, output expected):\n"
    refused = author.client.post("impls", {"subset": sub["id"], "code": code}).json
    assert (refused["line"], refused["column"]) == (3, 35)
    assert "line 3, column 35" in refused["detail"]


SOLVE = "    def solve(self, index, input):\n        return ''\n"
SCORE = "    def score(self, index, output, expected):\n        return 1.0\n"
HEAD = "from bench_task import BenchTask\n\n\n"


@pytest.mark.parametrize(
    ("code", "line", "says"),
    [
        (HEAD + "class Task(BenchTask):\n" + SOLVE, 4, "class Task has no score()"),
        (HEAD + "class Task(BenchTask):\n" + SCORE, 4, "class Task has no solve()"),
        (HEAD + "class Task(BenchTask):\n    pass\n", 4, "no solve() and no score()"),
        (HEAD + "class Task(BenchTask):\n" + SOLVE.replace("''", "type(eval(input))"), 4, "no score()"),
        ("import bench_task\nclass Task(bench_task.BenchTask):\n" + SOLVE, 2, "no score()"),
        ("from bench_task import BenchTask as Base\nclass Mine(Base):\n" + SCORE, 2, "class Mine has no solve()"),
        (HEAD + "class A(BenchTask):\n" + SOLVE + "class B(A):\n    pass\n", 7, "class B has no score()"),
        (HEAD + "class Task(BenchTask):\n" + SOLVE + "def score(self):\n    return 1\n", 4, "no score()"),
    ],
)
def test_i18_a_scorer_without_solve_or_score_is_refused_at_once(author, sub, code, line, says):
    refused = author.client.post("impls", {"subset": sub["id"], "code": code})
    assert (refused.status, refused.json["code"], refused.json["line"]) == (422, "validation_failed", line)
    assert says in refused.json["detail"]


@pytest.mark.parametrize(
    "code",
    [
        HEAD + "class A(BenchTask):\n" + SOLVE + "class B(A):\n" + SCORE,
        HEAD + "class Mixin:\n" + SCORE + "class Task(Mixin, BenchTask):\n" + SOLVE,
        HEAD + "from helpers import Mixin\nclass Task(Mixin, BenchTask):\n" + SOLVE,
        HEAD + "class Task(BenchTask):\n" + SOLVE + "Task.score = lambda self, index, output, expected: 1.0\n",
        HEAD + "class Task(BenchTask):\n" + SOLVE + "    score = lambda self, index, output, expected: 1.0\n",
        HEAD + "class Task(BenchTask):\n    if True:\n" + SOLVE.replace("    ", "        ") + SCORE,
        HEAD + "class Task(BenchTask):\n    async def solve(self, index, input):\n        return ''\n" + SCORE,
        HEAD + "Base = BenchTask\nclass Task(Base):\n    pass\n",
        HEAD + "class Task(BenchTask):\n    pass\nsetattr(Task, 'solve', len)\n",
        HEAD + "Task = type('Task', (BenchTask,), {})\nclass Other(BenchTask):\n    pass\n",
        HEAD + "class Task(BenchTask):\n" + SOLVE + "    judge = score_judged = None\n",
    ],
)
def test_i18_what_can_not_be_seen_from_outside_is_accepted(author, sub, code):
    assert author.impl(sub["id"], code=code)["id"].startswith("imp_")


def test_i18_code_that_is_too_large_or_no_text_is_refused(author, sub):
    assert author.client.post("impls", {"subset": sub["id"], "code": "#" * (8 << 20)}).status == 413
    assert author.client.post("impls", {"subset": sub["id"], "code": "#" * ((1 << 20) + 1)}).status == 422
    assert author.client.post("impls", raw=b'{"subset":"%s","code":"a\\u0000"}' % sub["id"].encode()).status == 422
    latin = b'{"subset":"%s","code":"# -*- coding: latin-1 -*-\xe9"}' % sub["id"].encode()
    assert author.client.post("impls", raw=latin).status == 400
    assert author.client.post("impls", {"subset": sub["id"], "code": "\ufeffx = 1"}).status == 422
    assert author.client.post("impls", {"subset": sub["id"], "code": "  \n"}).status == 422
    assert author.client.post("impls", {"subset": sub["id"]}).json["code"] == "mutually_exclusive"


def test_i18_registering_runs_nothing(author, sub, scorer, tmp_path):
    trap = f"open({str(tmp_path / 'ran')!r}, 'w').close()\nimport sys; sys.modules['trapped'] = 1\n"
    author.impl(sub["id"], code=trap + scorer)
    assert not (tmp_path / "ran").exists()
    assert "trapped" not in sys.modules


def test_i18_labels_come_back_as_they_were_written(author, sub):
    label = "<script>alert(1)</script>"
    made = author.client.post("impls", {"subset": sub["id"], "code": author_code("1"), "label": label})
    assert made.json["label"] == label
    assert made.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("fields", "loc"),
    [
        ({"pass_threshold": 1.5}, ["body", "pass_threshold"]),
        ({"pass_threshold": "1"}, ["body", "pass_threshold"]),
        ({"network": ["https://a.example"]}, ["body", "network", 0]),
        ({"network": ["*.com"]}, ["body", "network", 0]),
        ({"isolation": "none"}, ["body", "isolation"]),
        ({"language": "go"}, ["body", "language"]),
        ({"judge": {"model": "m"}}, ["body", "judge", "provider"]),
        ({"benchmark": "bm_0"}, ["body", "benchmark"]),
        ({"label": "x" * 201}, ["body", "label"]),
    ],
)
def test_it_refuses_bad_fields_as_a_problem(author, sub, scorer, fields, loc):
    refused = author.client.post("impls", {"subset": sub["id"], "code": scorer, **fields})
    assert refused.status == 422
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert refused.json["errors"][0]["loc"] == loc
    assert not Impl.objects.exists()


def test_what_decides_a_score_is_part_of_the_id(author, sub):
    made = [
        author.impl(sub["id"], **fields)["id"]
        for fields in ({}, {"pass_threshold": 0.5}, {"network": ["a.example"]}, {"isolation": "task"},
                       {"judge": {"model": "m", "provider": "openai"}})
    ]  # fmt: skip
    assert len(set(made)) == 5
    assert author.impl(sub["id"], network=["A.example", "a.example"])["id"] == made[2]
    assert author.impl(sub["id"], pass_threshold=1)["id"] == made[0]


# --- which scorer a launch means ---
def test_it_finds_the_scorer_that_a_launch_means(author, stranger, alice, bob, sub):
    subset = queries.subset(acting(alice), sub["id"])
    with pytest.raises(DomainError) as caught:
        queries.impl(acting(alice), None, subset)
    assert caught.value.code == "not_found"
    one = author.impl(sub["id"], code=author_code("1"), label="strict")["id"]
    two = author.impl(sub["id"], code=author_code("2"), label="loose")["id"]
    publish.everything()
    own = stranger.impl(sub["id"], code=author_code("3"), label="strict")["id"]

    def found(user, ref):
        return queries.impl(acting(user), ref, subset).pk

    assert found(alice, None) == found(bob, None) == two
    assert found(alice, "latest") == two
    assert found(bob, "latest") == own
    assert found(alice, "latest:strict") == one
    assert found(bob, "latest:strict") == own
    assert found(bob, "latest:official") == two
    assert found(bob, one) == one
    for user, ref in ((alice, own), (alice, "imp_0"), (bob, "latest:none")):
        with pytest.raises(DomainError) as caught:
            found(user, ref)
        assert caught.value.code == "not_found"
    other = author.subset(sub["benchmark"], slug="other", tasks=[{"task_id": "a", "input": 1}])
    with pytest.raises(DomainError) as caught:
        queries.impl(acting(alice), one, queries.subset(acting(alice), other["id"]))
    assert caught.value.code == "validation_failed"


def test_a_subset_with_a_grader_has_its_scorer_at_once(author, alice, make_rows):
    mark = author.benchmark()["id"]
    sub = author.subset(mark, grader={"kind": "exact"})
    subset = queries.subset(acting(alice), sub["id"])
    graded = queries.impl(acting(alice), None, subset)
    assert graded.grader["kind"] == "exact"
    assert author.client.get(f"impls/{graded.pk}").json["label"] == "grader: exact"
    newer = author.impl(sub["id"])["id"]
    assert queries.impl(acting(alice), None, subset).pk == graded.pk  # the subset's own comes first
    newer = author.client.post("impls", {"subset": sub["id"], "grader": {"kind": "contains"}}).json["id"]
    assert queries.impl(acting(alice), None, subset).pk == graded.pk  # before another grader too
    assert queries.impl(acting(alice), "latest", subset).pk == newer
    staged = author.subset(mark, slug="staged", tasks=make_rows(2), staged=True, grader={"kind": "numeric"})
    done = author.client.post(f"subsets/{staged['id']}/tasks", {"complete": True}).json
    assert queries.impl(acting(alice), None, queries.subset(acting(alice), done["id"])).grader["kind"] == "numeric"
    rolling = author.subset(mark, slug="rolling", tasks=[], rolling=True, grader={"kind": "contains"})
    assert queries.impl(acting(alice), None, queries.subset(acting(alice), rolling["id"])).grader["kind"] == "contains"


def test_a_grader_registered_as_an_impl_is_the_same_scorer(author, alice):
    sub = author.subset(author.benchmark()["id"], grader={"kind": "exact"})
    made = author.client.post("impls", {"subset": sub["id"], "grader": {"kind": "exact", "strip_reasoning": True}})
    subset = queries.subset(acting(alice), sub["id"])
    assert made.json["id"] == queries.impl(acting(alice), None, subset).pk


def test_closed_answers_refuse_foreign_scorers(author, stranger, sub, scorer):
    publish.everything()
    author.client.patch(f"subsets/{sub['id']}", {"answers": "closed"})
    refused = stranger.client.post("impls", {"subset": sub["id"], "code": scorer})
    assert (refused.status, refused.json["code"]) == (422, "not_available")
    assert author.impl(sub["id"])["official"] is True
