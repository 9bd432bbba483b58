"""deploy/: its files name what exists, keep the vault's key to the gateway, and split the doors as they must be."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands
from django.utils.module_loading import import_string

from benchwright_site.serve.walls import roles
from tests.factories.processes import ROOT
from tests.scaled.hosts import COMPOSE, PROGRAMS, command

DEPLOY = ROOT / "deploy"
OURS = {name: service for name, service in COMPOSE["services"].items() if "build" in service}
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


def test_it_runs_every_part_that_there_is() -> None:
    assert set(OURS) == {"web", "live", "worker", "gateway", "egress", "sweeper", "prepare"}


@pytest.mark.parametrize("name", sorted(OURS))
def test_it_names_commands_that_exist(name: str) -> None:
    words = command(name)
    for word in words:
        if re.fullmatch(r"[\w.]+:application", word):
            assert callable(import_string(word.replace(":", ".")))
    if "manage.py" in words:
        assert words[words.index("manage.py") + 1] in get_commands()
    else:
        module = words[words.index("-m") + 1]
        assert words[: len(PROGRAMS["python"])] == PROGRAMS["python"]
        done = subprocess.run([*words[:3], "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{module}: {done.stderr}"


@pytest.mark.parametrize("name", sorted(OURS))
def test_it_gives_the_vaults_private_key_to_the_gateway_alone(name: str) -> None:
    sees = any(volume.startswith("keys:") for volume in OURS[name].get("volumes", []))
    assert sees == (name in {"gateway", "prepare"})


@pytest.mark.parametrize("name", sorted(OURS))
def test_it_enters_the_database_as_who_each_part_is(name: str) -> None:
    """Passwords come from a file that compose alone reads: each part hears of its own."""
    given = OURS[name]["environment"]
    entered = re.match(r"postgresql://(\w+):\$\{(\w+)", given.get("DATABASE_URL", ""))
    told = set(re.findall(r"\$\{(\w*PASSWORD)", str(given)))
    if name == "egress":
        assert (entered, told) == (None, set())
    elif name == "prepare":
        assert entered
        assert entered.groups() == ("benchwright", "POSTGRES_PASSWORD")
    else:
        role = roles.GATEWAY if name == "gateway" else roles.APP
        assert entered
        assert entered[1] == role
        assert told == {entered[2]}
    assert OURS[name]["env_file"] == "settings.env", "not .env, which has all of them"


@pytest.mark.parametrize("name", sorted(OURS))
def test_it_runs_what_holds_keys_as_a_user_of_its_own(name: str) -> None:
    assert OURS[name].get("user") == ("vault" if name in {"gateway", "egress", "prepare"} else None)
    assert OURS[name]["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in OURS[name]["security_opt"]


def test_its_gateway_answers_the_images_other_user() -> None:
    uid = re.search(r"useradd --uid (\d+) .* benchwright ", (DEPLOY / "Dockerfile").read_text())
    assert uid
    assert OURS["gateway"]["environment"]["BENCHWRIGHT_GATEWAY_PEER"] == uid[1]


def test_its_system_calls_leave_bubblewrap_what_it_needs() -> None:
    profile = json.loads((DEPLOY / "seccomp.json").read_text())
    refused = {name for rule in profile["syscalls"] for name in rule["names"]}
    needed = set("clone clone3 unshare mount umount2 pivot_root sethostname prctl capset seccomp".split())
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    assert not refused & needed
    assert {"bpf", "io_uring_setup", "keyctl", "userfaultfd", "perf_event_open"} <= refused
    assert "seccomp=seccomp.json" in OURS["worker"]["security_opt"]


def test_its_settings_are_documented() -> None:
    known = (ROOT / "docs" / "settings.md").read_text()
    example = "".join((DEPLOY / name).read_text() for name in ("example.env", "example.settings.env"))
    given = set(OURS["web"]["environment"]) | set(re.findall(r"^(BENCHWRIGHT_[A-Z_]+)=", example, re.M))
    assert [name for name in sorted(given) if f"`{name}`" not in known] == []


def test_it_asks_for_nothing_that_its_example_lacks() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    example = (DEPLOY / "example.env").read_text()
    assert [name for name in re.findall(r"\$\{(\w+):\?", text) if f"\n{name}=" not in example] == []


def test_its_volumes_and_networks_are_declared() -> None:
    for service in COMPOSE["services"].values():
        named = {volume.split(":")[0] for volume in service.get("volumes", [])}
        assert {name for name in named if not name.startswith(".")} <= set(COMPOSE["volumes"])
        assert set(service.get("networks", ())) <= set(COMPOSE["networks"])
    assert (DEPLOY / "nginx.conf").is_file()


def test_its_image_is_made_from_the_locks() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    for name in re.findall(r"requirements/\w+\.lock", text):
        assert (ROOT / name).is_file()
    installs = [line for line in text.splitlines() if "pip install" in line]
    assert all("--require-hashes" in line or "--no-deps" in line for line in installs)


def test_its_front_sends_streams_and_sockets_to_asgi() -> None:
    text = (DEPLOY / "nginx.conf").read_text()
    blocks = dict(re.findall(r"location ([^{]+?) \{(.*?)\}", text, re.S))
    target = {where: re.search(r"proxy_pass (\S+);", body).group(1) for where, body in blocks.items()}  # type: ignore[union-attr]
    assert target == {"~ ^/v1/runs/[^/]+/stream$": "http://live", "/ws/": "http://live", "/": "http://web"}
    assert "proxy_buffering off;" in blocks["~ ^/v1/runs/[^/]+/stream$"]
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in text, "what the caller says of itself goes no further"


def test_compose_is_plain_yaml() -> None:
    assert yaml.safe_load((DEPLOY / "compose.yaml").read_text()) == COMPOSE


def front_conf(folder: Path, port: int, web: str, live: str) -> Path:
    """The front's configuration with this machine's addresses, for the oldest nginx that may be here."""
    text = (DEPLOY / "nginx.conf").read_text()
    for old, new in (
        (r"server web:8001 .*?;", f"server {web};"),
        (r"server live:8002 .*?;", f"server {live};"),
        (r"listen 8000;", f"listen 127.0.0.1:{port};"),
        (r"pid .*?;", f"pid {folder}/nginx.pid; error_log {folder}/error.log; daemon off;"),
        (r"include /etc/nginx/mime.types;", f"client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;"),
        (r"worker_processes auto;", "worker_processes 1;" + (" user root;" if os.geteuid() == 0 else "")),
        (r"worker_rlimit_nofile \d+;", ""),
        (r"worker_connections \d+;", "worker_connections 512;"),
    ):
        text, count = re.subn(old, new, text)
        assert count == 1, old
    conf = folder / "nginx.conf"
    conf.write_text(text)
    return conf


@pytest.mark.skipif(NGINX is None, reason="no nginx here; the front's configuration is only read as text")
def test_nginx_takes_its_configuration(tmp_path: Path) -> None:
    conf = front_conf(tmp_path, 8000, "127.0.0.1:8001", "127.0.0.1:8002")
    done = subprocess.run([str(NGINX), "-t", "-c", str(conf)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
