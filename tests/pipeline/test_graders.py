"""Every kind of grader over a whole run, rows and scorer in their roles."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from accounts.principal import Principal
from registry.graders.compiling import compile_grader
from runs.asked import sampling
from runs.fingerprint import fingerprint
from runs.models import Run, TaskResult
from runs.objects import run_object
from tests.factories.processes import GatewayProcess, Model, launch
from tests.sampling import every
from tests.twins.openai_twin import Fault

pytestmark = pytest.mark.django_db(transaction=True)
CHOICES = {"question": "Which colour has grass?", "choices": ["red", "green", "blue"]}
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {"a": {}}}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
OTHER = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}


@pytest.mark.parametrize(
    ("kind", "input", "expected", "right", "wrong"),
    every(4, [
        ("exact", "Say yes", "yes", {"content": "yes"}, {"content": "no"}),
        ("contains", "Say yes", "yes", {"content": "Well, yes."}, {"content": "Well, no."}),
        ("numeric", "2 + 2", 4, {"content": "It is 4."}, {"content": "It is 5."}),
        ("regex", "Say yes", "^y", {"content": "yes"}, {"content": "no"}),
        ("choice", CHOICES, "B", {"content": "B"}, {"content": "A"}),
        ("choice", CHOICES, 1, {"content": "The answer is B. green"}, {"content": "C"}),
        ("choice", CHOICES, "green", {"content": "B"}, {"content": "A"}),
        ("code", {"prompt": "Write add."}, {"test_code": "assert add(1, 2) == 3"},
         {"content": "```python\ndef add(a, b):\n    return a + b\n```"},
         {"content": "```python\nimport os\nos._exit(0)\n```"}),
        ("tool_calls", {"question": "Add 1", "tools": [TOOL]}, [{"add": {"a": [1]}}],
         {"content": None, "tool_calls": [CALL]}, {"content": None, "tool_calls": [OTHER]}),
    ]),
)  # fmt: skip
def test_a_right_answer_passes_and_a_wrong_one_fails(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run],
    kind: str, input: Any, expected: Any, right: dict[str, Any], wrong: dict[str, Any],
) -> None:  # fmt: skip
    answers = [right, wrong]
    model.rule = lambda question: Fault(message=answers.pop(0))
    grader = {"kind": kind}
    rows = [{"task_id": name, "input": input, "expected": expected} for name in ("first", "second")]
    fields = {"grader": grader}
    run = work(launch(alice, model, rows=rows, code=compile_grader(grader), impl_fields=fields, concurrency=1))
    told = TaskResult.objects.filter(run=run, live=True).values_list("outcome", "error_class", "explanation")
    assert (run.status, run.passed, run.failed) == ("ok", 1, 1), list(told)


@pytest.mark.parametrize("params", every(3, [{"temperature": None, "seed": 3}, {"temperature": 0.7}, {}]))
def test_what_is_told_of_the_sampling_is_what_the_provider_was_sent(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], params: dict[str, Any]
) -> None:
    grader = {"kind": "numeric", "model": {"temperature": 0.0, "max_tokens": 64}}
    rows = [{"task_id": "one", "input": "2 + 2", "expected": 4}]
    made = launch(alice, model, rows=rows, code=compile_grader(grader), impl_fields={"grader": grader})
    Run.objects.filter(id=made.id).update(sut={**made.sut, "params": params})
    run = work(Run.objects.get(id=made.id))
    assert run.status == "ok", run.error
    asked = model.twin.requests[0].body
    sent = {name: asked[name] for name in ("temperature", "max_tokens", "seed") if name in asked}
    wanted = {"temperature": 0.0, "max_tokens": 64, **params}
    assert sent == {name: value for name, value in wanted.items() if value is not None}
    told = run_object(run, Principal(alice, frozenset(), ""))["model"]["sampling"]
    assert told == sent == fingerprint(run)["sampling"]
    assert all(f"{name} {value}" in sampling.words_of(run) for name, value in told.items())
