"""The endpoints of runs: each works, wants its scope, hides from strangers, refuses bad input, repeats its answer."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from accounts.models import User
from registry.models import Benchmark
from runs import destroying, finishing, states
from runs.models import Run, RunEvent, TaskResult
from tests.conftest import Answer, Api
from tests.factories import launched

pytestmark = pytest.mark.django_db
Door = Callable[..., Api]
UNKNOWN = "01960000-0000-7000-8000-000000000000"


def body(owner: User, **more: Any) -> dict[str, Any]:
    scorer = launched.catalogue(owner)
    return {"benchmark": scorer.subset.benchmark_id, "subset": scorer.subset_id, "sut": launched.LOCAL, **more}


def problem(answer: Answer, status: int, code: str) -> dict[str, Any]:
    assert (answer.status, answer.json["code"]) == (status, code), answer.content
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json["request_id"]
    return answer.json


# --- POST /v1/runs ---
def test_launch_answers_the_run(alice: User, api: Door) -> None:
    answer = api(alice).post("runs", body(alice, trials=2, metadata={"sweep": "a", "note": None}, hints=["be brief"]))
    assert answer.status == 201
    run = answer.json
    assert answer.headers["Location"] == f"/v1/runs/{run['id']}"
    assert (run["object"], run["status"], run["mode"], run["trials"], run["planned"]) == (
        "run",
        "queued",
        "benchmark",
        2,
        8,
    )
    assert run["model"] == {
        "identifier": "smollm2",
        "provider": "local",
        "params": {},
        "sampling": {},
        "served": {},
        "connection": None,
    }
    assert run["metadata"] == {"sweep": "a", "note": None}
    assert [phase["name"] for phase in run["phases"]] == ["materialize", "report"]
    assert run["impl"]["label"] == "exact"
    assert run["cost"]["billed"] == {"amount_cents": 0, "amount": "0.00000000", "currency": "USD"}
    assert run["links"]["dashboard"].endswith(f"/runs/{run['id']}")
    assert set(run) >= set(
        "id status request benchmark benchmark_name subset_id subset_revision product_subset_id impl model driver "
        "harness backend mode parent_run relation completes concurrency trials limits hints phase_models metadata "
        "visibility phases summary cost halt_reason error review links created_at started_at finished_at".split()
    )


def test_launch_wants_its_scope(alice: User, api: Door) -> None:
    answer = api(alice, "runs:read").post("runs", body(alice))
    problem(answer, 403, "insufficient_scope")
    problem(api(None).post("runs", body(alice)), 401, "unauthenticated")
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"trials": 0}, "validation_failed"),
        ({"trials": 101}, "validation_failed"),
        ({"trials": True}, "validation_failed"),
        ({"trials": 2.0}, "validation_failed"),
        ({"concurrency": 0}, "validation_failed"),
        ({"concurrency": 1001}, "validation_failed"),
        ({"concurrency": "16"}, "validation_failed"),
        ({"limits": {"run": {"cost": "5"}}}, "validation_failed"),
        ({"limits": {"run": {"tasks": 10**30}}}, "validation_failed"),
        ({"limits": []}, "validation_failed"),
        ({"visibility": "secret"}, "validation_failed"),
        ({"sut": "no-provider"}, "validation_failed"),
        ({"sut": {"model": "m", "provider": "local", "temperature": 1}}, "unknown_field"),
        ({"harnes": "inspect"}, "unknown_field"),
        ({"agent": "x"}, "unknown_field"),
        ({"request": "x"}, "mutually_exclusive"),
        ({"replay": {"from_run": UNKNOWN}, "benchmark": None}, "mutually_exclusive"),
    ],
)
def test_launch_refuses_bad_fields(alice: User, api: Door, more: dict[str, Any], code: str) -> None:
    problem(api(alice).post("runs", body(alice, **more)), 422, code)
    assert not Run.objects.exists()


def test_a24_constraints_are_deprecated(alice: User, api: Door) -> None:
    answer = api(alice).post("runs", body(alice, constraints={"max_cost_cents": 500}))
    assert answer.json["limits"] == {"run": {"cost": 5.0}}
    assert answer.headers["Deprecation"].startswith("@")
    assert answer.headers["Sunset"].endswith("GMT")
    assert 'rel="deprecation"' in answer.headers["Link"]
    assert "Deprecation" not in api(alice).post("runs", body(alice)).headers


def test_b01_a_repeated_launch_hears_the_first_answer(alice: User, api: Door) -> None:
    wanted = body(alice)
    door = api(alice)
    first = door.post("runs", wanted, idempotency_key="k-1")
    again = door.post("runs", dict(reversed(wanted.items())), idempotency_key='"k-1"')
    assert (again.status, again.content) == (first.status, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Run.objects.count() == 1
    problem(door.post("runs", {**wanted, "trials": 2}, idempotency_key="k-1"), 422, "idempotency_key_reused")


def test_b05_a_key_means_nothing_to_another_account(alice: User, bob: User, api: Door) -> None:
    first = api(alice).post("runs", body(alice), idempotency_key="k")
    second = api(bob).post("runs", body(bob), idempotency_key="k")
    assert (first.status, second.status) == (201, 201)
    assert first.json["id"] != second.json["id"]


def test_b09_a_repeated_launch_of_a_destroyed_run_makes_no_new_one(alice: User, api: Door) -> None:
    wanted, door = body(alice), api(alice)
    first = door.post("runs", wanted, idempotency_key="k")
    assert door.delete(f"runs/{first.json['id']}").status == 204
    again = door.post("runs", wanted, idempotency_key="k")
    assert (again.status, again.content) == (201, first.content)
    problem(door.get(f"runs/{first.json['id']}"), 410, "gone")
    assert Run.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_b03_many_launches_with_one_key_make_one_run(alice: User, api: Door, token: Callable[..., str]) -> None:
    wanted, bearer = body(alice), token(alice)

    def launch(_: int) -> Answer:
        try:
            return Api(bearer).post("runs", wanted, idempotency_key="once")
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(launch, range(50)))
    assert Run.objects.count() == 1
    made = {answer.json["id"] for answer in answers if answer.status == 201}
    assert made == {str(Run.objects.get().id)}
    for answer in answers:
        if answer.status != 201:
            problem(answer, 409, "idempotency_in_progress")
            assert answer.headers["Retry-After"]


# --- replay ---
def test_a_replay_inherits_and_starts_at_materialize(alice: User, api: Door) -> None:
    parent = launched.ended(
        alice, ["passed", "failed"], trials=2, metadata={"limit": 5}, limits={"run": {"cost": 3}}, concurrency=4
    )
    run = api(alice).post("runs", {"replay": {"from_run": str(parent.id)}}).json
    assert (run["mode"], run["relation"], run["parent_run"]) == ("replay", "replay", str(parent.id))
    assert (run["impl"]["id"], run["subset_id"]) == (parent.impl_id, parent.subset_id)
    assert (run["trials"], run["concurrency"], run["limits"]) == (2, 4, {"run": {"cost": 3}})
    assert (run["metadata"], run["planned"], run["completes"]) == ({"limit": 5}, 2, False)
    assert (run["model"]["identifier"], run["phases"][0]["name"]) == ("smollm2", "materialize")
    other = {"replay": {"from_run": str(parent.id)}, "sut": {"model": "b", "provider": "simulated"}, "trials": 1}
    assert api(alice).post("runs", other).json["model"]["identifier"] == "b"


def test_a_replay_runs_the_parents_whole_scope_and_no_more(alice: User, api: Door) -> None:
    scorer = launched.catalogue(alice, 10)
    parent = launched.launch(alice, scorer, limits={"run": {"tasks": 4}})
    launched.finish(parent)
    replay = {"replay": {"from_run": str(parent.id)}, "limits": {}}
    assert api(alice).post("runs", replay).json["planned"] == 4


def test_a10_only_the_named_cells_run(alice: User, api: Door) -> None:
    parent = launched.ended(alice, ["passed", "failed", "unscored", "errored", "skipped", "passed"], to="halted")

    def positions(**asked: Any) -> tuple[list[int] | None, bool]:
        answer = api(alice).post("runs", {"replay": {"from_run": str(parent.id), **asked}})
        assert answer.status == 201, answer.content
        run = Run.objects.get(id=answer.json["id"])
        assert run.parent_id == parent.id
        assert run.planned == len(run.task_positions or range(6))
        return run.task_positions, run.completes

    assert positions() == (None, False)
    assert positions(only_failed=True) == ([1, 2], False)
    assert positions(only_errored=True) == ([3, 4], True)
    assert positions(task_ids=["t5", "t0", "t5"]) == ([0, 5], False)
    first = RunEvent.objects.filter(type="RunQueued").order_by("-id").values_list("data", flat=True)[0]
    assert first == {"slice": "task_ids", "repeated": 1}, "that a task was named twice is said"


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        ({"task_ids": ["t0", "t77"]}, "validation_failed", "t77"),
        ({"task_ids": []}, "validation_failed", "Must not be empty: leave it out, or name one."),
        ({"only_failed": True}, "validation_failed", "nothing to run"),
        ({"only_failed": True, "only_errored": True}, "mutually_exclusive", "only_errored"),
        ({"revision": 2}, "validation_failed", "newest revision is 1"),
        ({"revision": 0}, "validation_failed", ""),
        ({"tasks": ["t0"]}, "unknown_field", ""),
    ],
)
def test_a10_a_slice_that_is_none_is_refused(
    alice: User, api: Door, asked: dict[str, Any], code: str, said: str
) -> None:
    parent = launched.ended(alice, ["passed", "passed"])
    answer = api(alice).post("runs", {"replay": {"from_run": str(parent.id), **asked}})
    assert said in problem(answer, 422, code)["detail"]
    assert Run.objects.count() == 1


def test_a_replay_of_a_rolling_subset_takes_the_current_revision_or_the_pinned(alice: User, api: Door) -> None:
    scorer = launched.impl(launched.subset(launched.benchmark(alice), 2, rolling=True))
    parent = launched.launch(alice, scorer)
    launched.finish(parent)
    launched.append(scorer.subset, 3, start=2, revision=2)
    scorer.subset.revision = 2
    scorer.subset.save()
    door, asked = api(alice), {"from_run": str(parent.id)}
    now = door.post("runs", {"replay": asked}).json
    assert (now["subset_revision"], now["planned"]) == (2, 5)
    then = door.post("runs", {"replay": {**asked, "revision": 1}}).json
    assert (then["subset_revision"], then["planned"]) == (1, 2)
    fresh = door.post("runs", {"replay": {**asked, "task_ids": ["t3", "t4"]}}).json
    assert (fresh["subset_revision"], fresh["planned"]) == (2, 2)


def test_d25_only_an_ended_run_that_may_be_seen_is_replayed(alice: User, bob: User, api: Door) -> None:
    going = launched.launch(alice)
    asked = {"replay": {"from_run": str(going.id)}}
    problem(api(alice).post("runs", asked), 409, "run_not_replayable")
    launched.finish(going, "failed")
    assert api(alice).post("runs", asked).status == 201
    problem(api(bob).post("runs", asked), 404, "not_found")
    problem(api(alice).post("runs", {"replay": {"from_run": UNKNOWN}}), 404, "not_found")
    problem(api(alice).post("runs", {"replay": {"from_run": "@last"}}), 404, "not_found")
    Run.objects.filter(id=going.id).update(visibility="public", metadata={"secret": "plan"})
    theirs = api(bob).post("runs", asked)
    assert (theirs.status, theirs.json["metadata"]) == (201, {})


# --- GET /v1/runs ---
def test_list_is_the_callers_own_newest_first(alice: User, bob: User, api: Door) -> None:
    mine = [str(launched.launch(alice).id) for _ in range(3)]
    launched.launch(bob, visibility="public")
    answer = api(alice).get("runs?limit=2")
    assert [run["id"] for run in answer.json["data"]] == mine[:0:-1]
    rest = api(alice).get(f"runs?limit=2&page_token={answer.json['next_page_token']}").json
    assert ([run["id"] for run in rest["data"]], rest["next_page_token"]) == (mine[:1], None)
    problem(api(alice, "runs:write").get("runs"), 403, "insufficient_scope")


def test_list_filters(alice: User, api: Door) -> None:
    done = launched.ended(alice, metadata={"sweep": "a", "n": 5, "odd key": "x"})
    going = launched.launch(alice, metadata={"sweep": "b"}, visibility="public")
    door = api(alice)

    def found(query: str) -> set[str]:
        answer = door.get(f"runs?{query}")
        assert answer.status == 200, answer.content
        return {run["id"] for run in answer.json["data"]}

    assert found("status=ok") == {str(done.id)}
    assert found("status=queued") == {str(going.id)}
    assert found(f"benchmark={done.benchmark_id}") == {str(done.id)}
    assert found("visibility=public") == {str(going.id)}
    assert found("started_at[gte]=2020-01-01T00:00:00Z") == {str(done.id)}
    assert found("finished_at[lt]=2020-01-01T00:00:00Z") == set()
    assert found("metadata[sweep]=a") == {str(done.id)}
    assert found("metadata[n]=5") == {str(done.id)}
    assert found("metadata[odd%20key]=x") == {str(done.id)}
    assert found("metadata[none]=x") == set()
    assert found("sort=-started_at") == {str(done.id), str(going.id)}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("limit=-1", "invalid_parameter"),
        ("limit=abc", "invalid_parameter"),
        ("limit=1&limit=2", "invalid_parameter"),
        ("status=done", "invalid_filter"),
        ("state=ok", "invalid_filter"),
        ("metadata=ok", "invalid_filter"),
        ("started_at[near]=2020-01-01", "invalid_filter"),
        ("started_at=yesterday", "invalid_parameter"),
        ("sort=cost", "invalid_sort"),
        ("page_token=abc", "invalid_page_token"),
    ],
)
def test_a15_list_refuses_what_it_does_not_know(alice: User, api: Door, query: str, code: str) -> None:
    problem(api(alice).get(f"runs?{query}"), 400, code)


@pytest.mark.parametrize("limit", ["0", "", "1000000000", "9" * 50])
def test_a15_list_takes_any_size(alice: User, api: Door, limit: str) -> None:
    launched.launch(alice)
    assert len(api(alice).get(f"runs?limit={limit}").json["data"]) == 1


def test_a16_a_page_token_works_for_its_own_list_only(alice: User, bob: User, api: Door) -> None:
    for owner in (alice, bob):
        for _ in range(3):
            launched.launch(owner)
    token = api(alice).get("runs?limit=1").json["next_page_token"]
    run = launched.ended(alice, ["passed"] * 3)
    flipped = token[:-5] + ("A" if token[-5] != "A" else "B") + token[-4:]
    for who, path in [
        (alice, f"runs?limit=1&page_token={flipped}"),
        (alice, f"runs?limit=1&page_token={token[:-3]}"),
        (bob, f"runs?limit=1&page_token={token}"),
        (alice, f"runs?limit=1&status=queued&page_token={token}"),
        (alice, f"runs?limit=1&sort=started_at&page_token={token}"),
        (alice, f"runs/{run.id}/tasks?limit=1&page_token={token}"),
        (alice, f"runs/{run.id}/events?limit=1&page_token={token}"),
    ]:
        problem(api(who).get(path), 400, "invalid_page_token")
    assert api(alice).get(f"runs?limit=2&page_token={token}").status == 200


# --- GET /v1/runs/{id} ---
def test_get_has_a_tag_that_follows_the_run(alice: User, api: Door) -> None:
    run = launched.launch(alice)
    door = api(alice)
    first = door.get(f"runs/{run.id}")
    assert (first.status, first.json["id"]) == (200, str(run.id))
    same = door.get(f"runs/{run.id}", if_none_match=first.headers["ETag"])
    assert (same.status, same.content) == (304, b"")
    launched.end_cells(run, {0: "passed"})
    launched.finish(run, "halted")
    later = door.get(f"runs/{run.id}", if_none_match=first.headers["ETag"])
    assert (later.status, later.json["status"]) == (200, "halted")
    assert later.json["summary"]["passed"] == 1


def test_c04_somebody_elses_run_is_like_none(alice: User, bob: User, api: Door) -> None:
    run = launched.ended(alice)
    row = TaskResult.objects.filter(run=run).first()
    assert row is not None
    door = api(bob)
    for method, path in [
        ("GET", "runs/{}"),
        ("GET", "runs/{}/tasks"),
        ("GET", f"runs/{{}}/tasks/{row.id}"),
        ("GET", "runs/{}/events"),
        ("GET", "runs/{}/stream"),
        ("PATCH", "runs/{}"),
        ("DELETE", "runs/{}"),
        ("POST", "runs/{}/halt"),
        ("POST", "runs/{}/publish"),
    ]:
        sent = {} if method in {"PATCH", "POST"} else None
        theirs, none = (door.call(method, path.format(known), sent) for known in (run.id, UNKNOWN))
        assert problem(theirs, 404, "not_found")["detail"] == none.json["detail"], path
        assert theirs.content.replace(theirs.json["request_id"].encode(), b"") == none.content.replace(
            none.json["request_id"].encode(), b""
        )
    run.refresh_from_db()
    assert (run.status, run.visibility, run.destroyed_at) == ("ok", "private", None)


@pytest.mark.parametrize("spelling", ["nonsense", "%00", "0" * 36, UNKNOWN.upper(), UNKNOWN.replace("-", "")])
def test_get_of_an_odd_id_is_404(alice: User, api: Door, spelling: str) -> None:
    problem(api(alice).get(f"runs/{spelling}"), 404, "not_found")


def test_a19_expand_shows_what_may_be_seen(alice: User, bob: User, api: Door) -> None:
    parent = launched.ended(alice)
    child = launched.launch(alice, replay={"from_run": str(parent.id)}, visibility="public")
    assert Benchmark.objects.get().visibility == "public"  # it follows its runs
    Benchmark.objects.update(visibility="private")  # what may be seen is decided object by object all the same
    mine = api(alice).get(f"runs/{child.id}?expand=benchmark,parent_run").json
    assert mine["benchmark"]["visibility"] == "private"
    assert mine["parent_run"]["id"] == str(parent.id)
    theirs = api(bob).get(f"runs/{child.id}?expand=benchmark&expand=parent_run").json
    assert "visibility" not in theirs["benchmark"]
    assert theirs["parent_run"] == str(parent.id)
    for bad in ("owner.email", "owner", "parent_run.parent_run", "benchmark.owner", "id"):
        problem(api(alice).get(f"runs/{child.id}?expand={bad}"), 400, "invalid_expand")
    problem(api(alice).get(f"runs/{child.id}?expnd=benchmark"), 400, "invalid_parameter")


def test_fields_chooses(alice: User, api: Door) -> None:
    run = launched.launch(alice)
    assert set(api(alice).get(f"runs/{run.id}?fields=status,cost").json) == {"object", "id", "status", "cost"}
    problem(api(alice).get(f"runs/{run.id}?fields=owner"), 400, "invalid_parameter")


def test_c07_a_public_run_shows_results_but_nothing_private(alice: User, api: Door) -> None:
    run = launched.ended(alice, metadata={"m": "private-note"}, hints=["private-hint"], visibility="public")
    row = TaskResult.objects.filter(run=run).order_by("ordinal").first()
    assert row is not None
    nobody = api(None)
    shown = b""
    for path in ("", "/tasks", "/events", f"/tasks/{row.id}"):
        answer = nobody.get(f"runs/{run.id}{path}")
        assert answer.status == 200, answer.content
        shown += answer.content
    assert nobody.get(f"runs/{run.id}").json["limits"] is None, "{} would say that none are set"
    for private in (b"private-note", b"private-hint", alice.email.encode()):
        assert private not in shown
    payload = nobody.get(f"runs/{run.id}/tasks/{row.id}").json
    assert (payload["expected"], payload["expected_hidden"], payload["input"]) == (None, True, {"question": "0?"})


# --- PATCH, publish ---
def test_patch_changes_what_may_change(alice: User, api: Door) -> None:
    run = launched.launch(alice)
    door = api(alice)
    tag = door.get(f"runs/{run.id}").headers["ETag"]
    launched.end_cells(run, {0: "passed"})  # a run's progress is no edit
    sent = {"visibility": "public", "metadata": {"a": 1}, "idempotency_key": "x"}
    changed = door.patch(f"runs/{run.id}", sent, if_match=tag)
    assert (changed.status, changed.json["visibility"], changed.json["metadata"]) == (200, "public", {"a": 1})
    problem(door.patch(f"runs/{run.id}", {"visibility": "private"}, if_match=tag), 412, "precondition_failed")
    assert door.patch(f"runs/{run.id}", {"visibility": "private"}, if_match=changed.headers["ETag"]).status == 200
    assert door.patch(f"runs/{run.id}", {}).json["visibility"] == "private"


@pytest.mark.parametrize("field", ["id", "status", "cost", "score", "owner", "impl", "summary", "trials"])
def test_a22_patch_takes_no_other_field(alice: User, api: Door, field: str) -> None:
    run = launched.launch(alice)
    problem(api(alice).patch(f"runs/{run.id}", {field: "x"}), 422, "unknown_field")
    problem(api(alice, "runs:read").patch(f"runs/{run.id}", {}), 403, "insufficient_scope")


def test_patch_refuses_too_much_metadata(alice: User, api: Door) -> None:
    run = launched.launch(alice)
    large = {"metadata": {"x": "y" * (64 << 10)}}
    problem(api(alice).patch(f"runs/{run.id}", large), 422, "validation_failed")
    problem(api(alice).patch(f"runs/{run.id}", {"visibility": "open"}), 422, "validation_failed")


def test_publish_makes_it_public_and_a_strangers_write_stays_404(alice: User, bob: User, api: Door) -> None:
    run = launched.ended(alice)
    assert api(alice).post(f"runs/{run.id}/publish").json["visibility"] == "public"
    again = api(alice).post(f"runs/{run.id}/publish", {"visibility": "public"})
    assert again.json["visibility"] == "public"
    assert api(bob).get(f"runs/{run.id}").status == 200
    for call in (lambda: api(bob).delete(f"runs/{run.id}"), lambda: api(bob).post(f"runs/{run.id}/halt")):
        problem(call(), 404, "not_found")
    problem(api(alice).post(f"runs/{run.id}/publish", {"visibility": "x"}), 422, "validation_failed")
    problem(api(alice, "runs:read").post(f"runs/{run.id}/publish"), 403, "insufficient_scope")


def test_making_public_needs_registry_publish(alice: User, api: Door) -> None:
    run = launched.ended(alice)
    door = api(alice, "runs:read", "runs:write")
    problem(door.post(f"runs/{run.id}/publish"), 403, "insufficient_scope")
    problem(door.patch(f"runs/{run.id}", {"visibility": "public"}), 403, "insufficient_scope")
    problem(door.post("runs", body(alice, visibility="public")), 403, "insufficient_scope")
    assert door.patch(f"runs/{run.id}", {"metadata": {"a": 1}}).status == 200
    run.refresh_from_db()
    assert run.visibility == "private"


@pytest.mark.parametrize("count", [1, 6])
def test_m04_a_list_asks_the_database_a_fixed_number_of_times(
    alice: User, api: Door, count: int, django_assert_num_queries: Any
) -> None:
    door = api(alice)
    for _ in range(count):
        launched.ended(alice)
    door.get("runs")  # the token's first use is noted
    # token, runs, phases, labels, leases, flags, subsets, graders; the rate
    with django_assert_num_queries(8 + (not settings.REDIS_URL)):
        assert len(door.get("runs").json["data"]) == count


# --- halt, destroy ---
def test_d22_halting_twice_is_halting_once(alice: User, api: Door) -> None:
    run = launched.launch(alice)
    door = api(alice)
    first = door.post(f"runs/{run.id}/halt", {"reason": "too dear"})
    second = door.post(f"runs/{run.id}/halt")
    assert (first.status, second.status) == (200, 200)
    assert first.content == second.content
    run.refresh_from_db()
    assert run.halt_requested == "user"
    launched.finish(run, "ok")  # it ended at the same instant
    after = door.post(f"runs/{run.id}/halt")
    assert (after.status, after.json["status"]) == (200, "ok")
    problem(door.post(f"runs/{run.id}/halt", {"why": "x"}), 422, "unknown_field")
    problem(api(alice, "runs:read").post(f"runs/{run.id}/halt"), 403, "insufficient_scope")


def test_delete_leaves_only_a_tombstone(alice: User, api: Door) -> None:
    run = launched.ended(alice, ["passed"])
    door = api(alice)
    problem(api(alice, "runs:read").delete(f"runs/{run.id}"), 403, "insufficient_scope")
    assert door.delete(f"runs/{run.id}").status == 204
    assert not TaskResult.objects.filter(run=run).exists()
    assert not RunEvent.objects.filter(run=run).exists()
    for path in ("", "/tasks", "/events", "/stream"):
        problem(door.get(f"runs/{run.id}{path}"), 410, "gone")
    problem(door.delete(f"runs/{run.id}"), 410, "gone")
    problem(door.post("runs", {"replay": {"from_run": str(run.id)}}), 410, "gone")
    assert door.get("runs").json["data"] == []


def test_d22_destroying_a_running_run_stops_it_first(alice: User, bob: User, api: Door) -> None:
    run = launched.launch(alice, visibility="public")
    launched.end_cells(run, {0: "passed"})
    assert api(alice).delete(f"runs/{run.id}").status == 204
    run.refresh_from_db()
    assert (run.halt_requested, TaskResult.objects.filter(run=run).count()) == ("user", 1)
    problem(api(alice).get(f"runs/{run.id}"), 410, "gone")
    problem(api(bob).get(f"runs/{run.id}"), 404, "not_found")
    assert destroying.purge_due() == 0  # somebody may still be writing
    launched.finish(run, "halted")
    assert destroying.purge_due() > 0
    assert not TaskResult.objects.filter(run=run).exists()
    assert destroying.purge_due() == 0


# --- what only the owner reads, and what can't be shown ---
def test_c07_the_words_of_a_run_and_of_a_fork_are_their_owners(alice: User, bob: User, api: Door) -> None:
    parent = launched.ended(alice, visibility="public")
    Run.objects.filter(id=parent.id).update(mode="request", request="the-private-words", findings={"find": {}})
    sent = {"description": "the-private-change", "visibility": "public"}
    fork = api(alice).post(f"runs/{parent.id}/fork", sent).json
    assert (fork["request"], fork["fork"]["description"]) == ("the-private-words", "the-private-change")
    paths = [f"runs/{run}{end}" for run in (parent.id, fork["id"]) for end in ("", "/events", "/children", "/narrate")]
    for reader in (api(bob), api(None)):
        for path in [*paths, f"runs/{parent.id}/report?format=markdown", f"runs/{fork['id']}?expand=parent_run"]:
            answer = reader.get(path)
            assert answer.status == 200, (path, answer.content)
            assert b"the-private" not in answer.content, path
    assert api(bob).get(f"runs/{fork['id']}").json["fork"]["mode"] == "rerun"
    problem(api(bob).post(f"runs/{parent.id}/fork", {"from_phase": "find"}), 422, "validation_failed")
    own = api(bob).post(f"runs/{parent.id}/fork", {"description": "mine"}).json
    assert own["request"] is None, "nobody inherits a stranger's words"


@pytest.mark.parametrize("status", ["failed", "halted"])
def test_a_run_without_a_result_is_not_published_nor_is_its_benchmark(alice: User, api: Door, status: str) -> None:
    run = launched.ended(alice, ["errored", "skipped"], to=status)
    told = problem(api(alice).post(f"runs/{run.id}/publish"), 409, "no_result")
    assert "no result to show" in told["detail"]
    problem(api(alice).patch(f"runs/{run.id}", {"visibility": "public"}), 409, "no_result")
    assert Benchmark.objects.get(pk=run.benchmark_id).visibility == "private"
    scored = launched.ended(alice, ["failed", "errored"], to=status)
    assert api(alice).post(f"runs/{scored.id}/publish").status == 200
    assert Benchmark.objects.get(pk=scored.benchmark_id).visibility == "public"


def test_a_public_run_that_ends_without_a_result_hides_its_benchmark_again(alice: User, api: Door) -> None:
    run = Run.objects.get(id=api(alice).post("runs", body(alice, visibility="public")).json["id"])
    assert Benchmark.objects.get(pk=run.benchmark_id).visibility == "public"
    states.move(run.id, "running")
    finishing.fail(run, "materialize", "sandbox_unavailable", "No sandbox.", "")
    assert Benchmark.objects.get(pk=run.benchmark_id).visibility == "private"


def test_candidates_are_told_to_the_owner_alone(alice: User, api: Door) -> None:
    run = Run.objects.get(id=api(alice).post("runs", {"request": "Run it", "visibility": "public"}).json["id"])
    states.move(run.id, "running")
    choices = [{"id": "registry:bm_secret", "name": "My secret one", "reason": "named", "ref": "bm_secret"}]
    finishing.fail(run, "find", "unclear_benchmark", "Which?", "My secret one", choices)
    mine = api(alice).get(f"runs/{run.id}").json["error"]
    assert mine["choices"] == [{"id": "registry:bm_secret", "name": "My secret one", "reason": "named"}]
    for path in ("", "/events"):
        assert b"My secret" not in api(None).get(f"runs/{run.id}{path}").content
