"""`manage.py serve` starts the proxy when a run first needs it, brings it back, and leaves nothing behind."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchwright import Benchwright
from benchwright_site.serve import egress
from tests.egress.running import REACHING
from tests.operations.serving import Server, alive, environment, manage, serving, until
from tests.twins.hosts_twin import Hosts

pytestmark = pytest.mark.long

SCOPES = "runs:read,runs:write,artifacts:read,secrets:read,secrets:write,registry:read,registry:publish"
MARK = b"-m\0egress\0"


@pytest.fixture(scope="module")
def server(egress_python: str, hosts: Hosts) -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="bwes-", dir="/var/tmp"))
    folder.chmod(0o755)
    given = {"BENCHWRIGHT_EGRESS_HOSTS": hosts.table(), "BENCHWRIGHT_EGRESS_TRUST": str(hosts.authority.file)}
    os.environ.update(given)
    try:
        with serving(folder) as made:
            made.wait_ready()
            yield made
    finally:
        for name in given:
            del os.environ[name]
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def bw(server: Server) -> Iterator[Benchwright]:
    manage(server.data, "create_user", "op@example.org")
    token = manage(server.data, "create_token", "op@example.org", "--scopes", SCOPES).stdout.split()[-1]
    with Benchwright(api_key=token, base_url=server.url) as client:
        yield client


def proxies(server: Server) -> list[tuple[int, str]]:
    return [each for each in server.tree() if MARK in Path(f"/proc/{each[0]}/cmdline").read_bytes()]


def run(bw: Benchwright, *expressions: str, network: list[str]) -> list[Any]:
    """The outputs of a run of rows that are these expressions."""
    rows = [{"task_id": f"t{at}", "input": each, "expected": ""} for at, each in enumerate(expressions)]
    bm = bw.benchmarks.create(name="Reaching", description="", category="tools", tags=[])
    sub = bw.benchmarks.subsets.create(benchmark=bm.id, slug="all", name="All", tasks=rows)
    imp = bw.impls.create(subset=sub.id, label="one", code=REACHING, network=network)
    made = bw.runs.launch(benchmark=bm.id, subset=sub.id, impl=imp.id, sut={"model": "any", "provider": "simulated"})
    ended = bw.runs.wait(made.id, timeout=120)
    assert ended.status == "ok", ended
    tasks = list(bw.runs.tasks(made.id).data)
    return [bw.runs.tasks(made.id).payload(task.id).output for task in sorted(tasks, key=lambda task: task.task_id)]


def test_it_starts_no_proxy_where_no_run_needs_one(server: Server, bw: Benchwright) -> None:
    assert run(bw, "1 + 1", network=[]) == [2]
    assert proxies(server) == []
    assert not server.said("a run needs the egress proxy")


def test_it_starts_the_proxy_for_a_run_that_declares_hosts(server: Server, bw: Benchwright, hosts: Hosts) -> None:
    assert run(bw, "get('https://a.test/')", "get('https://b.test/')[0]", network=["a.test"])[0] == [200, "hello"]
    assert server.said("a run needs the egress proxy: starting it")
    assert len(proxies(server)) == 1


def test_it_attaches_the_accounts_secret(server: Server, bw: Benchwright, hosts: Hosts) -> None:
    hosts.forget()
    rule = {"host_pattern": "b.test", "inject_kind": "bearer", "inject_target": "Authorization"}
    bw.secrets.create(name="B_KEY", value="sk-or-v1-0123456789abcdef", rules=[rule])
    assert run(bw, "get('https://b.test/')", network=[]) == [[200, "hello"]]
    assert hosts.seen[0].header("authorization") == "Bearer sk-or-v1-0123456789abcdef"
    assert len(proxies(server)) == 1


def test_it_brings_a_killed_proxy_back(server: Server, bw: Benchwright) -> None:
    (killed,) = proxies(server)
    os.kill(killed[0], signal.SIGKILL)
    until(lambda: not alive(killed), 10, "it is dead")
    assert run(bw, "get('https://a.test/')", network=["a.test"]) == [[200, "hello"]]
    assert proxies(server)[0] != killed


def test_its_process_knows_no_key_and_no_database(server: Server) -> None:
    ((pid, _),) = proxies(server)
    given = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"DATABASE" not in given
    assert b"SECRET" not in given
    assert b"SSLKEYLOGFILE" not in given


def test_doctor_says_that_it_is_ready(server: Server) -> None:
    said = manage(server.data, "doctor").stdout
    assert "ready; it starts when a run needs it" in said


def test_it_ends_with_the_server_and_leaves_nothing(server: Server) -> None:
    tree = server.tree()
    socket_file = next(Path(server.data).rglob("egress.sock"), None)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(40) == 0
    assert not [process for process in tree if alive(process)]
    assert server.leftovers() == []
    assert socket_file is None or not socket_file.exists()


def test_it_tells_those_who_wait_why_there_is_none(tmp_path: Path) -> None:
    listener = egress.listen(str(tmp_path / "egress.sock"))
    with listener, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "egress.sock"))
        command = [sys.executable, "manage.py", "egress", "--fd", str(listener.fileno())]
        given = environment(tmp_path / "data") | {"BENCHWRIGHT_EGRESS_ENVIRONMENT": "/proc/nothing"}
        done = subprocess.run(
            command,
            cwd=egress.settings.BASE_DIR,
            env=given,
            pass_fds=(listener.fileno(),),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1
        assert "could not be" in done.stderr
        said = json.loads(client.recv(65536))
    assert said["op"] == "unavailable"
    assert said["detail"]
