"""The vault's parts have a user and a database role of their own: what stands between them and all other parts."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchwright import Benchwright
from benchwright_site.serve.postgres import leashed
from benchwright_site.serve.walls import people
from runs.compute.walls import cgroups
from tests.operations.serving import ROOT, Server, manage, serving, until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give the parts users of their own"),
]
VAULT, HOUSE = 60580, 60581
KEYS = ("vault_private", "egress_private")
VALUE = "sk-or-v1-0f1e2d3c4b5a69788796a5b4c3d2e1f0"
SCOPES = "runs:read,runs:write,secrets:read,secrets:write,registry:read,registry:publish"
SCORER = """
from bench_task import BenchTask

class Task(BenchTask):
    def solve(self, index, input):
        return input

    def score(self, index, output, expected):
        return {"score": 1.0}
"""
# What a fault in web or worker could be made to do. Prints what each attempt came to.
ATTEMPTS = """
import ctypes, json, os, sys
import psycopg

given = json.loads(sys.argv[1])
def attempt(work):
    try:
        return str(work())
    except BaseException as no:
        return type(no).__name__
def ptrace():
    kernel = ctypes.CDLL(None, use_errno=True)
    if kernel.ptrace(0x4206, given["gateway"], 0, 0):  # seize: it does not stop, and is let go when we end
        raise PermissionError(ctypes.get_errno())
    return "done"
def replace():
    os.rename(given["socket"], given["socket"] + ".gone")
    os.rename(given["socket"] + ".gone", given["socket"])
    return "done"
def ask(url, words):
    with psycopg.connect(url) as link:
        return len(link.execute(words).fetchall())
def mem(name):
    with open(f"/proc/{given['gateway']}/{name}", "rb") as file:
        file.read(0)
    return "done"
found = {name: attempt(lambda: len(open(given["keys"] + "/" + name).read())) for name in given["files"]}
found["list"] = attempt(lambda: os.listdir(given["keys"]) and "done")
found["signal"] = attempt(lambda: os.kill(given["gateway"], 0) or "done")
found["ptrace"] = attempt(ptrace)
found["environment"], found["memory"] = attempt(lambda: mem("environ")), attempt(lambda: mem("mem"))
found["replace"] = attempt(replace)
url, table = given["url"], "secrets_vault_secretversion"
found["sealed"] = attempt(lambda: ask(url, f"select sealed from {table}"))
found["guess"] = attempt(lambda: ask(url, f"select 1 from {table} where sealed <> ''"))
found["returning"] = attempt(lambda: ask(url, f"update {table} set version = version returning sealed"))
found["whole"] = attempt(lambda: ask(url, f"select v from {table} v"))
found["others"] = attempt(lambda: ask(url, f"select id, key_id from {table}"))
found["owner"] = attempt(lambda: ask(given["owner"], "select 1"))
found["role"] = attempt(lambda: ask(url, "set role postgres; select 1"))
print(json.dumps(found))
"""


def team() -> people.People:
    found, words = people.find()
    assert found, words
    return found


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """An installation that one user has run so far, with a secret in it."""
    folder = Path(tempfile.mkdtemp(prefix="bww-", dir="/var/tmp"))
    folder.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHWRIGHT_VAULT_UID", "0")
        with serving(folder) as old:
            old.wait_ready()
            assert old.said("root runs every part")
            assert uid_of(old, "gateway") == uid_of(old, "web") == 0
            with client(old) as bw:
                rule = {"host_pattern": "openrouter.ai", "inject_kind": "bearer", "inject_target": "Authorization"}
                bw.secrets.create(name="OLD_KEY", value=VALUE, rules=[rule])
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def server(data: Path) -> Iterator[Server]:
    with serving(data) as made:
        made.wait_ready()
        yield made


def client(server: Server) -> Benchwright:
    manage(server.data, "create_user", "op@example.org")
    token = manage(server.data, "create_token", "op@example.org", "--scopes", SCOPES).stdout.split()[-1]
    return Benchwright(api_key=token, base_url=server.url)


def uid_of(server: Server, name: str) -> int:
    part = server.part(name)
    assert part, f"{name} does not run"
    return Path(f"/proc/{part[0]}").stat().st_uid


def told(server: Server, name: str, variable: str) -> str:
    part = server.part(name)
    assert part
    words = Path(f"/proc/{part[0]}/environ").read_bytes().split(b"\0")
    return next(word.decode().partition("=")[2] for word in words if word.startswith(f"{variable}=".encode()))


def attempts(server: Server, place: str, url: str) -> dict[str, Any]:
    gateway = server.part("gateway")
    assert gateway
    sockets = server.data / "run"
    given = {
        "keys": str(server.data / "keys"), "files": KEYS, "gateway": gateway[0], "url": url,
        "socket": str(sockets / "egress.sock"), "owner": f"postgresql://postgres@/postgres?host={sockets}/db",
    }  # fmt: skip
    command = leashed([sys.executable, "-c", ATTEMPTS, json.dumps(given)], user=place)
    kept = {"PATH": os.environ["PATH"]}
    done = subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("who", ["worker", "web"])
def test_it_keeps_the_vault_from_web_and_workers(server: Server, who: str) -> None:
    url = told(server, "web" if who == "web" else "worker1", "DATABASE_URL")
    found = attempts(server, team().worker() if who == "worker" else team().resident(), url)
    denied = dict.fromkeys((*KEYS, "signal", "ptrace", "environment", "memory", "replace"), "PermissionError")
    denied |= dict.fromkeys(("sealed", "guess", "returning", "whole", "role"), "InsufficientPrivilege")
    assert found == denied | {"list": "done", "others": "1", "owner": "OperationalError"}


def test_its_attempts_succeed_where_no_wall_stands(server: Server) -> None:
    """The same attempts as the vault's own user, and as root: so they can succeed."""
    as_vault = attempts(server, team().keeper(), told(server, "gateway", "DATABASE_URL"))
    assert all(as_vault[name].isdecimal() for name in (*KEYS, "sealed", "guess", "whole"))
    assert as_vault["signal"] == as_vault["ptrace"] == as_vault["memory"] == "done"
    assert as_vault["returning"] == "InsufficientPrivilege"


