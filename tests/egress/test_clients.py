"""Ordinary clients get through with nothing but the sandbox's environment, and show what was refused."""

import base64
import hashlib
import io
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.egress.conftest import Rig
from tests.twins.hosts_twin import answer
from tests.twins.judge_twin import allow, refuse

GET = {
    "requests": "import requests; a = requests.get('https://a.test/x', timeout=9); print(a.status_code, a.text)",
    "httpx": "import httpx; a = httpx.get('https://a.test/x', timeout=9); print(a.status_code, a.text)",
    "urllib": "import urllib.request as u; a = u.urlopen('https://a.test/x', timeout=9); print(a.status, a.read().decode())",
    "aiohttp": (
        "import aiohttp, asyncio\n"
        "async def main():\n"
        "    async with aiohttp.ClientSession(trust_env=True) as s, s.get('https://a.test/x') as a:\n"
        "        print(a.status, await a.text())\n"
        "asyncio.run(main())"
    ),
}
# Node before 24 knows no proxy by itself; what it trusts it takes from the environment.
NODE = """
const http = require('http'), https = require('https'), proxy = new URL(process.env.HTTPS_PROXY);
const auth = 'Basic ' + Buffer.from(proxy.username + ':' + proxy.password).toString('base64');
http.request({host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: 'a.test:443',
    headers: {'Proxy-Authorization': auth}}).on('connect', (answer, socket) => {
  https.get({host: 'a.test', path: '/x', socket, agent: false}, (said) => {
    said.on('data', (text) => { console.log(said.statusCode, String(text)); process.exit(0); });
  }).on('error', (error) => { console.log(error.code); process.exit(1); });
}).end();
"""


def run(rig: Rig, *command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        command, env=rig.environment(), cwd=cwd or "/", capture_output=True, text=True, timeout=60, check=False
    )
    return (done.stdout + done.stderr).strip()


def test_it_passes_a_request_on(rig: Rig) -> None:
    said = rig.ask("a.test", "/x?y=1")
    assert (said.status, said.body) == (200, b"hello")
    assert rig.hosts.seen[0].first == "GET /x?y=1 HTTP/1.1"
    assert rig.hosts.seen[0].header("accept-encoding") == "identity"
    assert rig.hosts.seen[0].header("proxy-authorization") is None


@pytest.mark.parametrize("name", GET)
def test_it_takes_clients_in_python(name: str, rig: Rig) -> None:
    rig.judge.ruling = lambda question: allow(("header", "Authorization", "Bearer sk-live-123456"))
    assert run(rig, sys.executable, "-c", GET[name]) == "200 hello"
    assert rig.hosts.seen[0].header("authorization") == "Bearer sk-live-123456"


@pytest.mark.parametrize("name", GET)
def test_it_shows_them_that_a_host_is_blocked(name: str, rig: Rig) -> None:
    rig.judge.ruling = lambda question: refuse("host_blocked")
    said = run(rig, sys.executable, "-c", GET[name])
    assert "host_blocked" in said
    assert not rig.hosts.seen


def test_it_takes_curl(rig: Rig) -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    assert run(rig, "curl", "-sS", "-w", " %{http_code}", "https://a.test/x") == "hello 200"
    assert run(rig, "curl", "-sS", "-d", "a=b", "-H", "Expect: 100-continue", "https://a.test/x") == "hello"
    assert rig.hosts.seen[-1].body == b"a=b"
    rig.judge.ruling = lambda question: refuse("host_blocked")
    assert "403" in run(rig, "curl", "-sS", "https://a.test/x")


def test_it_takes_pip(rig: Rig, tmp_path: Path) -> None:
    name = "tiny_thing-1.0-py3-none-any.whl"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as wheel:
        wheel.writestr("tiny_thing.py", "")
        wheel.writestr("tiny_thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n")
        wheel.writestr(
            "tiny_thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("tiny_thing-1.0.dist-info/RECORD", "")
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    page = f'<a href="https://b.test/{name}#sha256={digest}">{name}</a>'.encode()
    rig.hosts.say("a.test", "/simple/tiny-thing/", answer(page, "Content-Type: text/html"))
    rig.hosts.say("b.test", f"/{name}", answer(packed.getvalue()))
    index = ["--isolated", "--index-url", "https://a.test/simple/", "--no-cache-dir", "--disable-pip-version-check"]
    said = run(
        rig,
        sys.executable,
        "-m",
        "pip",
        "download",
        *index,
        "--cert",
        str(rig.bundle),
        "--no-deps",
        "tiny-thing",
        cwd=tmp_path,
    )
    assert (tmp_path / name).exists(), said
    (tmp_path / name).unlink()
    said = run(rig, sys.executable, "-m", "pip", "download", *index[1:], "--no-deps", "tiny-thing", cwd=tmp_path)
    assert (tmp_path / name).exists(), said


def test_it_takes_node_and_npm(rig: Rig, tmp_path: Path) -> None:
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    assert run(rig, "node", "-e", NODE) == "200 hello"
    if shutil.which("npm"):
        rig.hosts.say("a.test", "/-/ping", answer(b"{}", "Content-Type: application/json"))
        own = ["--userconfig", "/dev/null", "--globalconfig", str(tmp_path / "none"), "--cache", str(tmp_path)]
        said = run(rig, "npm", "ping", "--registry", "https://a.test/", "--fetch-retries", "0", *own)
        assert "PONG" in said, said


def test_it_passes_large_bodies_both_ways(rig: Rig) -> None:
    body = base64.b64encode(bytes(range(256)) * 8000)
    rig.hosts.say(
        "a.test", "/up", lambda seen: answer(json.dumps({"sha": hashlib.sha256(seen.body).hexdigest()}).encode())
    )  # type: ignore[arg-type]
    said = rig.ask("a.test", "/up", method="POST", body=body)
    assert json.loads(said.body) == {"sha": hashlib.sha256(body).hexdigest()}
    client = rig.tls("a.test")
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:9], body[9:100_000], body[100_000:]))
    client.sendall(b"POST /up HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
    rig.hosts.say("a.test", "/down", answer(body))
    assert rig.ask("a.test", "/down").body == body
    assert rig.hosts.seen[1].body == body
