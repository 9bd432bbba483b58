"""The guide's chapter on credentials and the outbound firewall, as it writes it, against real TLS hosts on loopback."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchwright import Benchwright
from tests.journeys.conftest import SCOPES, installation, new_token, world
from tests.operations.serving import Server, until
from tests.twins.hosts_twin import Hosts, answer

pytestmark = pytest.mark.long

NAMES = ("openrouter.ai", "api.wolframalpha.com", "github.com")
FOLLOWING = SCOPES + ",settings:read,settings:write"
# Asks a model list with the account's key (a fake one in the sandbox), and a host that nobody has named.
SCORER = textwrap.dedent("""
    import requests
    from bench_task import BenchTask

    class Task(BenchTask):
        def solve(self, index, input):
            answer = requests.get(input, timeout=20)
            return [answer.status_code, answer.text]

        def score(self, index, output, expected):
            return 1.0
""")


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with world() as made:
        for name in NAMES:
            made.add(name)
        yield made


@pytest.fixture(scope="module")
def server(egress_python: str, hosts: Hosts) -> Iterator[Server]:
    with installation(hosts) as made:
        yield made


@pytest.fixture(scope="module")
def token(server: Server) -> str:
    return new_token(server, "keys@example.org", FOLLOWING)


@pytest.fixture(scope="module")
def bw(server: Server, token: str) -> Iterator[Benchwright]:
    with Benchwright(api_key=token, base_url=server.url) as client:
        yield client


@pytest.fixture(scope="module")
def reach(bw: Benchwright) -> Any:
    """``reach(url, …)``: a run that fetches each, and what came back."""
    bm = bw.benchmarks.create(name="Reaching out", description="", category="tools", tags=[])

    def run(*urls: str, ends: str = "ok") -> tuple[Any, list[Any]]:
        salt = os.urandom(4).hex()  # the same rows again would be the same subset
        rows = [{"task_id": f"t{at}-{salt}", "input": url, "expected": ""} for at, url in enumerate(urls)]
        sub = bw.benchmarks.subsets.create(benchmark=bm.id, slug=f"s{salt}", name="All", tasks=rows)
        imp = bw.impls.create(subset=sub.id, label="one", code=SCORER)
        made = bw.runs.launch(
            benchmark=bm.id, subset=sub.id, impl=imp.id, sut={"model": "any", "provider": "simulated"}
        )
        ended = bw.runs.wait(made.id, timeout=120)
        assert ended.status == ends, ended.error
        tasks = sorted(bw.runs.tasks(made.id).data, key=lambda task: task.task_id)
        return ended, [bw.runs.tasks(made.id).payload(task.id).output for task in tasks]

    return run


def shell(server: Server, token: str, *words: str) -> str:
    environment = {**os.environ, "BW_PAT": token, "BW_BASE_URL": server.url}
    done = subprocess.run(
        [str(Path(sys.executable).with_name("benchwright")), *words], env=environment, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def sent_to(hosts: Hosts, name: str) -> list[str | None]:
    return [seen.header("authorization") for seen in hosts.seen if seen.host == name]


def test_13_1_add_a_secret(bw: Benchwright, hosts: Hosts, reach: Any) -> None:
    bw.secrets.create(
        name="OPENROUTER_API_KEY",
        description="personal workspace key, sandboxed org",
        value="sk-or-v1-first-0123456789",
        rules=[
            {
                "host_pattern": "openrouter.ai",
                "inject_kind": "bearer",
                "inject_target": "Authorization",
            }
        ],
    )
    shown = json.dumps([dict(secret) for secret in bw.secrets.list()], default=str)
    assert "openrouter.ai" in shown
    assert "sk-or-v1-first" not in shown
    hosts.say("openrouter.ai", "/api/v1/models", answer(b"models"))
    _, outputs = reach("https://openrouter.ai/api/v1/models")
    assert outputs == [[200, "models"]]
    assert sent_to(hosts, "openrouter.ai") == ["Bearer sk-or-v1-first-0123456789"]


def test_13_2_rotate(bw: Benchwright, hosts: Hosts, reach: Any) -> None:
    (secret,) = bw.secrets.list()
    bw.secrets.update(secret.id, value="sk-or-new-key-0123456789")
    hosts.seen.clear()
    reach("https://openrouter.ai/api/v1/models")
    assert sent_to(hosts, "openrouter.ai") == ["Bearer sk-or-new-key-0123456789"]
    until(lambda: len(list(bw.secrets.uses(secret.id))) > 1, 10, "uses are written in batches")
    uses = list(bw.secrets.uses(secret.id))
    assert {(use.version, use.via, use.host, use.path) for use in uses} == {
        (1, "egress", "openrouter.ai", "/api/v1/models"),
        (2, "egress", "openrouter.ai", "/api/v1/models"),
    }


def test_13_3_host_policy(bw: Benchwright, hosts: Hosts, reach: Any) -> None:
    # What did the last run try to reach that we blocked?
    run, outputs = reach("https://api.wolframalpha.com/v2", "https://openrouter.ai/api/v1/models")
    assert outputs[0] != [200, "hello"]
    assert outputs[1] == [200, "models"]
    blocked = list(bw.runs.blocked_hosts(run.id))
    assert [entry.host for entry in blocked] == ["api.wolframalpha.com"]
    assert "HostBlocked" in [event.type for event in bw.runs.stream(run.id)]
    assert sent_to(hosts, "api.wolframalpha.com") == []

    # Decide to allow it going forward.
    bw.host_policy.add("api.wolframalpha.com", mode="allow")
    _, outputs = reach("https://api.wolframalpha.com/v2")
    assert outputs == [[200, "hello"]]
    assert sent_to(hosts, "api.wolframalpha.com") == [None]

    # Or flip the default-mode to "block" and whitelist deliberately.
    bw.host_policy.default("block")
    run, _ = reach("https://openrouter.ai/api/v1/models", "https://github.com/", ends="failed")
    assert run.error.code == "blocked_host"
    assert {entry.host for entry in bw.runs.blocked_hosts(run.id)} == {"openrouter.ai", "github.com"}
    bw.host_policy.starter_pack()
    _, outputs = reach("https://github.com/")
    assert outputs == [[200, "hello"]]
    assert "github.com" in {entry.host_pattern for entry in bw.host_policy.list()}
    bw.host_policy.default("allow")


def test_13_at_the_shell(server: Server, token: str, bw: Benchwright) -> None:
    shell(
        server,
        token,
        "secrets",
        "add",
        "GROQ_API_KEY",
        "gsk_0123456789abcdef",
        "--rule",
        "api.groq.com:bearer:Authorization",
    )
    shell(server, token, "secrets", "rotate", "GROQ_API_KEY", "gsk_new_0123456789abc")
    listed = shell(server, token, "secrets", "ls")
    assert "GROQ_API_KEY" in listed
    assert "gsk_" not in listed
    assert "api.wolframalpha.com" in shell(server, token, "hosts", "blocked")
    shell(server, token, "hosts", "block", "evil.example.com")
    assert "evil.example.com" in shell(server, token, "hosts", "ls")
