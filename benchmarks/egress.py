"""The egress proxy's cost: the same https fetch with and without it, from the same client to the same host.

    python -m benchmarks.egress [--requests 1000] [--clients 16] [--watched]

Host and proxy are processes of their own. The judge is a twin that says yes; the real one adds what a dictionary costs,
and a look at the database once a second. Prints one line of JSON: latency of one client alone on a kept connection and
on a new one for each request (p50 and p95, ms), and requests a second of ``--clients`` at once on kept connections.
``--watched``: a secret is attached and every answer is searched for it.
"""

import argparse
import json
import os
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from secrets_vault.authority import ensure_authority  # noqa: E402
from tests.twins.hosts_twin import Hosts, TestAuthority, answer  # noqa: E402
from tests.twins.judge_twin import JudgeTwin, allow  # noqa: E402

HOST, TOKEN = "a.test", "t"
VALUE = "sk-live-0123456789abcdef"
SIZES = {"1 kB": 1_000, "1 MB": 1_000_000}


def serve_host(folder: str) -> None:
    """The host's process: prints its table, lives until its input ends."""
    hosts = Hosts(TestAuthority(Path(folder)))
    hosts.add(HOST)
    for name, size in SIZES.items():
        hosts.say(
            HOST, f"/{name.replace(' ', '')}", answer((b"The quick brown fox jumps over. " * (size // 32 + 1))[:size])
        )
    print(hosts.table(), hosts.authority.file, flush=True)
    sys.stdin.read()


class Client:
    """Fetches over a kept connection; ``proxy`` is a port or None for the direct way."""

    def __init__(self, port: int, trust: Path, proxy: int | None) -> None:
        self.port, self.proxy = port, proxy
        self.context = ssl.create_default_context(cafile=str(trust))
        self.socket: ssl.SSLSocket | None = None

    def connect(self) -> ssl.SSLSocket:
        raw = socket.create_connection(("127.0.0.1", self.proxy or self.port))
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.proxy:
            raw.sendall(b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\nProxy-Authorization: Basic cnVuOnQ=\r\n\r\n")
            assert raw.recv(4096).startswith(b"HTTP/1.1 200")
        return self.context.wrap_socket(raw, server_hostname=HOST)

    def fetch(self, path: str, size: int, *, fresh: bool = False) -> float:
        """Seconds."""
        began = time.perf_counter()
        if fresh or self.socket is None:
            if self.socket is not None:
                self.socket.close()
            self.socket = self.connect()
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n".encode())
        got, body = b"", 0
        while b"\r\n\r\n" not in got:
            got += self.socket.recv(1 << 18)
        head, _, rest = got.partition(b"\r\n\r\n")
        chunked, body = b"chunked" in head.lower(), len(rest)
        while not rest.endswith(b"0\r\n\r\n") if chunked else body < size:
            rest = self.socket.recv(1 << 18)
            body += len(rest)
        return time.perf_counter() - began

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()


def percentiles(seconds: list[float]) -> dict[str, float]:
    cut = statistics.quantiles(seconds, n=20)
    return {"p50_ms": round(1000 * cut[9], 2), "p95_ms": round(1000 * cut[18], 2)}


def alone(make: Callable[[], Client], path: str, size: int, count: int, *, fresh: bool) -> dict[str, float]:
    client = make()
    for _ in range(20):
        client.fetch(path, size, fresh=fresh)
    found = percentiles([client.fetch(path, size, fresh=fresh) for _ in range(count)])
    client.close()
    return found


def together(make: Callable[[], Client], path: str, size: int, count: int, clients: int) -> float:
    """Requests a second."""

    def work() -> None:
        client = make()
        for _ in range(count // clients):
            client.fetch(path, size)
        client.close()

    threads = [threading.Thread(target=work) for _ in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return round(count // clients * clients / (time.perf_counter() - began), 1)


def measure(
    arguments: argparse.Namespace, direct: Callable[[], Client], proxied: Callable[[], Client]
) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, size in SIZES.items():
        path, count = f"/{name.replace(' ', '')}", arguments.requests if size < 10_000 else arguments.requests // 10
        rows: dict[str, object] = {}
        for way, make in (("direct", direct), ("proxy", proxied)):
            rows[way] = {
                "kept": alone(make, path, size, count, fresh=False),
                "new": alone(make, path, size, count // 4, fresh=True),
                "requests_per_second": together(make, path, size, count, arguments.clients),
            }
        found[name] = rows
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--watched", action="store_true", help="attach a secret, and search answers for it")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    subprocess.run([sys.executable, "scripts/install.py", "egress"], cwd=ROOT, check=True, stdout=sys.stderr)
    folder = Path(tempfile.mkdtemp(prefix="bweb-", dir="/var/tmp"))
    (folder / "keys").mkdir()
    ensure_authority(folder / "keys")
    host = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.egress", "--host", str(folder)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert host.stdout
    table, trust = host.stdout.readline().split()
    python = Path(os.environ.get("BENCHWRIGHT_EGRESS_ENVIRONMENT") or ROOT / ".venv-egress") / "bin" / "python"
    path = str(folder / "egress.sock")
    proxy = subprocess.Popen(
        [str(python), "-m", "egress", "--authority", str(folder / "keys" / "egress_private"), "--socket", path],
        cwd=ROOT, env={"BENCHWRIGHT_EGRESS_HOSTS": table, "BENCHWRIGHT_EGRESS_TRUST": trust}, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert proxy.stdout
    proxy.stdout.readline()
    judge = JudgeTwin(path)
    yes = allow(("header", "Authorization", f"Bearer {VALUE}"), redact=(VALUE,)) if arguments.watched else allow()
    judge.ruling = lambda question: yes
    port = int(table.rpartition(":")[2])
    try:
        way = judge.open("bench")
        found = measure(
            arguments,
            lambda: Client(port, Path(trust), None),
            lambda: Client(port, folder / "keys" / "egress_public", way),
        )
        print(json.dumps({"measurement": "egress", "watched": arguments.watched, "quiet": load < 0.5, **found}))
    finally:
        judge.close()
        for process in (proxy, host):
            process.terminate()
            process.wait(10)
        shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--host"]:
        serve_host(sys.argv[2])
    else:
        main()
