"""A scorer that asks the model without end, and minds no refusal: ceilings end it."""

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from runs.models import Run, TaskResult
from tests.factories import planned
from tests.factories.processes import GatewayProcess, Model
from tests.pipeline.test_whole_runs import whole, with_a_key
from tests.twins.openai_twin import Fault

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
ENDLESS = textwrap.dedent("""
    import os, requests
    from bench_task import BenchTask

    class Task(BenchTask):
        def solve(self, index, input):
            while True:
                reply = requests.post(
                    f"{os.environ['BW_MODEL_PROXY_URL']}/v1/chat/completions",
                    headers={"Authorization": f"Bearer {os.environ['BW_MODEL_PROXY_KEY']}"},
                    json={"model": os.environ["BW_MODEL_MODEL"], "messages": [{"role": "user", "content": input}]},
                    timeout=30,
                )
                if not input.startswith("0"):
                    return reply.json()["choices"][0]["message"]["content"]

        def score(self, index, output, expected):
            return 1.0 if output == expected else 0.0
""")
QUARTER = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "cost": 0.25}
Work = Callable[..., Run]
SOON = 60.0  # seconds; an attempt without limits has ten minutes


@pytest.fixture
def paying(alice: User, gateway: GatewayProcess, model: Model) -> dict[str, Any]:
    """Every call costs a quarter of a dollar."""
    model.rule = lambda question: Fault(text=str(int(question.split("+")[0]) + 1), usage=QUARTER, delay=0.05)
    return with_a_key(alice, gateway, model)


def test_h16_a_loop_without_end_is_stopped_at_the_runs_ceiling(
    alice: User, model: Model, work: Work, paying: dict[str, Any]
) -> None:
    run = work(planned.run(alice, planned.sums(1), code=ENDLESS, limits={"run": {"cost": 2.0}}, **paying))
    assert (run.status, run.halt_reason) == ("halted", "limit_exceeded:run.cost")
    whole(run)
    row = TaskResult.objects.get(run=run, live=True)
    assert (row.outcome, row.error_class) == ("skipped", "budget")
    assert "run.cost" in row.error_message
    assert run.cost_model >= 200_000_000
    assert run.cost_model % 25_000_000 == 0


def test_h16_a_tasks_ceiling_ends_that_task_alone(
    alice: User, model: Model, work: Work, paying: dict[str, Any]
) -> None:
    run = work(planned.run(alice, planned.sums(4), code=ENDLESS, limits={"task": {"cost": 1.0}}, **paying))
    assert run.status == "ok"
    whole(run)
    rows = {row.task_id: row for row in TaskResult.objects.filter(run=run, live=True)}
    ended = rows.pop("q00000")
    assert (ended.outcome, ended.error_class, ended.attempt) == ("skipped", "budget", 1)
    assert "task.cost" in ended.error_message
    assert {row.outcome for row in rows.values()} == {"passed"}
    assert model.asked("0 + 1") >= 4
    assert all(seen.at - model.twin.requests[0].at < SOON for seen in model.twin.requests)
