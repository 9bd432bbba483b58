"""From a sentence to a score, through the real phases: find, analyze, atomize, materialize, report."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from accounts.principal import Principal
from registry import authoring, scorers
from registry.models import Impl
from runs import launching
from runs.models import Run, RunEvent
from runs.schemas import LaunchBody
from tests.factories import planned
from tests.factories.processes import GatewayProcess, Model
from tests.twins.openai_twin import Fault

pytestmark = pytest.mark.django_db(transaction=True)


def acting(user: User) -> Principal:
    return Principal(user, frozenset(["runs:read", "runs:write"]), "pat_test")


def catalogued(owner: User, **fields: Any) -> Any:
    """A benchmark "Plus one" whose rows the owner has uploaded."""
    made = authoring.create_benchmark(acting(owner), "Plus One Sums", "n + 1")
    return authoring.create_subset(acting(owner), made.pk, slug="main", tasks=planned.sums(12), **fields)


def launched(owner: User, model: Model, words: str) -> Run:
    sut = {"model": "twin-1", "provider": "vllm"}
    run = launching.launch(acting(owner), LaunchBody.model_validate({"request": words, "sut": sut}))
    Run.objects.filter(pk=run.pk).update(
        sut={"model": "twin-1", "provider": "vllm", "base_url": model.url, "params": {}, "connection": None}
    )
    return Run.objects.get(pk=run.pk)


def test_j08_a_run_in_words_proves_its_scorer_and_scores(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    catalogued(alice, grader={"kind": "numeric", "prompt": {"template": "{{input}}"}})
    run = work(launched(alice, model, "Run Plus One Sums on twin-1"))
    assert (run.status, run.passed, run.planned) == ("ok", 12, 12), run.error
    assert run.findings["atomize"]["verdict"]["badge"] == "proven"
    assert run.impl.verdict["rows"] == 12
    done = RunEvent.objects.filter(run=run, type="PhaseCompleted").order_by("seq").values_list("data__phase", flat=True)
    assert list(done) == ["find", "analyze", "atomize", "materialize", "report"]


def test_j07_a_gameable_scorer_costs_nothing(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    subset = catalogued(alice)
    code = planned.ECHO.replace("return 1.0 if output == expected else 0.0", "return float(output in expected)")
    scorers.create(acting(alice), subset.pk, code=code)
    run = work(launched(alice, model, "Run Plus One Sums on twin-1"))
    assert (run.status, run.error["phase"], run.error["code"]) == ("failed", "atomize", "scorer_unproven")
    assert "“nothing” is rewarded on 12 of 12 rows" in run.error["message"]
    assert model.calls == 0
    assert Impl.objects.get(code=code).verdict["badge"] == "gameable"


TEN = [f"thing {at}" for at in range(10)]
CAPITALS = [
    {"task_id": f"c{at}", "input": {"question": f"Capital of land {at}?"}, "expected": f"City{at:02}"}
    for at in range(12)
]
CHOICES = [
    {
        "task_id": f"q{at}",
        "input": {"question": f"Which is {at % 10}?", "choices": TEN},
        "expected": "ABCDEFGHIJ"[at % 10],
    }
    for at in range(20)
]


@pytest.mark.parametrize(
    ("rows", "answer", "kind"),
    [
        (CAPITALS, lambda at: f"It is City{at:02}.", "contains"),
        (CHOICES, lambda at: f"Answer: {'ABCDEFGHIJ'[at]}", "choice"),
    ],
)
def test_own_tasks_without_a_grader_are_scored_by_their_shape(
    alice: User,
    gateway: GatewayProcess,
    model: Model,
    work: Callable[..., Run],
    rows: list[dict[str, Any]],
    answer: Callable[[int], str],
    kind: str,
) -> None:
    made = authoring.create_benchmark(acting(alice), "Capitals")
    authoring.create_subset(acting(alice), made.pk, slug="all", tasks=rows)
    model.rule = lambda question: Fault(text=answer(int(re.findall(r"(\d+)\?", question)[0])))
    run = work(launched(alice, model, "Run my Capitals on twin-1"))
    assert (run.status, run.passed, run.planned) == ("ok", len(rows), len(rows)), run.error
    plan = run.findings["analyze"]
    assert (plan["grader"]["kind"], plan["fields"]["input"]) == (kind, {"question": "question"})
    assert plan["risks"][0]["code"] == "guessed_grader"
    assert run.findings["atomize"]["verdict"]["badge"] == "proven"
    again = work(launched(alice, model, "Run my Capitals on twin-1"))
    assert (again.impl_id, again.passed) == (run.impl_id, len(rows))
