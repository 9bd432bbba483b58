"""deploy/: its files name what exists, keep the vault's key to the gateway, and split the doors as they must be."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands
from django.utils.module_loading import import_string

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


def test_its_settings_are_documented() -> None:
    known = (ROOT / "docs" / "settings.md").read_text()
    given = set(OURS["web"]["environment"]) | set(
        re.findall(r"^([A-Z_]+)=", (DEPLOY / "example.env").read_text(), re.M)
    )
    assert [name for name in sorted(given - {"POSTGRES_PASSWORD"}) if f"`{name}`" not in known] == []


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
        (r"include mime.types;", f"client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;"),
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
