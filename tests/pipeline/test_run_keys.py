"""The key that pays for a run, while the run goes: rotating spares it, deleting ends it."""

import threading
import time
from collections.abc import Callable

import pytest
from django.db import connections

from accounts.models import User
from accounts.principal import Principal
from runs.models import ModelCall, Run, TaskResult
from secrets_vault import vault
from secrets_vault.models import Secret
from tests.factories import planned
from tests.factories.processes import ASK, GatewayProcess, Model
from tests.pipeline.test_whole_runs import whole, with_a_key
from tests.twins.openai_twin import Fault

pytestmark = pytest.mark.django_db(transaction=True)


def meanwhile(model: Model, calls: int, act: Callable[[], object]) -> tuple[threading.Thread, list[float]]:
    """Does ``act`` in a thread once the provider has had that many calls; the moments at which it was done."""
    done: list[float] = []

    def wait() -> None:
        try:
            until = time.monotonic() + 20
            while model.calls < calls and time.monotonic() < until:
                time.sleep(0.01)
            act()
            done.append(time.monotonic())
        finally:
            connections.close_all()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread, done


def test_g06_rotating_the_key_spares_the_run_that_goes(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    model.rule = lambda question: Fault(text=str(int(question.split("+")[0]) + 1), delay=0.3)
    run = planned.run(alice, planned.sums(12), code=ASK, concurrency=2, **with_a_key(alice, gateway, model))
    owner, secret = Principal(alice, frozenset(), "pat"), Secret.objects.get()
    thread, _ = meanwhile(model, 2, lambda: vault.rotate(owner, secret, "sk-or-v1-another-value"))
    run = work(run)
    thread.join()
    assert (run.status, run.passed) == ("ok", 12)
    assert {seen.headers["authorization"] for seen in model.twin.requests} == {"Bearer sk-or-v1-0123456789"}
    assert Secret.objects.get().version == 2


def test_g06_deleting_the_key_ends_the_run_that_goes_within_two_seconds(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    model.rule = lambda question: Fault(text="1", delay=0.2 if question[0] == "0" else 30)
    run = planned.run(alice, planned.sums(40), code=ASK, concurrency=4, **with_a_key(alice, gateway, model))
    owner, secret = Principal(alice, frozenset(), "pat"), Secret.objects.get()
    thread, deleted = meanwhile(model, 4, lambda: vault.delete(owner, secret))
    run = work(run)
    ended = time.monotonic()
    thread.join()
    last = max(call.settled_at for call in ModelCall.objects.filter(run=run))
    assert (run.status, run.error["code"]) == ("failed", "secret_revoked")
    assert "only_errored" in run.error["hint"]
    assert last is not None
    assert (last - Secret.objects.get().deleted_at).total_seconds() < 2
    assert ended - deleted[0] < 10
    whole(run)
    rows = TaskResult.objects.filter(run=run, live=True).exclude(outcome__in=("passed", "failed"))
    assert rows.count() >= 36
    assert set(rows.values_list("outcome", "error_class")) == {("errored", "missing_secret")}
    calls = model.calls
    assert calls <= 8, "nothing is asked again"
    assert work(run).status == "failed"
    assert model.calls == calls
