"""Is it up, and is everything behind it?"""

import socket
import threading
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchwright_site import health
from tests.house.source import ROOT


@pytest.fixture
def ready(settings, tmp_path):
    settings.KEYS_DIR = settings.RUN_DIR = tmp_path
    settings.GATEWAY_SOCKET = str(tmp_path / "gateway.sock")
    (tmp_path / "vault_public").write_text("00")
    return tmp_path


def test_m05_the_process_answers_without_a_database(client):
    answer = client.get("/healthz")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "version": version})


@pytest.mark.django_db
def test_m05_it_is_ready_when_everything_is(client, ready):
    answer = client.get("/readyz")
    assert answer.status_code == 200, answer.content
    checks = answer.json()["checks"]
    assert checks.pop("sandbox") == health.UNTRIED, "no worker has run here"
    assert set(checks.values()) == {"ok"}
    assert set(checks) == {"database", "clock", "migrations", "broker", "vault", "gateway"}
    (ready / "sandbox-held-1").touch()
    assert client.get("/readyz").json()["checks"]["sandbox"] == "ok"


@pytest.mark.django_db
def test_m05_it_is_not_ready_where_the_clocks_differ(client, ready, monkeypatch):
    monkeypatch.setattr(health.clock, "now", lambda: datetime.now(UTC) + timedelta(seconds=6))
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    assert "differ" in answer.json()["checks"]["clock"]


@pytest.mark.django_db
def test_m05_it_is_not_ready_without_the_vaults_key(client, ready):
    (ready / "vault_public").unlink()
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"]["vault"] == "its public key is missing"


@pytest.mark.django_db
def test_m05_it_tells_no_secret_of_what_broke(client, ready, monkeypatch):
    def breaks():
        raise OSError("postgresql://user:hunter2@db failed")

    monkeypatch.setitem(health.CHECKS, "database", breaks)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"]["database"] == "unreachable"
    assert b"hunter2" not in answer.content


def serve_once(path: Path, reply: bytes) -> threading.Thread:
    line = socket.socket(socket.AF_UNIX)
    line.bind(str(path))
    line.listen(1)

    def run():
        peer, _ = line.accept()
        with peer, line:
            assert b'"ping"' in peer.recv(4096)
            peer.sendall(reply)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("reply", "status"), [(b'{"id":1,"ok":true}\n', 200), (b'{"id":1,"ok":false}\n', 503), (b"", 503)]
)
def test_m05_it_asks_the_gateway_where_there_is_one(client, ready, reply, status):
    thread = serve_once(ready / "gateway.sock", reply)
    assert client.get("/readyz").status_code == status
    thread.join(5)


@pytest.mark.django_db
def test_m05_a_gateway_that_is_gone_is_not_ready(client, ready):
    line = socket.socket(socket.AF_UNIX)
    line.bind(str(ready / "gateway.sock"))
    line.close()
    assert client.get("/readyz").status_code == 503
