"""A run fetches its rows through the real gateway and the real proxy, as itself: policy, secrets, blocked hosts."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from accounts.models import User
from accounts.principal import Principal
from runs.models import Phase, Run, RunEvent, Snapshot
from secrets_vault import leases
from secrets_vault.host_policy import entries
from secrets_vault.models import BlockedHost
from tests.egress.running import gateway, secret
from tests.factories.processes import ROOT, GatewayProcess
from tests.runs.analysis import shapes
from tests.runs.driver.conftest import SUT, begun, stepping
from tests.runs.sources.writing import jsonl, parquet
from tests.twins.hosts_twin import Hosts, answer
from tests.twins.huggingface_twin import CDN, HUB, TOKEN, HuggingFaceTwin

__all__ = ["gateway", "stepping"]
pytestmark = pytest.mark.django_db(transaction=True)
QUIZ = {"kind": "huggingface", "ref": "me/quiz", "name": "Quiz"}
Step = Callable[[Run], Run]


@pytest.fixture(autouse=True)
def fresh(hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts.forget()
    monkeypatch.setattr(settings, "SNAPSHOTS_DIR", tmp_path / "snapshots")


@pytest.fixture
def hub(hosts: Hosts) -> HuggingFaceTwin:
    made = HuggingFaceTwin(hosts)
    columns = {name: [row[name] for row in shapes.MMLU] for name in ("question", "choices", "answer")}
    made.dataset("me/quiz", {"test.parquet": parquet(columns)}, card={"license": "mit"})
    return made


def fetching(owner: User, source: dict[str, Any]) -> Run:
    run = begun(owner, source)
    leases.grant(owner, str(run.id), own_impl=True, names=[])
    return run


def principal(owner: User) -> Principal:
    return Principal(owner, frozenset(), "pat")


def test_it_reads_from_the_built_in_hosts(
    alice: User, gateway: GatewayProcess, hub: HuggingFaceTwin, stepping: Step
) -> None:
    run = stepping(fetching(alice, QUIZ))
    assert run.error is None
    assert (run.task_count, run.findings["analyze"]["kind"]) == (40, "multiple_choice")
    assert {seen.first.split()[0] for seen in hub.hosts.seen} == {"GET"}
    assert {seen.host for seen in hub.hosts.seen} == {HUB, CDN}
    assert not BlockedHost.objects.exists()


def test_a_host_that_nobody_allows_is_blocked_and_told(
    alice: User, gateway: GatewayProcess, hosts: Hosts, stepping: Step
) -> None:
    hosts.say("b.test", "/rows.jsonl", answer(jsonl(shapes.GSM8K)))
    source = {"kind": "url", "ref": "https://b.test/rows.jsonl"}
    run = stepping(fetching(alice, source))
    assert run.error["code"] == "host_blocked"
    assert 'bw.host_policy.add("b.test", mode="allow")' in run.error["hint"]
    blocked = BlockedHost.objects.get(reference=str(run.id))
    assert (blocked.host, blocked.reason) == ("b.test", "host_blocked")
    assert RunEvent.objects.filter(run=run, type="HostBlocked", data__host="b.test").count() == 1
    entries.add(principal(alice), "b.test")
    assert stepping(fetching(alice, source)).task_count == 40


def test_a_policy_that_blocks_everything_blocks_the_hub_too(
    alice: User, gateway: GatewayProcess, hub: HuggingFaceTwin, stepping: Step
) -> None:
    entries.set_default(principal(alice), "block")
    assert stepping(fetching(alice, QUIZ)).error["code"] == "host_blocked"
    assert hub.hosts.seen == []


def test_a_secret_opens_a_gated_data_set_and_goes_nowhere_else(
    alice: User, bob: User, gateway: GatewayProcess, hub: HuggingFaceTwin, stepping: Step
) -> None:
    hub.datasets["me/quiz"].gated = "manual"
    assert stepping(fetching(alice, QUIZ)).error["code"] == "rows_gated"
    secret(alice, "HF", TOKEN, HUB)
    hub.hosts.seen.clear()
    run = stepping(fetching(alice, QUIZ))
    assert run.task_count == 40
    sent = {(seen.host, seen.header("authorization")) for seen in hub.hosts.seen}
    assert sent == {(HUB, f"Bearer {TOKEN}"), (CDN, None)}
    assert TOKEN not in json.dumps(run.findings) + json.dumps(list(Snapshot.objects.values_list("facts", "locator")))
    assert stepping(fetching(bob, QUIZ)).error["code"] == "rows_gated"  # not served from what alice may read


@pytest.mark.long
def test_the_built_in_hosts_are_closed_to_scorers(
    alice: User, gateway: GatewayProcess, hosts: Hosts, stepping: Step
) -> None:
    """The same account, the same host: a token of another role is judged as another phase."""
    code = """
