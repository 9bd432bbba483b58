"""Scorers with a judge model: the host asks it, and a verdict that can't be read is no verdict."""

import json
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from registry.graders import compile_grader
from runs import gateway_keys
from runs.models import ModelCall, Run, TaskResult
from tests.factories.processes import GatewayProcess, Model, launch
from tests.pipeline.test_whole_runs import whole
from tests.twins.openai_twin import Fault, Seen

pytestmark = pytest.mark.django_db(transaction=True)

SCORER = textwrap.dedent("""
    from bench_task import BenchTask, chat

    class Task(BenchTask):
        async def solve(self, index, input):
            reply = await chat([{"role": "user", "content": input}])
            return reply["choices"][0]["message"]["content"]

        def judge(self, index, output, expected):
            if output == "skip the judge":
                return None
            if output == "ask for too much":
                return {"messages": [], "schema": {"$ref": "#/x"}}
            text = f"Is {output} the same as {expected}?"
            return {
                "messages": [{"role": "user", "content": text}],
                "schema": {"type": "object", "properties": {"right": {"type": "boolean"}}, "required": ["right"]},
            }

        def score_judged(self, index, output, expected, verdict):
            if verdict is None:
                return 0.0
            return {"score": float(verdict["right"]), "explanation": "the judge said so"}
""")
JUDGE = {"model": "judge-1", "provider": "vllm", "params": {"max_tokens": 50}}


def verdict(right: bool) -> Fault:
    return Fault(text=json.dumps({"right": right}))


def asked_judge(seen: Seen) -> bool:
    return seen.body["model"] == "judge-1"


@pytest.fixture
def judged(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Run]:
    """``judged(rule)`` runs four sums; ``rule(seen)`` is the judge."""
    monkeypatch.setenv("BW_PROVIDER_VLLM_BASE_URL", model.url)
    answer = model.twin.always

    def go(rule: Callable[[Seen], Fault], **fields: Any) -> Run:
        model.twin.always = lambda seen: rule(seen) if asked_judge(seen) else answer(seen)  # type: ignore[misc]
        return work(launch(alice, model, SCORER, impl_fields={"judge": JUDGE}, **fields))

    return go


def calls_of_the_judge(model: Model) -> int:
    return sum(asked_judge(seen) for seen in model.twin.requests)


def test_the_judges_word_decides(judged: Callable[..., Run], model: Model) -> None:
    run = judged(lambda seen: verdict(not seen.body["messages"][0]["content"].startswith("Is 3 ")))
    assert (run.status, run.passed, run.failed) == ("ok", 3, 1)
    whole(run)
    assert calls_of_the_judge(model) == 4
    sent = next(seen.body for seen in model.twin.requests if asked_judge(seen))
    assert sent["max_tokens"] == 50
    assert sent["response_format"]["json_schema"]["schema"]["required"] == ["right"]
    assert TaskResult.objects.filter(run=run, live=True).first().explanation == "the judge said so"
    places = ModelCall.objects.filter(run=run, ordinal__lt=0).values_list("ordinal", flat=True)
    assert sorted(gateway_keys.judged(place) for place in places) == [0, 1, 2, 3]
    assert set(run.served) == {"twin-1 via vllm"}, "who judged is not who was tested"


def test_j21_a_reply_that_is_no_verdict_is_repaired_once(judged: Callable[..., Run], model: Model) -> None:
    def rule(seen: Seen) -> Fault:
        return verdict(True) if len(seen.body["messages"]) > 1 else Fault(text="I would say it is right: 10/10")

    run = judged(rule)
    assert (run.passed, run.unscored) == (4, 0)
    assert calls_of_the_judge(model) == 8


@pytest.mark.parametrize(
    "reply", ["10/10", '{"right": "yes"}', '{"right": 1}', "{}", '{"right": NaN}', "", "[" * 5000, '{"right": true'] * 1
)
def test_j21_an_unreadable_verdict_is_neither_0_nor_1(judged: Callable[..., Run], reply: str) -> None:
    run = judged(lambda seen: Fault(text=reply))
    assert (run.passed, run.failed, run.unscored, run.errored) == (0, 0, 4, 0)
    row = TaskResult.objects.filter(run=run, live=True).first()
    assert (row.error_class, row.score) == ("judge_unparsed", None)
    whole(run)


def test_j22_a_judge_that_is_out_errs_the_cell(judged: Callable[..., Run], model: Model) -> None:
    def rule(seen: Seen) -> Fault:
        out = seen.body["messages"][0]["content"].startswith("Is 2 ")
        return Fault(status=400, body=b'{"error":{"message":"no such model"}}') if out else verdict(True)

    run = judged(rule)
    assert (run.passed, run.errored, run.unscored) == (3, 1, 0)
    row = TaskResult.objects.get(run=run, live=True, outcome="errored")
    assert row.error_class == "judge_error"
    assert "no such model" in row.error_message
    assert run.summary["coverage"] == 0.75


def test_a_question_is_not_always_needed_and_may_be_bad(judged: Callable[..., Run], model: Model) -> None:
    said = {"1": "skip the judge", "2": "ask for too much"}
    model.rule = lambda question: Fault(text=said[question[0]]) if question[0] in said else None
    run = judged(lambda seen: verdict(True))
    assert (run.passed, run.failed, run.unscored) == (2, 1, 1)
    bad = TaskResult.objects.get(run=run, live=True, outcome="unscored")
    assert bad.error_class == "scorer_exception"
    assert "'$ref'" in bad.error_message
    assert calls_of_the_judge(model) == 2


def test_j22_a_killed_gateway_costs_no_verdict(
    judged: Callable[..., Run], gateway: GatewayProcess, model: Model
) -> None:
    killed: list[bool] = []

    def rule(seen: Seen) -> Fault:
        if not killed:
            killed.append(True)
            gateway.kill()
            gateway.start()
        return verdict(True)

    run = judged(rule, concurrency=1)
    assert run.passed + run.errored == 4
    assert run.unscored == run.failed == 0
    whole(run)


def test_the_judge_kit_runs_whole(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BW_PROVIDER_VLLM_BASE_URL", model.url)
    answer = model.twin.always
    grader = {"kind": "judge", "rubric": "The sum is right.", "judge": {"model": "judge-1", "provider": "vllm"}}

    def rule(seen: Seen) -> Fault | None:
        if not asked_judge(seen):
            return answer(seen) if answer else None
        right = "\n3\n" not in seen.body["messages"][1]["content"]
        return Fault(text=json.dumps({"reasoning": "I added", "verdict": "pass" if right else "fail"}))

    model.twin.always = rule
    fields = {"grader": grader, "judge": grader["judge"]}
    run = work(launch(alice, model, compile_grader(grader), impl_fields=fields))
    assert (run.status, run.passed, run.failed) == ("ok", 3, 1)
    wrong = TaskResult.objects.get(run=run, live=True, outcome="failed")
    assert (wrong.output_preview, wrong.explanation, wrong.error_class) == ("3", "The judge: I added", "wrong")
