"""The key that pays for a run, while the run goes: rotating spares it, deleting ends it."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections

from accounts.models import User
from accounts.principal import Principal
from registry.models import ImplRegistration
from runs.connections import setting_up
from runs.models import ModelCall, Run, TaskResult
from secrets_vault import vault
from secrets_vault.models import Secret
from tests.factories import launched, planned
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


@pytest.mark.long
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


def over_a_connection(owner: User, model: Model, metadata: dict[str, object], tasks: int) -> Run:
    """A run that was launched, by its owner, over a connection of theirs whose model costs 1 ct a token."""
    prices = {"*": {"input": 10_000, "output": 10_000}}
    wanted = setting_up.Wanted("ai_model", "vllm", f"{model.url}/v1", prices, {}, metadata)
    setting_up.create(Principal(owner, frozenset(), "pat"), "box", wanted, None)
    on = planned.subset(owner, planned.sums(tasks))
    scorer = planned.impl(on, ASK)
    ImplRegistration.objects.create(impl=scorer, owner=owner, label="exact")
    sut = {"model": "twin-1", "connection": "box"}
    return launched.launch(owner, benchmark=on.benchmark_id, subset=on.id, impl=scorer.id, sut=sut, concurrency=2)


def test_a_connections_own_ceiling_halts_the_run(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], settings: Any
) -> None:
    settings.LIMIT_CHECK_SECONDS = 0.1
    model.rule = lambda question: Fault(text=str(int(question.split("+")[0]) + 1), delay=0.2)
    run = work(over_a_connection(alice, model, {"limits": {"run": {"model_cost": 1}}}, tasks=60))
    assert (run.status, run.limits) == ("halted", {})
    assert "connection box" in run.halt_note
    whole(run)
    spent = sum(call.cost or 0 for call in ModelCall.objects.filter(run=run))
    assert run.cost_model == spent > 10**8
    dearest = max(call.cost or 0 for call in ModelCall.objects.filter(run=run))
    assert spent < 10**8 + 12 * dearest, "what was under way when it was seen, and no more"
    assert run.passed > 0
    assert TaskResult.objects.filter(run=run, live=True, outcome="skipped").count() > 30
    assert model.calls == ModelCall.objects.filter(run=run).count() < 30


def test_a_connection_without_a_ceiling_halts_nothing(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    run = work(over_a_connection(alice, model, {}, tasks=24))
    assert (run.status, run.passed, run.halt_note) == ("ok", 24, "")
    assert run.cost_model > 10**8
