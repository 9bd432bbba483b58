"""Whole runs through the real parts: gateway process, three sandboxes, database, a provider's twin."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from accounts.models import User
from accounts.principal import Principal
from runs.models import ModelCall, Output, Run, RunEvent, TaskResult
from secrets_vault import sealing, vault
from tests.factories import planned
from tests.factories.processes import ASK, GatewayProcess, Model, launch
from tests.twins.openai_twin import Fault

pytestmark = pytest.mark.django_db(transaction=True)


def whole(run: Run) -> None:
    """Every planned cell once, events without a gap, tallies that say what the rows say."""
    rows = TaskResult.objects.filter(run=run, live=True)
    assert sorted(rows.values_list("ordinal", flat=True)) == list(range(run.planned))
    assert run.passed + run.failed + run.unscored + run.errored + run.skipped == run.planned
    assert rows.filter(outcome="passed").count() == run.passed
    seqs = list(RunEvent.objects.filter(run=run).order_by("seq").values_list("seq", flat=True))
    assert seqs == list(range(1, run.last_seq + 1))
    results = RunEvent.objects.filter(run=run, type="MaterializeTaskResult").values_list("data__ordinal", flat=True)
    assert len(set(results)) == len(results)


def with_a_key(
    owner: User, gateway: GatewayProcess, model: Model, provider: str = "openrouter", host: str = "openrouter.ai"
) -> dict[str, Any]:
    """A paid provider whose address the operator has moved to the twin, and the owner's own key for it."""
    sealing.ensure_keys(settings.KEYS_DIR)
    rule = {"host_pattern": host, "inject_kind": "bearer"}
    name = f"{provider.upper()}_API_KEY"
    secret = vault.create(Principal(owner, frozenset(), "pat"), name, "sk-or-v1-0123456789", [rule])
    gateway.stop()
    gateway.socket.unlink(missing_ok=True)
    gateway.start(**{f"BW_PROVIDER_{provider.upper()}_BASE_URL": model.url})
    return {
        "sut": {"model": "t/one", "provider": provider, "base_url": model.url, "params": {}, "connection": None},
        "sut_key": {
            "kind": "secret", "secret": secret.id, "version": 1, "inject_kind": "bearer",
            "inject_target": "Authorization", "host": host,
        },
    }  # fmt: skip


