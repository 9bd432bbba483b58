"""Scaled out: parts of their own over one PostgreSQL and one Redis, two hosts with a gateway each, two web servers."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from accounts.models import User
from runs import states
from runs.compute.watching import tree
from runs.models import ModelCall, Run, Shard
from tests.chaos.rig import check
from tests.factories import planned
from tests.factories.processes import ASK, Model, launch
from tests.operations.serving import alive, began, until
from tests.ports import free_port
from tests.scaled.conftest import Parts
from tests.scaled.hosts import Part, command
from tests.scaled.test_deploy import NGINX, front_conf
from tests.twins.openai_twin import Fault, Seen

pytestmark = [pytest.mark.scaled, pytest.mark.django_db(transaction=True)]
TASKS, AT_ONCE = 60, 4  # four shards of fifteen
START_SECONDS = 180  # a host's first sandbox tries 250 ways out, and may have its runtime to make
PATIENT = ASK.replace("timeout=30", f"timeout={2 * START_SECONDS}")
RECORDED_SECONDS = 1.0  # a gateway writes what ended every 0.1 s; the rest is for a busy machine


def ended(run: Run, seconds: float = 90) -> Run:
    over = Run.objects.filter(id=run.id, status__in=states.TERMINAL)
    until(over.exists, seconds, f"the run ends; it has {Run.objects.values('status', 'passed').get(id=run.id)}")
    return Run.objects.get(id=run.id)


def pids(run: Run, **wanted: Any) -> set[int]:
    """Processes of workers that took shards of the run: a lease names its holder as host:pid:…"""
    owners = Shard.objects.filter(run=run, phase="materialize", **wanted).exclude(lease_owner="")
    return {int(owner.split(":")[1]) for owner in owners.values_list("lease_owner", flat=True)}


def check_asked(run: Run, model: Model, *, in_hand: int) -> None:
    """Each lapse of a lease cost at most ``in_hand`` calls, and no call was made anew whose answer was recorded."""
    claims = Shard.objects.filter(run=run).values_list("attempt_no", flat=True)
    lapses = sum(claims) - len(claims)
    check(run, model, calls_in_doubt=in_hand * lapses)
    wall = time.time() - time.monotonic()  # the twin notes the latter
    recorded = {
        call.ordinal: call.settled_at.timestamp() for call in ModelCall.objects.filter(run=run, status="settled")
    }
    assert len(recorded) == TASKS
    for seen in model.twin.requests:
        cell = int(seen.body["messages"][-1]["content"].split("+")[0])
        assert seen.at + wall < recorded[cell] + RECORDED_SECONDS, f"{cell} was asked again"


def test_three_workers_share_one_run_and_finish_it(alice: User, parts: Parts, slow_model: Model) -> None:
    answer, each_has_some = slow_model.twin.always, threading.Event()

    def held(seen: Seen) -> Fault:
        fault = answer(seen)
        fault.held = each_has_some
        return fault

    slow_model.twin.always = held
    run = launch(alice, slow_model, PATIENT, rows=planned.sums(TASKS), concurrency=AT_ONCE)
    until(lambda: len(pids(run, status="leased")) == len(parts.workers), START_SECONDS, "each of the three has some")
    each_has_some.set()
    done = ended(run)
    assert (done.status, done.passed) == ("ok", TASKS)
    check(done, slow_model)
    assert pids(done) == {worker.process.pid for worker in parts.workers}, "each of the three did some"
    assert slow_model.calls == TASKS, "two gateways, no call twice"


def test_a_worker_killed_in_the_middle_costs_at_most_what_it_had_in_flight(
    alice: User, parts: Parts, slow_model: Model
) -> None:
    run = launch(alice, slow_model, rows=planned.sums(TASKS), concurrency=AT_ONCE)
    until(lambda: len(pids(run, status="leased")) > 1 and slow_model.calls > 8, START_SECONDS, "several are at work")
    victim = next(worker for worker in parts.workers if worker.process.pid in pids(run, status="leased"))
    below = {(pid, start) for pid in tree(victim.process.pid) if (start := began(pid))}
    victim.kill()
    done = ended(run)
    assert (done.status, done.passed) == ("ok", TASKS)
    check_asked(done, slow_model, in_hand=AT_ONCE)  # another host's gateway can't know of calls still under way
    assert Shard.objects.filter(run=run, attempt_no__gt=1).exists(), "somebody took over what it held"
    assert len(below) > 1
    until(lambda: not any(map(alive, below)), 10, "no sandbox of the dead worker is left")


def post(client: httpx.Client, path: str, body: dict[str, Any]) -> Any:
    answer = client.post(f"/v1{path}", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def launched(client: httpx.Client) -> str:
    """A run of six tasks, launched as anybody would: over the API."""
    benchmark = post(client, "/benchmarks", {"name": "Capitals"})["id"]
    rows = [{"task_id": f"t{n}", "input": {"question": f"{n}?"}, "expected": str(n)} for n in range(6)]
    subset = {"slug": "all", "tasks": rows, "grader": {"kind": "contains"}}
    made = post(client, f"/benchmarks/{benchmark}/subsets", subset)["id"]
    sut = {"model": "simulated-small", "provider": "simulated"}
    return str(post(client, "/runs", {"benchmark": benchmark, "subset": made, "sut": sut})["id"])


def told(client: httpx.Client, run: str) -> list[tuple[int, str]]:
    """(seq, type) of every event, from the live stream until it ends."""
    seqs, types = [], []
    with client.stream("GET", f"/v1/runs/{run}/stream") as stream:
        assert stream.status_code == 200
        for line in stream.iter_lines():
            if line.startswith("event: "):
                types.append(line[7:])
            elif line.startswith("id: "):
                seqs.append(int(line[4:]))
    return list(zip(seqs, types, strict=True))


def check_told(events: list[tuple[int, str]]) -> None:
    assert [seq for seq, _ in events] == list(range(1, len(events) + 1))
    types = [kind for _, kind in events]
    assert types[-1] == "RunCompleted"
    assert types.count("MaterializeTaskResult") == 6


def test_a_reader_at_one_web_sees_what_was_launched_at_another(
    alice: User, token: Callable[..., str], parts: Parts
) -> None:
    given: dict[str, Any] = {
        "headers": {"Authorization": f"Bearer {token(alice)}"}, "timeout": 60, "trust_env": False
    }  # fmt: skip
    with httpx.Client(base_url=parts.web_url, **given) as one, httpx.Client(base_url=parts.live_url, **given) as two:
        run = launched(one)
        check_told(told(two, run))
        assert two.get(f"/v1/runs/{run}").json() == one.get(f"/v1/runs/{run}").json()
        refused = one.get(f"/v1/runs/{run}/stream")
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable"), "WSGI has no streams"


@pytest.mark.skipif(NGINX is None, reason="no nginx here to stand in front")
def test_the_front_sends_each_request_to_the_door_that_serves_it(
    alice: User, token: Callable[..., str], parts: Parts, tmp_path: Path
) -> None:
    port = free_port()
    tmp_path.parent.chmod(0o755)
    conf = front_conf(tmp_path, port, parts.web_url.removeprefix("http://"), parts.live_url.removeprefix("http://"))
    front = parts.front.start("nginx", [str(NGINX), "-c", str(conf)])
    url = f"http://127.0.0.1:{port}"
    front.until(front.answers(f"{url}/healthz"))
    headers = {"Authorization": f"Bearer {token(alice)}", "X-Forwarded-For": "203.0.113.9"}
    with httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False) as client:
        check_told(told(client, launched(client)))
        assert client.get("/accounts/login/").status_code == 200
        assert client.post("/v1/runs", content=b" " * (34 << 20)).status_code == 413


def test_what_one_host_lost_another_goes_on_with(alice: User, parts: Parts, slow_model: Model) -> None:
    """A whole host is gone: its gateway and all its workers."""
    run = launch(alice, slow_model, rows=planned.sums(TASKS), concurrency=AT_ONCE)
    until(lambda: slow_model.calls > 8, START_SECONDS, "the run is under way")
    lost: list[Part] = [part for part in parts.two.parts if part.process.poll() is None]
    for part in lost:
        part.kill()
    began = time.monotonic()
    done = ended(run)
    assert (done.status, done.passed) == ("ok", TASKS)
    assert time.monotonic() - began < 60
    back = parts.two.start("gateway", command("gateway"))  # what it had not written yet stands in its journal
    back.until(back.says("gateway ready"))
    check_asked(done, slow_model, in_hand=2 * AT_ONCE)  # under way, or answered in the last tenth of a second
