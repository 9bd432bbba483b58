"""H-22, as a run sees it: a provider that is away for a while costs time, and the run says what it waits for."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings

from accounts.models import User
from runs.harnesses.benchwright import engine
from runs.models import Run, RunEvent, TaskResult
from tests.factories import planned
from tests.factories.processes import GatewayProcess, Model, gateway, launch, model, work
from tests.twins.openai_twin import Fault

__all__ = ["gateway", "model", "work"]
pytestmark = pytest.mark.django_db(transaction=True)
SAID = r"vllm \(twin-1\) has answered with faults for \d+ s, .+"


def test_h22_an_outage_costs_time_and_no_cell(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PROGRESS_SECONDS", 0.1)
    begun: list[float] = []

    def rule(question: str) -> Fault | None:
        begun.append(time.monotonic())
        return Fault(503) if time.monotonic() - begun[0] < 1.5 else None

    model.rule = rule
    run = work(launch(alice, model, rows=planned.sums(12)))
    assert (run.status, run.passed, run.failed, run.errored) == ("ok", 12, 0, 0)
    assert set(TaskResult.objects.filter(run=run).values_list("attempt", flat=True)) == {1}  # nobody began anew
    told = RunEvent.objects.filter(run=run, type="PhaseProgress").values_list("data__waiting", flat=True)
    assert [words for words in told if words and re.fullmatch(SAID, words)], list(told)


def test_h22_poison_rows_end_with_what_was_said_to_them_and_cost_no_healthy_row(
    alice: User, transactional_db: None, model: Model, work: Callable[..., Run], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    impatient = GatewayProcess(tmp_path, {"BENCHWRIGHT_MODEL_RETRY_SECONDS": "1", "BENCHWRIGHT_MODEL_TRIES": "2"})
    monkeypatch.setattr(settings, "GATEWAY_SOCKET", str(impatient.socket))
    impatient.start()
    try:
        kaboom = Fault(500, body=b'{"error": {"message": "kaboom"}}')
        model.rule = lambda question: kaboom if int(question.split("+")[0]) < 8 else None
        run = work(launch(alice, model, rows=planned.sums(20)))
    finally:
        impatient.stop()
    assert (run.passed, run.failed, run.errored) == (12, 0, 8)
    told = TaskResult.objects.filter(run=run, outcome="errored").values_list("error_message", flat=True)
    assert ["answered 500: kaboom" in words for words in told] == [True] * 8, list(told)
