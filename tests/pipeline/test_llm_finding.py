"""A model as driver, where rules are in doubt: it chooses among what was found, or says that it can't."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from registry import authoring
from runs import launching, objects
from runs.models import Run
from runs.reporting.narrating import narrate
from runs.schemas import LaunchBody
from tests.factories.launched import acting
from tests.factories.processes import GatewayProcess, Model
from tests.pipeline.test_llm_driver import DRIVER, Drafts

pytestmark = pytest.mark.django_db(transaction=True)
REQUEST = "Run my sums"


def sums(owner: User, name: str, count: int) -> str:
    """A benchmark of the owner's with its own grader."""
    principal = acting(owner)
    above = authoring.create_benchmark(principal, name)
    rows = [{"task_id": f"t{n}", "input": f"{n} + 1", "expected": str(n + 1)} for n in range(count)]
    authoring.create_subset(principal, above.pk, "all", tasks=rows, grader={"kind": "numeric"})
    return above.pk


@pytest.fixture
def asked(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Run, Drafts]]:
    """``asked(*replies)`` carries a request that could mean two benchmarks to its end."""
    monkeypatch.setenv("BW_PROVIDER_VLLM_BASE_URL", model.url)
    ids = [sums(alice, "Small sums", 3), sums(alice, "Large sums", 5)]

    def go(*replies: Any, request: str = REQUEST, **more: Any) -> tuple[Run, Drafts]:
        drafts = Drafts(model, *[reply(ids) if callable(reply) else reply for reply in replies])
        sut = {"model": "twin-1", "provider": "vllm"}
        body = LaunchBody.model_validate({"request": request, "sut": sut, "driver": DRIVER, **more})
        return work(launching.launch(acting(alice), body)), drafts

    return go


def chosen(at: int) -> Callable[[list[str]], Any]:
    return lambda ids: {"result": {"choice": f"registry:{ids[at]}", "reason": "the words say so"}}


def test_it_chooses_one_of_the_candidates_and_says_so(asked: Any) -> None:
    run, drafts = asked(chosen(1), request="Run Small sums or Large sums")
    listed = json.loads(drafts.asked[0].body["messages"][1]["content"])["candidates"] if drafts.asked else []
    assert {one["name"] for one in listed} == {"Small sums", "Large sums"}, run.error
    assert (run.status, run.planned, run.passed) == ("ok", 5, 5), run.error
    assert run.benchmark.name == "Large sums"
    assert any("driver-1 chose" in note for note in run.findings["find"]["notes"])
    assert run.answers == [], "what a model says is not the owner's word"


def test_it_may_be_in_doubt_and_then_nothing_is_guessed(asked: Any) -> None:
    run, _ = asked({"result": {"choice": None}}, request="Run Small sums or Large sums")
    assert (run.status, run.error["phase"]) == ("failed", "find")
    assert "Small sums" in run.error["hint"]


def test_a_model_that_takes_what_stands_first_is_in_doubt(asked: Any) -> None:
    run, drafts = asked(chosen(0), chosen(1), request="Run Small sums or Large sums")
    assert (run.status, run.error["phase"]) == ("failed", "find")
    orders = [json.loads(seen.body["messages"][1]["content"])["candidates"] for seen in drafts.asked]
    assert orders[0] == orders[1][::-1]


def test_d30_it_can_choose_nothing_that_was_not_found(asked: Any) -> None:
    run, drafts = asked({"result": {"choice": "mmlu"}}, request="Run Small sums or Large sums")
    assert (run.status, run.error["code"]) == ("failed", "phase_failed")
    assert "choice must be" in drafts.asked[1].body["messages"][-1]["content"]


def test_a_person_who_is_there_is_asked_instead(asked: Any) -> None:
    run, drafts = asked(chosen(0), request="Run Small sums or Large sums", metadata={"autonomous": False})
    assert run.status == "needs_input"
    assert drafts.asked == []


def test_where_rules_are_sure_no_model_is_asked(asked: Any) -> None:
    run, drafts = asked(chosen(0), request="Run Large sums")
    assert (run.status, run.planned) == ("ok", 5), run.error
    assert drafts.asked == []


def test_j20_a_public_run_that_fails_here_tells_strangers_nothing_of_its_owners_benchmarks(
    asked: Any, bob: User
) -> None:
    run, _ = asked({"result": {"choice": None}}, request="Run Small sums or Large sums")
    Run.objects.filter(id=run.id).update(visibility="public")
    run.refresh_from_db()
    mine, theirs = objects.run_object(run, acting(run.owner)), objects.run_object(run, acting(bob))
    assert "Small sums" in mine["error"]["hint"]
    told = [theirs, [objects.event_object(event) for event in run.events.all()]]
    told.append(narrate(run, "all", mine=False, answers=False))
    named = re.findall(r"bm_[0-9a-f-]+", mine["error"]["hint"])
    assert len(named) == 2
    assert not any(name in json.dumps(told) for name in named)
    assert theirs["error"]["code"] == mine["error"]["code"]
