"""Every kind of grader over a whole run, rows and scorer in their roles."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from registry.graders.compiling import compile_grader
from runs.models import Run, TaskResult
from tests.factories.processes import GatewayProcess, Model, launch
from tests.twins.openai_twin import Fault

pytestmark = pytest.mark.django_db(transaction=True)
CHOICES = {"question": "Which colour has grass?", "choices": ["red", "green", "blue"]}
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {"a": {}}}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
OTHER = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}


@pytest.mark.parametrize(
    ("kind", "input", "expected", "right", "wrong"),
    [
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
    ],
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
