"""What authoring costs, and that a replay does without it: the same cells, no driver."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from runs.models import Run
from tests.factories import planned
from tests.factories.processes import GatewayProcess, Model
from tests.pipeline.test_llm_driver import GOOD, PLANNED, Drafts, code
from tests.pipeline.test_whole_runs import whole, with_a_key
from tests.twins.openai_twin import Fault, Seen

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
DRIVER = {"model": "gpt-4o", "provider": "openai"}
TASKS = 100
STORY = "A farmer counts what lies in the barn, writes it down and begins anew after each basket. " * 4


def rows() -> list[dict[str, Any]]:
    """Questions and answers as long as those of word problems are."""
    return [{"task_id": f"t{n}", "input": f"{STORY} {n} + 1 = ?", "expected": str(n + 1)} for n in range(TASKS)]


def by_length(always: Callable[[Seen], Fault | None]) -> Callable[[Seen], Fault | None]:
    """The provider bills a token for four signs."""

    def answer(seen: Seen) -> Fault | None:
        made = always(seen) or Fault()
        if seen.body["model"] != DRIVER["model"]:
            number = int(str(seen.body["messages"][-1]["content"]).rsplit("+", 1)[0].split()[-1])
            made = Fault(text=f"{'Let me count them one by one. ' * 6}The answer is {number + 1}.")
        sent, said = len(json.dumps(seen.body)) // 4, len(made.text or "") // 4
        made.usage = {"prompt_tokens": sent, "completion_tokens": said, "total_tokens": sent + said}
        return made

    return answer


def test_a_replay_costs_what_the_cells_cost_and_no_more(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], monkeypatch: pytest.MonkeyPatch,
    record_property: Any,
) -> None:  # fmt: skip
    bound = with_a_key(alice, gateway, model, "openai", "api.openai.com")
    bound["sut"]["model"] = "gpt-4o-mini"
    monkeypatch.setenv("BW_PROVIDER_OPENAI_BASE_URL", model.url)
    replies = [{"tool": "read_rows", "args": {"start": 5}}, {"tool": "try_code", "args": {"code": GOOD}}, code(GOOD)]
    drafts = Drafts(model, *replies, name=DRIVER["model"])
    model.twin.always = by_length(drafts.always)
    made = planned.run(
        alice, rows(), plan=["atomize", "materialize", "report"], driver=DRIVER, findings=PLANNED,
        mode="request", request="Run my sums", impl=None, **bound,
    )  # fmt: skip
    first = work(made)
    assert (first.status, first.passed) == ("ok", TASKS), first.error
    whole(first)
    assert len(drafts.asked) == 3
    again = planned.replay(first)
    again = work(again)
    assert (again.status, again.passed) == ("ok", TASKS)
    assert again.cost_driver == 0
    assert first.cost_driver > 0
    assert again.cost_model == first.cost_model > 0
    ratio = (first.cost_model + first.cost_driver) / again.cost_model
    record_property("words over replay", f"{ratio:.1f}")
    print(
        json.dumps(
            {"words": first.cost_model + first.cost_driver, "replay": again.cost_model, "ratio": round(ratio, 1)}
        )
    )
    assert 3 < ratio < 10
