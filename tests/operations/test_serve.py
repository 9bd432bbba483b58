"""`manage.py serve`: two installations side by side; parts are killed and come back; nothing is left behind."""

import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.operations.serving import MARKS, Server, alive, manage, serving, until

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="watches processes through /proc"),
    pytest.mark.long,
]
EMAIL = "op@example.org"


@dataclass
class Pair:
    """``one`` had an account before its first start; ``two`` gets one while it runs."""

    one: Server
    two: Server


@pytest.fixture(scope="module")
def folders() -> Iterator[tuple[Path, Path]]:
    made = [Path(tempfile.mkdtemp(prefix=f"bws{n}-", dir="/var/tmp")) for n in (1, 2)]
    for folder in made:
        folder.chmod(0o755)
    yield made[0], made[1]
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def pair(folders: tuple[Path, Path]) -> Iterator[Pair]:
    before = manage(folders[0], "create_user", EMAIL, "--password-stdin", given="long enough to pass\n")
    assert before.returncode == 0, before.stderr
    with serving(folders[0]) as one, serving(folders[1]) as two:
        one.wait_ready()
        two.wait_ready()
        yield Pair(one, two)


def test_it_runs_two_servers_side_by_side(pair: Pair) -> None:
    assert pair.one.url != pair.two.url
    assert pair.one.get("/readyz") == pair.two.get("/readyz") == 200
    assert sum(line.startswith("Benchwright is ready") for line in pair.one.lines) == 1


def test_it_makes_accounts_and_tokens_at_the_shell(pair: Pair) -> None:
    tokens = {}
    made = manage(pair.two.data, "create_user", EMAIL, "--password-stdin", given="long enough to pass\n")
    assert made.returncode == 0, made.stderr
    for server in (pair.one, pair.two):
        minted = manage(server.data, "create_token", EMAIL, "--scopes", "runs:read")
        assert minted.returncode == 0, minted.stderr
        tokens[server] = minted.stdout.strip()
        assert server.get("/v1/me", tokens[server]) == 200
    assert pair.one.get("/v1/me", tokens[pair.two]) == 401
    refused = manage(pair.one.data, "create_token", EMAIL, "--scopes", "runs:delete")
    assert refused.returncode == 1
    assert "runs:delete" in refused.stderr
    refused = manage(pair.two.data, "remove_second_step", EMAIL)
    assert refused.returncode == 1
    assert "has no second step" in refused.stderr


def test_it_refuses_a_second_server_on_the_same_folder(pair: Pair) -> None:
    second = manage(pair.one.data, "serve", "--port", "0")
    assert second.returncode == 1
    assert str(pair.one.data) in second.stderr
    assert pair.one.get("/readyz") == 200


@pytest.mark.parametrize("name", MARKS)
def test_it_brings_a_killed_part_back(pair: Pair, name: str) -> None:
    server = pair.one
    killed = server.part(name)
    assert killed, f"{name} does not run"
    os.kill(killed[0], signal.SIGKILL)
    until(lambda: server.said(f"{name} ended (SIGKILL)"), 20, f"the supervisor says that {name} ended")
    until(lambda: (server.part(name) or killed) != killed, 60, f"{name} runs again")
    until(lambda: server.get("/readyz") == 200, 60, "every part answers again")


def test_it_stops_all_in_order(pair: Pair) -> None:
    tree = pair.one.tree()
    assert len(tree) > len(MARKS)
    pair.one.process.send_signal(signal.SIGINT)
    assert pair.one.process.wait(40) == 0
    assert not [process for process in tree if alive(process)]
    assert pair.one.leftovers() == []
    assert pair.one.said("database system is shut down")


def test_it_leaves_nothing_when_it_is_killed_itself(pair: Pair) -> None:
    tree = pair.two.tree()
    pair.two.process.kill()
    until(lambda: not [process for process in tree if alive(process)], 30, "all descendants are gone")
    until(lambda: pair.two.leftovers() == [], 10, "nothing else of it is left")


def test_it_says_that_a_port_is_taken(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = manage(tmp_path, "serve", "--port", str(port))
    assert refused.returncode == 1
    assert f"127.0.0.1:{port}" in refused.stderr
    assert "--port" in refused.stderr
