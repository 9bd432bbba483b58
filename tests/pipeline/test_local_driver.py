"""The bundled local model as driver, for what 135 million parameters can do: never a wrong scorer in silence."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from django.db.models import Sum

from accounts.models import User
from runs import gateway_keys, launching, limits
from runs.local_model.server import MODEL
from runs.models import ModelCall, Phase, Run
from runs.schemas import LaunchBody
from tests.factories import planned, wheels
from tests.factories import runs as make
from tests.factories.launched import acting
from tests.factories.processes import ROOT, GatewayProcess, Model
from tests.pipeline.test_llm_finding import sums
from tests.pipeline.test_whole_runs import whole
from tests.ports import free_port

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
DRIVER = {"model": MODEL, "provider": "local"}
SECONDS = 120


@pytest.fixture(scope="module")
def local() -> Iterator[str]:
    """The base URL of a local model of our own."""
    folder = wheels.local_model()
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "local_model", "--port", str(port)],
        env={**os.environ, "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}, cwd=ROOT,
    )  # fmt: skip
    until = time.monotonic() + SECONDS
    while True:
        assert process.poll() is None, "the local model did not start"
        try:
            if httpx.get(f"http://127.0.0.1:{port}/v1/models", trust_env=False).status_code == 200:
                break
        except httpx.HTTPError:
            pass
        assert time.monotonic() < until, "the local model does not answer"
        time.sleep(0.2)
    yield f"http://127.0.0.1:{port}/v1"
    process.terminate()
    process.wait(30)


@pytest.fixture
def driven(local: str, gateway: GatewayProcess, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything that asks the provider `local` reaches that model."""
    monkeypatch.setenv("BW_PROVIDER_LOCAL_BASE_URL", local)
    gateway.stop()
    gateway.socket.unlink(missing_ok=True)
    gateway.start(BW_PROVIDER_LOCAL_BASE_URL=local)
    return local


def was_asked(run: Run, phase: str) -> None:
    """The driver's calls are in the journal, at the phase's place, and their tokens on the phase."""
    place = -1 - limits.PHASES.index(phase)
    calls = ModelCall.objects.filter(run=run, ordinal=place, status="settled")
    assert calls.exists()
    assert gateway_keys.role_of(place) == gateway_keys.DRIVER
    assert set(calls.values_list("model_served", flat=True)) == {MODEL}
    spent = calls.aggregate(tokens=Sum("tokens_in") + Sum("tokens_out"))["tokens"]
    assert Phase.objects.get(run=run, name=phase).tokens == spent > 0
    assert run.cost_driver == 0, "it is free"
    assert MODEL not in "".join(run.served), "the model under test is another one"


def sut(model: Model) -> dict[str, Any]:
    return {"model": "twin-1", "provider": "vllm", "base_url": model.url, "params": {}, "connection": None}


def test_it_chooses_one_of_the_benchmarks_that_were_found_or_the_run_says_that_it_cannot(
    alice: User, driven: str, model: Model, work: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BW_PROVIDER_VLLM_BASE_URL", model.url)
    sums(alice, "Small sums", 3)
    sums(alice, "Large sums", 5)
    words = "Run Small sums or Large sums, whichever has more rows"
    body = {"request": words, "sut": {"model": "twin-1", "provider": "vllm"}, "driver": DRIVER}
    run = work(launching.launch(acting(alice), LaunchBody.model_validate(body)))
    was_asked(run, "find")
    if run.status == "ok":
        whole(run)
        assert (run.benchmark.name, run.planned) in {("Small sums", 3), ("Large sums", 5)}
        assert any(f"The driver {MODEL} chose" in note for note in run.findings["find"]["notes"])
        assert run.passed == run.planned == model.calls
    else:
        assert (run.status, run.error["phase"]) == ("failed", "find")
        assert model.calls == 0


def test_a_scorer_of_its_making_has_proved_itself_or_there_is_none(
    alice: User, driven: str, model: Model, work: Callable[..., Run]
) -> None:
    made = planned.run(
        alice, planned.sums(6), plan=["atomize", "materialize", "report"], sut=sut(model), driver=DRIVER, impl=None,
        findings={"find": {}, "analyze": {"kind": "math", "chance": 0.0}}, mode="request", request="Run my sums",
    )  # fmt: skip
    run = work(made)
    was_asked(run, "atomize")
    if run.status == "ok":
        whole(run)
        assert run.impl.verdict["badge"] == "proven"
        assert run.findings["atomize"]["impl"] == run.impl_id
    else:
        assert (run.status, run.error["phase"]) == ("failed", "atomize")
        assert run.error["code"] in ("phase_failed", "cannot_apply")
        assert MODEL in run.error["message"]
        assert (run.impl_id, model.calls) == (None, 0)


def test_it_narrates_with_no_number_but_the_runs(api: Any, alice: User, driven: str) -> None:
    run = make.done(alice, driver=DRIVER)
    told = api(alice).post(f"runs/{run.id}/narrate", {"slice": "recent"})
    assert told.status == 201
    assert told.json["driver"] == DRIVER
    assert told.json["source"] in ("driver", "builtin")
    assert (told.json["notice"] is None) is (told.json["source"] == "driver")
    calls = ModelCall.objects.filter(run=run, ordinal=gateway_keys.NARRATED, status="settled")
    assert 1 <= calls.count() <= 2
    assert Phase.objects.get(run=run, name="report").tokens > 0