def test_it_carries_a_pinned_run_to_an_honest_end(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    model.rule = lambda question: Fault(text="no idea") if question.startswith("3 ") else None
    run = work(launch(alice, model, rows=planned.sums(12)))
    assert (run.status, run.passed, run.failed) == ("ok", 11, 1)
    whole(run)
    assert model.calls == 12
    assert ModelCall.objects.filter(run=run, status="settled").count() == 12
    assert run.summary["pass_rate"] == pytest.approx(11 / 12)
    assert run.summary["coverage"] == 1.0
    wrong = TaskResult.objects.get(run=run, outcome="failed")
    assert (wrong.task_id, wrong.error_class, wrong.output_preview) == ("q00003", "wrong", "no idea")
    kinds = list(RunEvent.objects.filter(run=run).order_by("seq").values_list("type", flat=True))
    assert kinds[0] == "RunStarted"
    assert kinds[-1] == "RunCompleted"
    assert kinds.count("PhaseStarted") == kinds.count("PhaseCompleted") == 2


def test_a_provider_that_stays_down_errs_the_cell_and_no_other(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    model.rule = lambda question: Fault(status=400, body=b'{"error":{"message":"bad"}}') if question[0] == "1" else None
    run = work(launch(alice, model))
    assert (run.status, run.passed, run.errored) == ("ok", 3, 1)
    whole(run)
    assert run.summary["coverage"] == 0.75
    assert run.summary["bounds"] == {"worst": 0.75, "best": 1.0}


def test_a_scorer_that_swallows_a_provider_fault_gets_no_wrong_answer(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    swallowing = ASK.replace("reply.raise_for_status()", "if reply.status_code != 200: return ''")
    model.rule = lambda question: Fault(status=400, body=b"{}") if question[0] == "1" else None
    run = work(launch(alice, model, swallowing))
    assert (run.passed, run.errored, run.failed) == (3, 1, 0)


@pytest.mark.parametrize(
    ("bad", "outcome", "error_class"),
    [
        ("raise KeyError('choices')", "unscored", "scorer_exception"),
        ("os._exit(0)", "errored", "sandbox_dead"),
        ("import ctypes; ctypes.string_at(0)", "errored", "sandbox_dead"),
    ],
)
def test_a_solve_that_fails_costs_its_own_cell(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], bad: str, outcome: str,
    error_class: str,
) -> None:  # fmt: skip
    code = ASK.replace("        reply = ", f"        if input.startswith('2 '): {bad}\n        reply = ")
    run = work(launch(alice, model, code, rows=planned.sums(10)))
    whole(run)
    assert run.passed == 9
    culprit = TaskResult.objects.get(run=run, ordinal=2)
    assert (culprit.outcome, culprit.error_class) == (outcome, error_class)
    assert run.summary["bounds"] == {"worst": 0.9, "best": 1.0}
    if outcome == "errored":  # it leaves the rate: whoever reads that must see how much it is of
        assert (run.summary["pass_rate"], run.summary["coverage"]) == (1.0, 0.9)
        browser = Client()
        browser.force_login(alice)
        page = re.sub(r"<[^>]+>", "", browser.get(f"/runs/{run.id}").content.decode())
        assert "Coverage 90.0%: 9 of 10 tasks count" in page
        assert "90.0% if all 1 task without a score were wrong, 100.0% if all were right" in page
    assert model.calls == 9  # the others were answered from the journal when they ran again


@pytest.mark.parametrize(
    ("score", "error_class"),
    [
        ("raise ValueError('no')", "scorer_exception"),
        ("return float('nan')", "invalid_score"),
        ("return 2.0", "invalid_score"),
        ("return None", "invalid_score"),
        ("os._exit(0)", "scorer_exception"),
    ],
)
def test_a_score_that_fails_unscores_its_own_cell(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], score: str, error_class: str
) -> None:
    code = ASK.replace("        return 1.0 if", f"        if output == '3': {score}\n        return 1.0 if")
    run = work(launch(alice, model, code, rows=planned.sums(8)))
    whole(run)
    assert (run.passed, run.unscored) == (7, 1)
    assert TaskResult.objects.get(run=run, ordinal=2).error_class == error_class
    assert Output.objects.get(run=run, ordinal=2).output == '"3"'


def test_each_trial_is_a_cell(alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]) -> None:
    run = work(launch(alice, model, trials=3))
    whole(run)
    assert run.planned == run.passed == 12
    assert model.calls == 12
    assert TaskResult.objects.get(run=run, ordinal=4).trial == 1


def test_a_missing_key_fails_the_run_and_says_so(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    run = work(launch(alice, model, sut_key={
        "kind": "secret", "secret": "sec_gone", "version": 1, "inject_kind": "bearer",
        "inject_target": "Authorization", "host": "127.0.0.1",
    }))  # fmt: skip
    assert run.status == "failed"
    assert run.error["phase"] == "materialize"
    assert run.error["hint"]
    whole(run)
    assert model.calls == 0


@pytest.mark.parametrize(("bad", "said"), [("import no_such_module", "no_such_module"), ("import os; os._exit(0)", "")])
def test_a_scorer_that_does_not_load_fails_the_run_before_a_call_is_paid(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], bad: str, said: str
) -> None:
    run = work(launch(alice, model, f"{bad}\n{ASK}"))
    assert (run.status, run.error["code"]) == ("failed", "scorer_broken")
    assert said in run.error["message"]
    whole(run)
    assert model.calls == 0


