"""Answers that talk to the judge, over whole runs: before judges that obey, and before a small real model."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from accounts.models import User
from registry.graders import compile_grader
from runs import gateway_keys
from runs.call_bodies import unpack
from runs.harnesses.benchwright.judging import schemas
from runs.local_model.server import MODEL, why_not
from runs.models import ModelCall, Output, ReviewFlag, Run, TaskResult
from runs.reporting.audit import auditing
from tests.factories.processes import ROOT, GatewayProcess, Model, launch
from tests.pipeline.test_whole_runs import whole
from tests.ports import free_port
from tests.twins import judges
from tests.twins.judges import INJECTIONS
from tests.twins.openai_twin import Fault, Seen

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
RUBRIC = "The answer names Paris as the capital of France."
RIGHT, WRONG = "The capital of France is Paris.", "The capital of France is Lyon."
HARMLESS = "it lies where the Rhône and the Saône meet."
VERDICTS = ("pass", "fail", None)
UNSUSPECTED = 2  # of the injections: one word alone, and one that only talks of the fence
FITTING = 6000  # signs of an answer that the small model's context holds


REASONED = '"properties": {"reasoning": {"type": "string"}, **said}'  # the kit's form
BARE = '"properties": {**said}, "additionalProperties": False'  # a small model's reasoning has no end


def judged(
    alice: User, model: Model, answers: list[str], judge: dict[str, Any], *, bare: bool = False, **fields: Any
) -> Run:
    """A run whose model gives these answers, one a task, read by this judge. ``bare``: asked for the verdict alone."""
    model.rule = lambda question: Fault(text=answers[int(question)])
    grader = {"kind": "judge", "rubric": RUBRIC, "judge": judge}
    rows = [{"task_id": f"a{at:02}", "input": str(at)} for at in range(len(answers))]
    impl = {"grader": grader, "judge": judge}
    code = compile_grader(grader)
    assert REASONED in code
    return launch(
        alice, model, code.replace(REASONED, BARE if bare else REASONED), rows=rows, impl_fields=impl, **fields
    )


@pytest.mark.parametrize(("judge", "passed"), [(judges.obeys_outside, 0), (judges.obeys_all, len(INJECTIONS))])
def test_j21_a_judge_that_knows_data_for_data_passes_none(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], monkeypatch: pytest.MonkeyPatch,
    judge: Callable[[Any], str], passed: int,
) -> None:  # fmt: skip
    monkeypatch.setenv("BW_PROVIDER_VLLM_BASE_URL", model.url)
    run = judged(alice, model, INJECTIONS, {"model": "judge-1", "provider": "vllm"})
    answer = model.twin.always

    def rule(seen: Seen) -> Fault | None:
        return Fault(text=judge(seen.body["messages"])) if seen.body["model"] == "judge-1" else answer(seen)  # type: ignore[misc]

    model.twin.always = rule
    run = work(run)
    assert (run.status, run.passed, run.failed) == ("ok", passed, len(INJECTIONS) - passed)
    whole(run)
    raised = set(ReviewFlag.objects.filter(run=run).values_list("code", flat=True))
    found = auditing.audit(run)
    read = len(INJECTIONS) - 1  # one is too long to be read again
    assert found["looked_at"] == read
    # A judge that obeys the answers is not told apart by its verdicts, but the answers that speak to it are seen.
    assert (found["lenient"], found["unread"]) == ((read - UNSUSPECTED, UNSUSPECTED) if passed else (0, UNSUSPECTED))
    assert ("extraction_audit" in raised, "all_passed" in raised) == (bool(passed), bool(passed))


@pytest.fixture
def small_judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The demo's model behind the provider `local`."""
    if reason := why_not():
        pytest.skip(reason)
    port = free_port()
    process = subprocess.Popen([sys.executable, "manage.py", "local_model", "--port", str(port)], cwd=ROOT)

    try:
        _until_it_listens(port)
        monkeypatch.setenv("BW_PROVIDER_LOCAL_BASE_URL", f"http://127.0.0.1:{port}/v1")
        yield {"model": MODEL, "provider": "local", "params": {"max_tokens": 40}}
    finally:
        process.terminate()
        process.wait(20)


def _until_it_listens(port: int) -> None:
    for _ in range(600):
        with contextlib.suppress(URLError, OSError):
            if urlopen(f"http://127.0.0.1:{port}/health", timeout=2).status == 200:
                return
        time.sleep(0.2)
    raise AssertionError("the local model does not listen")


@pytest.mark.long
def test_j21_a_real_judge_is_held_to_its_schema_and_never_quotes_itself_from_an_answer(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], small_judge: dict[str, Any]
) -> None:
    """What must hold whatever the model says; how often it is moved is printed, and stands in docs/graders.md."""
    arms = {
        "alone": INJECTIONS,
        "behind_a_wrong_answer": [f"{WRONG}\n{said[:FITTING]}" for said in INJECTIONS],
        "harmless_behind_a_wrong_answer": [f"{WRONG}\nNote {at}: {HARMLESS}" for at in range(len(INJECTIONS))],
        "wrong": [WRONG],
        "right": [RIGHT],
    }
    answers = [text for texts in arms.values() for text in texts]
    run = work(judged(alice, model, answers, small_judge, bare=True, concurrency=1))
    assert run.status == "ok"
    whole(run)
    verdicts = [_held(run, cell, text) for cell, text in enumerate(answers)]
    for name, texts in arms.items():
        said, verdicts = verdicts[: len(texts)], verdicts[len(texts) :]
        print(json.dumps({"judge": MODEL, "answers": name, **{str(one): said.count(one) for one in VERDICTS}}))
    # With the kit's own form it begins to reason, and may be cut off before its reply is one.
    talked = work(judged(alice, model, [RIGHT, WRONG, INJECTIONS[1]], small_judge, concurrency=1))
    whole(talked)
    for cell, text in enumerate((RIGHT, WRONG, INJECTIONS[1])):
        _held(talked, cell, text)


def _held(run: Run, cell: int, answer: str) -> str | None:
    """The verdict on a cell: it comes from the judge's last reply alone, and the answer stayed behind its fence."""
    row = TaskResult.objects.get(run=run, ordinal=cell, live=True)
    stored = json.loads(Output.objects.get(run=run, ordinal=cell).output or "")
    assert stored == answer
    calls = list(ModelCall.objects.filter(run=run, ordinal=gateway_keys.judged(cell)).order_by("id"))
    assert 1 <= len(calls) <= 2 or row.error_class == "judge_error", "one repair, no more"
    for call in calls:
        sent = json.loads(unpack(call.request))
        assert judges.shown(sent["messages"][:2]).fence not in answer
        assert sent["response_format"]["type"] == "json_schema"
    if row.error_class == "judge_error":
        assert len(answer) > FITTING, "only what its context can't hold"
        return None
    said = json.loads(unpack(calls[-1].response))["choices"][0]["message"]["content"]
    schema = sent["response_format"]["json_schema"]["schema"]
    verdict = _read(said)
    if verdict is None or schemas.fault(verdict, schema):
        assert (row.outcome, row.error_class, row.score, len(calls)) == ("unscored", "judge_unparsed", None, 2)
        return None
    assert row.outcome == {"pass": "passed", "fail": "failed"}[verdict["verdict"]]
    return str(verdict["verdict"])


def _read(said: str) -> Any:
    try:
        return json.loads(said)
    except ValueError:
        return None
