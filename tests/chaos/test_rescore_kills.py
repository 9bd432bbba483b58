"""kill -9 while stored outputs are graded anew: each cell once, nobody asked, and a terminal state."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings

from accounts.models import User
from registry.models import ImplRegistration
from runs.forking import making
from runs.models import ModelCall, Output, Run, TaskResult
from runs.schemas import ForkBody
from tests.chaos.rig import Rig, check
from tests.chaos.test_kill_points import counts
from tests.factories import launched, planned
from tests.factories.processes import ASK, GatewayProcess, Model, launch
from tests.twins.openai_twin import Fault

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
OWN = ("R1",)
SHARED = ("P1", "P2", "P6", "P7", "F1")  # with every run


@pytest.mark.parametrize(("point", "count"), [*counts(OWN), *counts(SHARED, pytest.mark.long)])
def test_d01_a_worker_killed_here_grades_each_output_once(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], tmp_path: Path, point: str,
    count: int, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(settings, "ARTIFACTS_DIR", tmp_path / "artifacts")
    model.rule = lambda question: Fault(status=400, body=b"{}") if question.startswith("7 ") else None
    parent = work(launch(alice, model, rows=planned.sums(12)))
    assert (parent.passed, parent.errored) == (11, 1)
    model.twin.requests.clear()
    assert parent.subset is not None
    impl = planned.impl(parent.subset, ASK.replace("output == expected", "output == expected and output != '3'"))
    ImplRegistration.objects.create(impl=impl, owner=alice)
    body = ForkBody.model_validate({"impl": impl.id, "mode": "rescore"})
    rig = Rig(making.fork(launched.acting(alice), str(parent.id), body), gateway, tmp_path)
    armed = rig.armed(point, count)
    rig.worker(BENCHWRIGHT_FAULT=armed)
    run = rig.until_terminal(BENCHWRIGHT_FAULT=armed)
    assert rig.once.exists(), f"{point} was never reached"
    assert (run.status, run.passed, run.failed, run.errored) == ("ok", 10, 1, 1)
    check(run, model)
    assert not TaskResult.objects.filter(run=run, reused=False).exists()
    assert Output.objects.filter(run=run).count() == 11
    assert not ModelCall.objects.filter(run=run).exists()
    assert rig.left() == []