import asyncio, secrets, socket, sys
import django; django.setup()
from runs.gateway_client import GatewayClient
from runs.gateway_keys import egress_token
from runs.sources.web import opened
from django.conf import settings

async def main(run, role, told):
    lease, mac = secrets.token_hex(16), secrets.token_hex(32)
    client = GatewayClient()
    await client.connect()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        await client.egress(run, lease, mac, listener, eager=True, role=role)
    token = egress_token(mac, lease, told)
    async with opened(f"http://127.0.0.1:{port}", token, sys.argv[4], first_pause=0.01) as web:
        try:
            print((await web.get("https://github.com/")).status)
        except Exception as bad:
            print(bad)
    await client.close()

asyncio.run(main(*sys.argv[1:4]))
"""
    run = fetching(alice, QUIZ)

    def said(role: str, told: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, str(run.id), role, told, str(settings.EGRESS_CERTIFICATE)],
            env={**gateway.environment, "DJANGO_SETTINGS_MODULE": "benchwright_site.settings"},
            cwd=ROOT, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        return done.stdout + done.stderr

    assert said("analyze", "analyze").strip() == "200"
    assert said("find", "find").strip() == "200"
    assert "host_blocked" in said("solve", "solve")
    assert "407" in said("solve", "analyze")
    assert "nobody has a way out as 'score'" in said("score", "score")


@pytest.mark.long
def test_it_begins_again_after_the_gateway_was_killed(
    alice: User, gateway: GatewayProcess, hosts: Hosts, stepping: Step
) -> None:
    entries.add(principal(alice), "b.test")
    body = jsonl(shapes.GSM8K)
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    hosts.say("b.test", "/rows.jsonl", [(0.0, head + body[:100]), (0.9, body[100:])])

    def kill() -> None:
        until = time.monotonic() + 20
        while not hosts.seen and time.monotonic() < until:
            time.sleep(0.05)
        gateway.kill()
        time.sleep(0.3)
        gateway.start()

    killing = threading.Thread(target=kill)
    killing.start()
    run = stepping(fetching(alice, {"kind": "url", "ref": "https://b.test/rows.jsonl"}))
    killing.join()
    assert run.error is None
    assert run.task_count == 40
    assert len(hosts.seen) > 1


def test_without_a_proxy_it_says_how_to_add_one(
    alice: User, transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stepping: Step, proxy: Any
) -> None:
    made = GatewayProcess(tmp_path, {"BENCHWRIGHT_EGRESS_SOCKET": str(tmp_path / "nobody.sock")})
    monkeypatch.setattr(settings, "GATEWAY_SOCKET", str(made.socket))
    monkeypatch.setattr(settings, "EGRESS_CERTIFICATE", proxy.bundle)
    made.start()
    try:
        run = stepping(fetching(alice, QUIZ))
    finally:
        made.stop()
    assert run.error["code"] == "egress_unavailable"
    assert "manage.py egress --prepare" in run.error["hint"]
    monkeypatch.setattr(settings, "EGRESS_CERTIFICATE", tmp_path / "none")
    assert stepping(fetching(alice, QUIZ)).error["code"] == "egress_unavailable"


def wording(owner: User, words: str) -> Run:
    """A run in words at its Find."""
    run = Run.objects.create(owner=owner, mode="request", request=words, sut=SUT, plan=["find", "report"])
    Phase.objects.create(run=run, name="find", position=0)
    leases.grant(owner, str(run.id), own_impl=True, names=[])
    return run


def test_a_search_of_the_hub_goes_out_as_the_run_and_by_its_policy(
    alice: User, gateway: GatewayProcess, hub: HuggingFaceTwin, stepping: Step
) -> None:
    hub.dataset("acme/ZebraLogic", {"test.jsonl": jsonl(shapes.GSM8K)}, downloads=5_000)
    run = stepping(wording(alice, "Run ZebraLogic"))
    assert run.error is None
    assert run.findings["find"]["source"]["ref"] == "acme/ZebraLogic"
    assert {seen.host for seen in hub.hosts.seen} == {HUB}
    hub.hosts.seen.clear()
    entries.add(principal(alice), HUB, mode="block")
    run = stepping(wording(alice, "Run ZebraLogic"))
    assert run.error["code"] == "host_blocked", "and not that there is no such benchmark"
    assert "bw.host_policy.add" in run.error["hint"]
    assert hub.hosts.seen == []
    assert RunEvent.objects.filter(run=run, type="HostBlocked", data__host=HUB).count() == 1
