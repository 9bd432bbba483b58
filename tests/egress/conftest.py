"""A real proxy process in its own environment, twins of public hosts, and a twin of the judge that answers as told."""

import base64
import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchwright_site.serve import egress
from secrets_vault.authority import ensure_authority
from tests.twins.hosts_twin import Hosts, TestAuthority
from tests.twins.huggingface_twin import CDN, HUB, VIEWER
from tests.twins.judge_twin import JudgeTwin, allow

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "bwe1.token-of-the-run"


@pytest.fixture(scope="session")
def egress_python() -> str:
    """The interpreter of the proxy's own environment, made by the installer where it is not there yet."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "install.py"), "egress"], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"the egress proxy's packages can't be had here: {done.stderr.strip()[-300:]}")
    return str(egress.interpreter())


@dataclass
class Answer:
    status: int
    head: bytes
    body: bytes

    @property
    def code(self) -> str:
        return self.body.split(b'"code": "', 1)[-1].split(b'"')[0].decode() if b'"code"' in self.body else ""


class NoTunnel(Exception):
    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.answer = answer


class Rig:
    """One lease at a running proxy."""

    def __init__(self, judge: JudgeTwin, hosts: Hosts, bundle: Path) -> None:
        self.judge, self.hosts, self.bundle = judge, hosts, bundle
        self.lease = uuid.uuid4().hex
        self.port = judge.open(self.lease)
        self.token = TOKEN
        self.open: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"http://run:{self.token}@127.0.0.1:{self.port}"

    def environment(self) -> dict[str, str]:
        """As a sandbox has it."""
        kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        names = ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "PIP_CERT")
        return kept | dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), self.url) | dict.fromkeys(
            names, str(self.bundle)
        ) | {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}  # fmt: skip

    def connect(self) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port), 15)
        self.open.append(client)
        return client

    def raw(self, data: bytes) -> Answer:
        """What the proxy answers to these bytes, whatever they are."""
        client = self.connect()
        client.sendall(data)
        return read(client)

    def tunnel(self, authority: str) -> tuple[socket.socket, Answer]:
        client = self.connect()
        credentials = f"Proxy-Authorization: Basic {basic(self.token)}\r\n"
        client.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{credentials}\r\n".encode("latin-1"))
        return client, read(client, bodyless=True)

    def tls(self, host: str, *, sni: str | None = None, alpn: list[str] | None = None) -> ssl.SSLSocket:
        """A TLS connection in a tunnel to ``host``; the certificate is checked only where the names agree."""
        client, answer = self.tunnel(f"{host}:443")
        if answer.status != 200:
            raise NoTunnel(answer)
        context = ssl.create_default_context(cafile=str(self.bundle))
        if sni is not None:
            context.check_hostname = False
        if alpn:
            context.set_alpn_protocols(alpn)
        wrapped = context.wrap_socket(client, server_hostname=host if sni is None else sni or None)
        self.open.append(wrapped)
        return wrapped

    def ask(self, host: str, path: str = "/", *headers: str, method: str = "GET", body: bytes = b"") -> Answer:
        """One https request as a client makes it."""
        try:
            client = self.tls(host)
        except NoTunnel as no:
            return no.answer
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        client.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
        return read(client, bodyless=method == "HEAD")

    def plain(self, authority: str, path: str = "/") -> Answer:
        """One http request as a client makes it of a proxy."""
        host = authority.partition(":")[0]
        lines = [
            f"GET http://{authority}{path} HTTP/1.1",
            f"Host: {authority}",
            f"Proxy-Authorization: Basic {basic(self.token)}",
        ]
        return self.raw("\r\n".join([*lines, "X-For: " + host, "", ""]).encode())

    def close(self) -> None:
        for client in self.open:
            with contextlib.suppress(OSError):
                client.close()
        with contextlib.suppress(OSError):
            self.judge.send(op="drop", lease=self.lease)


def basic(token: str) -> str:
    return base64.b64encode(f"run:{token}".encode()).decode()


def read(client: socket.socket, *, bodyless: bool = False) -> Answer:
    """One answer, or what came of it until the connection ended: status 0 where nothing did."""
    data = b""
    with contextlib.suppress(OSError):
        while b"\r\n\r\n" not in data:
            piece = client.recv(65536)
            if not piece:
                break
            data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1]) if head.startswith(b"HTTP/1.") else 0
    small = head.lower()
    with contextlib.suppress(OSError):
        if (bodyless and status == 200) or status in (204, 304):
            pass
        elif b"transfer-encoding: chunked" in small:
            while not body.endswith(b"0\r\n\r\n") and (piece := client.recv(65536)):
                body += piece
            body = dechunked(body)
        elif b"content-length: " in small:
            length = int(small.split(b"content-length: ")[1].split(b"\r\n")[0])
            while len(body) < length and (piece := client.recv(65536)):
                body += piece
        elif status:
            while piece := client.recv(65536):
                body += piece
    return Answer(status, head, body)


def dechunked(data: bytes) -> bytes:
    out = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        count = int(size or b"0", 16)
        if not count:
            break
        out, data = out + data[:count], data[count + 2 :]
    return out


# The last ones are where rows come from (test_rows.py).
NAMES = ("a.test", "b.test", "internal.test", "api.openrouter.test", "github.com", HUB, CDN, VIEWER)


@pytest.fixture(scope="session")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    found = Hosts(TestAuthority(tmp_path_factory.mktemp("authority")))
    for name in NAMES:
        found.add(name)
    found.add("plain.test", plain=True)
    found.add("a.test", plain=True)
    found.add("expired.test", found.authority.context("expired.test", days=-1))
    found.add("nobody.test", found.authority.context("nobody.test", by_nobody=True))
    found.add("other-name.test", found.authority.context("elsewhere.test"))
    old = found.authority.context("old-tls.test")
    old.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that is the point of it
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1
    found.add("old-tls.test", old)
    yield found
    found.stop()


@dataclass
class ProxyProcess:
    socket: str
    bundle: Path
    process: "subprocess.Popen[bytes]"


def start_proxy(python: str, hosts: Hosts, folder: Path, **env: str) -> ProxyProcess:
    keys = folder / "keys"
    keys.mkdir(exist_ok=True)
    ensure_authority(keys)
    path = str(folder / "egress.sock")
    whole = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {
        "BENCHWRIGHT_EGRESS_HOSTS": hosts.table() + ",gone.test=127.0.0.1:1",
        "BENCHWRIGHT_EGRESS_TRUST": str(hosts.authority.file),
        **env,
    }
    command = [python, "-m", "egress", "--authority", str(keys / "egress_private"), "--socket", path]
    process = subprocess.Popen(command, cwd=ROOT, env=whole, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"egress ready\n"
    return ProxyProcess(path, keys / "egress_public", process)


def stop_proxy(found: ProxyProcess) -> bytes:
    """Ends it; what it has printed since it was ready."""
    found.process.terminate()
    said, _ = found.process.communicate(timeout=15)
    return said


@pytest.fixture(scope="session")
def proxy(egress_python: str, hosts: Hosts) -> Iterator[ProxyProcess]:
    folder = Path(tempfile.mkdtemp(prefix="bwe-", dir="/var/tmp"))
    limits = {"FIRST_BYTE_SECONDS": "1.2", "IDLE_SECONDS": "1", "TOTAL_SECONDS": "2.5", "ANSWER_MB": "8"}
    found = start_proxy(egress_python, hosts, folder, **{f"BENCHWRIGHT_EGRESS_{k}": v for k, v in limits.items()})
    yield found
    stop_proxy(found)
    shutil.rmtree(folder)


@pytest.fixture
def rig(proxy: ProxyProcess, hosts: Hosts) -> Iterator[Rig]:
    hosts.forget()
    judge = JudgeTwin(proxy.socket)
    judge.ruling = lambda question: allow()
    found = Rig(judge, hosts, proxy.bundle)
    yield found
    found.close()
    judge.close()
