"""The routes of forks: fork, children, flips."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from accounts.models import User
from runs.models import Run, TaskResult
from tests.conftest import Api
from tests.factories import launched

pytestmark = pytest.mark.django_db
Door = Callable[..., Api]


def made_of(parent: Run, outcomes: Sequence[str], **scores: float) -> Run:
    """A fork that has ended so; ``scores`` by ``t<ordinal>``."""
    scorer = launched.impl(parent.subset, parent.owner)  # type: ignore[arg-type]
    fork = launched.ended(parent.owner, outcomes, scorer=scorer, trials=parent.trials)
    Run.objects.filter(id=fork.id).update(mode="fork", relation="fork", parent=parent, fork_mode="rerun")
    for name, score in scores.items():
        TaskResult.objects.filter(run=fork, ordinal=int(name[1:])).update(score=score)
    return Run.objects.select_related("subset", "owner").get(id=fork.id)


def test_fork_answers_the_run(alice: User, api: Door) -> None:
    parent = launched.ended(alice)
    body = {"description": "Compare sets.", "from_phase": "atomize"}
    answer = api(alice).post(f"runs/{parent.id}/fork", body)
    assert answer.status == 201
    run = answer.json
    assert answer.headers["Location"] == f"/v1/runs/{run['id']}"
    assert (run["mode"], run["relation"], run["parent_run"]) == ("fork", "fork", str(parent.id))
    assert run["fork"] == {"description": "Compare sets.", "from_phase": "atomize", "mode": "rerun"}
    assert [phase["name"] for phase in run["phases"]] == ["atomize", "materialize", "report"]
    assert api(alice).get(f"runs/{parent.id}").json["fork"] is None


def test_fork_repeats_its_answer(alice: User, api: Door) -> None:
    parent = launched.ended(alice)
    path, body = f"runs/{parent.id}/fork", {"description": "Compare sets."}
    first, second = (api(alice).post(path, body, idempotency_key="fix-1") for _ in range(2))
    assert first.json["id"] == second.json["id"]
    assert second.headers["Idempotent-Replayed"] == "true"
    assert parent.children.count() == 1
    assert (
        api(alice).post(path, {"description": "Something else."}, idempotency_key="fix-1").json["code"]
        == "idempotency_key_reused"
    )


def test_fork_refuses(alice: User, bob: User, api: Door) -> None:
    parent = launched.ended(alice)
    path, body = f"runs/{parent.id}/fork", {"description": "Compare sets."}
    assert api(bob).post(path, body).status == 404
    assert api(alice, "runs:read").post(path, body).json["code"] == "insufficient_scope"
    assert api(alice, "runs:write").post(path, {**body, "visibility": "public"}).status == 403
    assert api(alice).post(path, {**body, "benchmark": "bm_1"}).json["code"] == "unknown_field"
    assert api(alice).post(path, {**body, "from_phase": "report"}).json["code"] == "validation_failed"
    assert api(alice).post(f"runs/{launched.launch(alice).id}/fork", body).json["code"] == "run_not_replayable"


def test_children_are_those_that_one_may_see(alice: User, bob: User, api: Door) -> None:
    parent = launched.ended(alice, visibility="public")
    fork = made_of(parent, ["passed", "failed"])
    replay = launched.launch(alice, replay={"from_run": str(parent.id)}, visibility="public")
    path = f"runs/{parent.id}/children"
    assert [run["id"] for run in api(alice).get(path).json["data"]] == [str(replay.id), str(fork.id)]
    assert [run["id"] for run in api(alice).get(f"{path}?relation=fork").json["data"]] == [str(fork.id)]
    assert [run["id"] for run in api(bob).get(path).json["data"]] == [str(replay.id)]
    page = api(alice).get(f"{path}?limit=1").json
    later = api(alice).get(f"{path}?limit=1&page_token={page['next_page_token']}").json
    assert [run["id"] for run in (*page["data"], *later["data"])] == [str(replay.id), str(fork.id)]


def test_flips_tell_what_changed_and_whether_that_says_anything(alice: User, api: Door) -> None:
    parent = launched.ended(alice, ["failed", "failed", "failed", "passed", "passed", "errored", "failed", "unscored"])
    fork = made_of(
        parent, ["passed", "passed", "passed", "failed", "passed", "passed", "failed", "passed"], t6=0.4
    )  # fmt: skip
    answer = api(alice).get(f"runs/{fork.id}/flips").json
    assert answer["parent_run"] == str(parent.id)
    kinds = {row["task_id"]: row["kind"] for row in answer["data"]}
    assert kinds == {
        "t0": "fixed", "t1": "fixed", "t2": "fixed", "t3": "broken", "t5": "changed", "t6": "changed", "t7": "changed"
    }  # fmt: skip
    summary = answer["summary"]
    assert (summary["shared"], summary["scored"]) == (8, 7)
    assert (summary["fixed"], summary["broken"], summary["changed"]) == (3, 1, 3)
    assert summary["pass_rate"] == {"before": pytest.approx(2 / 7), "after": pytest.approx(5 / 7)}
    assert (summary["test"]["gained"], summary["test"]["lost"]) == (
        4,
        1,
    )  # what could not be scored counts as not passed
    assert summary["test"]["p_value"] == pytest.approx(0.375)
    assert summary["verdict"] == (
        "3 fixed, 1 broken, 3 changed otherwise; can't tell these apart (exact sign test, p = 0.38)."
    )
    changed = next(row for row in answer["data"] if row["task_id"] == "t6")
    assert (changed["before"]["score"], changed["after"]["score"]) == (0.0, 0.4)
    assert changed["after"]["result"] == TaskResult.objects.get(run=fork, ordinal=6).id


def test_flips_of_a_fork_that_scored_nothing_say_that_it_can_not_be_compared(alice: User, api: Door) -> None:
    parent = launched.ended(alice, ["passed"] * 6 + ["failed"] * 6)
    fork = made_of(parent, ["unscored"] * 12)
    verdict = api(alice).get(f"runs/{fork.id}/flips").json["summary"]["verdict"]
    assert verdict == (
        "This run scored nothing (12 unscored, 0 errored, 0 skipped), so the two can't be compared: what changed is no "
        "better and no worse."
    )
    again = made_of(fork, ["passed"] * 12)
    assert "Its parent scored nothing" in api(alice).get(f"runs/{again.id}/flips").json["summary"]["verdict"]


def test_flips_come_in_pages_and_by_kind(alice: User, api: Door) -> None:
    parent = launched.ended(alice, ["failed"] * 7)
    fork = made_of(parent, ["passed"] * 5 + ["errored", "failed"])
    path = f"runs/{fork.id}/flips"

    def walked(query: str) -> list[str]:
        ids: list[str] = []
        token = ""
        while True:
            page = api(alice).get(f"{path}?limit=2&{query}{token}").json
            ids += [row["task_id"] for row in page["data"]]
            if page["next_page_token"] is None:
                return ids
            token = f"&page_token={page['next_page_token']}"

    assert walked("kind=fixed") == ["t0", "t1", "t2", "t3", "t4"]
    assert walked("") == ["t0", "t1", "t2", "t3", "t4", "t5"]
    assert walked("sort=-task") == ["t5", "t4", "t3", "t2", "t1", "t0"]
    token = api(alice).get(f"{path}?limit=2").json["next_page_token"]
    assert api(alice).get(f"{path}?limit=2&kind=fixed&page_token={token}").json["code"] == "invalid_page_token"
    assert api(alice).get(f"{path}?kind=mended").status == 400


def test_flips_count_tasks_once_however_many_trials(alice: User, api: Door) -> None:
    parent = launched.ended(alice, ["failed"] * 12, trials=6)
    fork = made_of(parent, ["passed"] * 12)
    summary = api(alice).get(f"runs/{fork.id}/flips").json["summary"]
    assert (summary["fixed"], summary["test"]["gained"], summary["test"]["p_value"]) == (12, 2, 0.5)


def test_flips_of_a_replayed_slice_are_of_the_shared_tasks(alice: User, api: Door) -> None:
    parent = launched.ended(alice, ["passed", "failed", "passed", "failed"])
    replay = launched.launch(alice, replay={"from_run": str(parent.id), "only_failed": True})
    launched.end_cells(replay, {0: "passed", 1: "failed"})
    answer = api(alice).get(f"runs/{replay.id}/flips").json
    assert [(row["task_id"], row["kind"]) for row in answer["data"]] == [("t1", "fixed")]
    assert answer["summary"]["shared"] == 2


def test_flips_need_a_parent_that_can_be_compared(alice: User, bob: User, api: Door) -> None:
    def code(run: Run, by: User = alice) -> Any:
        answer = api(by).get(f"runs/{run.id}/flips")
        return (answer.status, answer.json.get("code"))

    parent = launched.ended(alice)
    fork = made_of(parent, ["passed", "passed"])
    assert code(parent) == (409, "not_comparable")
    assert code(fork) == (200, None)
    assert code(fork, bob) == (404, "not_found")
    Run.objects.filter(id=fork.id).update(visibility="public")
    assert code(fork, bob) == (409, "not_comparable")  # the parent is still private
    Run.objects.filter(id=fork.id).update(subset=launched.catalogue(alice).subset)
    assert code(fork) == (409, "not_comparable")
