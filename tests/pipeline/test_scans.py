"""No run is published in which a value of its owner's secrets stands; the gateway looks."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.db import connections

from accounts.models import User
from runs import publishing, sweeping
from runs.artifacts import records
from runs.models import Output, Run, RunEvent, TaskResult
from secrets_vault import sealing, vault
from secrets_vault.models import Secret
from tests.factories import launched
from tests.factories.processes import GatewayProcess
from tests.sampling import every

pytestmark = pytest.mark.django_db(transaction=True)
VALUE = "kv/3fA9sQ7xLm2+t8Rw"


@pytest.fixture
def kept(alice: User) -> Secret:
    sealing.ensure_keys(settings.KEYS_DIR)
    rule = {"host_pattern": "api.one.example", "inject_kind": "bearer"}
    return vault.create(launched.acting(alice), "ONE_KEY", VALUE, [rule])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "WAIT_SECONDS", 0.5)


def publish(door: Any, run: Run, how: str = "publish") -> Any:
    if how == "publish":
        return door.post(f"runs/{run.id}/publish")
    return door.patch(f"runs/{run.id}", {"visibility": "public"})


def test_a_clean_run_is_published_once_the_gateway_has_looked(
    alice: User, kept: Secret, api: Callable[..., Any], gateway: GatewayProcess
) -> None:
    for how in ("publish", "patch"):
        run = launched.ended(alice)
        answer = publish(api(alice), run, how)
        assert (answer.status, answer.json["visibility"]) == (200, "public"), answer.json
        assert answer.json["scan"]["state"] == "clean"


PLANTED: dict[str, Callable[[Run], object]] = {
    "output of cell 0": lambda run: Output.objects.filter(run=run, ordinal=0).update(
        output=json.dumps({"said": VALUE})
    ),
    "result of t1": lambda run: TaskResult.objects.filter(run=run, ordinal=1).update(explanation=VALUE[::-1]),
    "event 2": lambda run: RunEvent.objects.filter(run=run, seq=2).update(data={"message": VALUE.encode().hex()}),
    "file score.log": lambda run: records.put(run.id, "log", "score.log", f"see {VALUE}".encode()),
    "row t1": lambda run: run.subset.tasks.filter(task_id="t1").update(row=json.dumps({"task_id": "t1", "k": VALUE})),
    "scorer's code": lambda run: type(run.impl).objects.filter(id=run.impl_id).update(code=f"KEY = '{VALUE}'"),
}


@pytest.mark.parametrize("where", every(4, PLANTED))
def test_a_run_that_holds_a_value_is_not(
    alice: User, kept: Secret, api: Callable[..., Any], gateway: GatewayProcess, where: str
) -> None:
    run = launched.ended(alice)
    PLANTED[where](run)
    answer = publish(api(alice), run)
    assert (answer.status, answer.json["code"]) == (409, "secret_found")
    assert answer.json["secret"] == "ONE_KEY"
    assert where in answer.json["where"]
    assert VALUE not in answer.content.decode()
    run.refresh_from_db()
    assert run.visibility == "private"
    assert publish(api(alice), run).json["code"] == "secret_found", "also the second time"


def test_an_older_version_of_a_secret_counts_and_a_strangers_does_not(
    alice: User, bob: User, kept: Secret, api: Callable[..., Any], gateway: GatewayProcess
) -> None:
    vault.rotate(launched.acting(alice), kept, "kv-a-new-value-7Q2z")
    run, theirs = launched.ended(alice), launched.ended(bob)
    Output.objects.filter(ordinal=0).update(output=json.dumps(VALUE))
    assert publish(api(alice), run).json["code"] == "secret_found"
    assert publish(api(bob), theirs).status == 200, "bob keeps no secret: nothing to look for"


def test_without_a_gateway_nothing_is_published_that_might_hold_one(
    alice: User, bob: User, kept: Secret, api: Callable[..., Any], quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "WANTED", "unheard")  # another test's gateway may live over this database
    run = launched.ended(alice)
    for how in ("publish", "patch"):
        answer = publish(api(alice), run, how)
        assert (answer.status, answer.json["code"], answer.headers["Retry-After"]) == (409, "scan_pending", "5")
    run.refresh_from_db()
    assert run.visibility == "private"
    assert publish(api(bob), launched.ended(bob)).status == 200


def test_a_run_that_was_public_from_its_launch_is_looked_through_at_its_end(
    alice: User, kept: Secret, gateway: GatewayProcess
) -> None:
    run = launched.launch(alice, visibility="public")
    run.refresh_from_db()
    assert run.scan_state == "later"
    launched.end_cells(run, {0: "passed"})
    Output.objects.filter(run=run).update(output=json.dumps(VALUE))
    launched.finish(run)
    until = threading.Event()
    for _ in range(100):
        run.refresh_from_db()
        if run.scan_state == "found":
            break
        until.wait(0.1)
    assert run.scan == {**run.scan, "secret": "ONE_KEY", "where": "the output of cell 0"}
    sweeping.sweep()
    run.refresh_from_db()
    assert run.visibility == "private"
    connections.close_all()