@pytest.mark.long
def test_waiting_for_the_provider_is_not_the_attempts_time(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    refused: set[str] = set()

    def once(question: str) -> Fault | None:
        if question in refused:
            return None
        refused.add(question)
        return Fault(status=429, headers={"retry-after": "3"}, body=b'{"error":{"message":"slow down"}}')

    model.rule = once
    run = work(launch(alice, model, limits={"attempt": {"duration": 2}}))
    assert (run.status, run.passed) == ("ok", 4)
    whole(run)
    assert model.calls == 8
    retries = RunEvent.objects.filter(run=run, type="ModelRetry")
    assert {event.data["status"] for event in retries} == {429}
    assert all(row.attempt == 1 and row.duration_ms < 2500 for row in TaskResult.objects.filter(run=run))


def test_a_cost_ceiling_keeps_and_scores_what_is_paid_for(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    def priced(question: str) -> Fault:
        n = int(question.split("+")[0])
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "cost": 0.25}
        return Fault(text=str(n + 1), usage=usage, delay=0.05)

    model.rule = priced
    paying = with_a_key(alice, gateway, model)
    run = work(planned.run(alice, planned.sums(30), code=ASK, limits={"run": {"cost": 1.0}}, concurrency=2, **paying))
    assert (run.status, run.halt_reason) == ("halted", "limit_exceeded:run.cost")
    whole(run)
    paid = sum(TaskResult.objects.filter(run=run).values_list("cost", flat=True))
    assert paid == run.cost_model == model.calls * 25_000_000
    assert run.passed == model.calls
    assert 4 <= model.calls <= 8
    assert run.skipped == 30 - run.passed


@pytest.mark.long
def test_cells_that_had_begun_are_told_from_those_that_had_not(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    """Some cells are at work when the ceiling is reached, and none of them has asked a model."""
    code = planned.ECHO.replace("return input", "import time; time.sleep(60); return input")
    run = work(planned.run(alice, planned.sums(9), code=code, limits={"run": {"duration": 3}}, concurrency=2))
    assert (run.status, run.skipped, model.calls) == ("halted", 9, 0), run.error
    begun = RunEvent.objects.filter(run=run, type="MaterializeTaskStarted").values_list("data__ordinal", flat=True)
    skipped = TaskResult.objects.filter(run=run, outcome="skipped", attempt__gt=0)
    assert set(skipped.values_list("ordinal", flat=True)) == set(begun)
    assert 0 < len(begun) < 9


def test_a_ceiling_that_can_not_bind_says_so(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    run = work(planned.run(alice, code=ASK, limits={"run": {"cost": 1.0}}, **with_a_key(alice, gateway, model)))
    assert run.passed == 4
    warned = RunEvent.objects.get(run=run, type="LimitWarning")
    assert warned.data["limit"] == "run.cost"


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"upstream down","code":502}}',
        b'{"choices":[]}',
        b'{"choices":[{"error":{"code":502,"message":"x"},"message":{"content":""},"finish_reason":"error"}]}',
        b'{"choices":[{"message":{"role":"assistant","content":"1"},"finish_reason":"error"}]}',
    ],
)
def test_a_fault_that_calls_itself_200_is_tried_again_and_never_scored(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], body: bytes
) -> None:
    failed_once: set[str] = set()

    def rule(question: str) -> Fault | None:
        if question in failed_once:
            return None
        failed_once.add(question)
        return Fault(body=body)

    model.rule = rule
    run = work(launch(alice, model))
    whole(run)
    assert (run.passed, model.calls) == (4, 8)
    assert RunEvent.objects.filter(run=run, type="ModelRetry").count() == 4


def test_d24_a_ceiling_on_an_attempts_tokens_skips_its_cell_and_says_so(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    run = work(launch(alice, model, rows=planned.sums(3), limits={"attempt": {"tokens": 5}}))
    rows = TaskResult.objects.filter(run=run, live=True)
    assert {(row.outcome, row.error_class, row.error_message) for row in rows} == {
        ("skipped", "budget", "attempt.tokens was reached by this task")
    }
    assert run.tokens_in + run.tokens_out == sum(row.tokens_in + row.tokens_out for row in rows) >= 15
    assert model.calls == 3


def test_an_attempt_that_is_stopped_names_the_limit_that_stopped_it(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    model.rule = lambda question: Fault(delay=30)
    run = work(launch(alice, model, rows=planned.sums(1), limits={"task": {"duration": 0.5}}))
    row = TaskResult.objects.get(run=run, live=True)
    assert (row.outcome, row.error_class) == ("errored", "timeout")
    assert "limits.task.duration = 0.5 s" in row.error_message