def test_it_runs_each_part_as_its_user(server: Server) -> None:
    assert uid_of(server, "gateway") == VAULT
    assert {uid_of(server, name) for name in ("web", "worker1", "sweeper")} == {HOUSE}
    assert {(server.data / "keys" / name).stat().st_uid for name in KEYS} == {VAULT}
    assert {(server.data / "keys" / name).stat().st_mode & 0o777 for name in KEYS} == {0o600}


def test_it_takes_over_an_installation_that_one_user_ran(server: Server) -> None:
    with client(server) as bw:
        (secret,) = bw.secrets.list().data
        assert secret.name == "OLD_KEY"
        rows = [{"task_id": f"t{at}", "input": at, "expected": at} for at in range(3)]
        bm = bw.benchmarks.create(name="Walls", description="", category="tools", tags=[])
        sub = bw.benchmarks.subsets.create(benchmark=bm.id, slug="all", name="All", tasks=rows)
        imp = bw.impls.create(subset=sub.id, label="one", code=SCORER)
        sut = {"model": "any", "provider": "simulated"}
        made = bw.runs.launch(benchmark=bm.id, subset=sub.id, impl=imp.id, sut=sut)
        assert bw.runs.wait(made.id, timeout=120).status == "ok"
        assert bw.runs.update(made.id, visibility="public").visibility == "public"  # the gateway looked first
        bw.secrets.update(secret.id, value=VALUE[::-1])  # sealed by the web part, which can't read it back
        bw.secrets.delete(secret.id)


def test_it_gives_each_sandbox_a_user_that_is_neither_ours_nor_roots(server: Server) -> None:
    """The walls were tried by a worker, and its note says that no process in them was root's."""
    notes = list((server.data / "run").glob("sandbox-held-*"))
    assert HOUSE in {note.stat().st_uid for note in notes}
    worker = server.part("worker1")
    assert worker
    mapped = [line.split() for line in Path(f"/proc/{worker[0]}/uid_map").read_text().splitlines()]
    assert mapped[0] == ["0", str(HOUSE), "1"]
    assert int(mapped[1][1]) > HOUSE
    assert len(mapped) == 2


def test_a_new_master_key_is_the_vaults_too(server: Server) -> None:
    """Root makes it, and the running gateway, which is not root, opens with it."""
    folder = server.data / "keys"
    for step in (["--new-key"], []):
        done = manage(server.data, "rewrap_secrets", *step)
        assert done.returncode == 0, done.stderr
    made = list(folder.glob("vault_private*"))
    assert len(made) == 2
    assert {(file.stat().st_uid, file.stat().st_mode & 0o777) for file in made} == {(VAULT, 0o600)}
    assert attempts(server, team().worker(), told(server, "web", "DATABASE_URL"))["vault_private"] == "PermissionError"


def test_it_leaves_no_control_groups_of_servers_that_are_gone(server: Server) -> None:
    """Each start takes away what servers that were killed have left."""
    found = {group.name for home in cgroups.homes("pids") for group in home.glob(f"{cgroups.PREFIX}[0-9]*")}
    numbers = {name.removeprefix(cgroups.PREFIX) for name in found}
    assert str(server.process.pid) in numbers
    gone = {number for number in numbers if number.isdecimal() and not Path(f"/proc/{number}").exists()}
    assert not gone


def test_doctor_says_how_the_parts_are_held_apart(server: Server) -> None:
    line = next(line for line in manage(server.data, "doctor").stdout.splitlines() if " walls " in line)
    assert line.startswith("ok")
    assert f"gateway and egress run as uid {VAULT}, all other parts as uid {HOUSE}" in line


def test_a_plain_user_runs_every_part_and_doctor_says_what_that_means(data: Path, tmp_path_factory: Any) -> None:
    nobody = 65534
    folder = Path(tempfile.mkdtemp(prefix="bwp-", dir="/var/tmp"))
    os.chown(folder, nobody, nobody)
    place = json.dumps({**json.loads(team().resident()), "uid": nobody, "gid": nobody})
    try:
        with serving(folder, user=place) as plain:
            plain.wait_ready()
            assert {uid_of(plain, name) for name in ("web", "worker1", "sweeper", "gateway", "postgres")} == {nobody}
            assert plain.get("/readyz") == 200
            url = told(plain, "web", "DATABASE_URL")
            assert attempts(plain, place, url)["sealed"] == "InsufficientPrivilege"  # what SQL alone could do
            said = manage(folder, "doctor", user=place).stdout.splitlines()
        at = next(number for number, line in enumerate(said) if " walls " in line)
        assert said[at].startswith("note")
        assert f"one user (uid {nobody}) runs every part" in said[at]
        assert "read the vault's key" in said[at + 1]
    finally:
        until(lambda: not plain.leftovers(), 10, "nothing of it is left")
        shutil.rmtree(folder, ignore_errors=True)


def test_it_tells_the_gateways_password_to_no_other_part(server: Server) -> None:
    password = told(server, "gateway", "DATABASE_URL")
    for name in ("web", "worker1", "sweeper"):
        part = server.part(name)
        assert part
        assert password.encode() not in Path(f"/proc/{part[0]}/environ").read_bytes()
