"""The model gateway alone: its CPU time per call against a mock model, 200 calls in flight on kept connections.

    python -m benchmarks.gateway_micro --mock ../shared/bench/mock_openai.py --calls 5000 --repeats 3

Wants DATABASE_URL of a migrated database; leaves a user and runs there. Prints one line per round and the median.
CPU is the gateway process's own (user and system), from the first call until all calls are in the database.
"""

import argparse
import asyncio
import json
import os
import pathlib
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from typing import cast

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchwright_site.settings")
django.setup()

from accounts.models import User  # noqa: E402 (Django first)
from runs.gateway_client import GatewayClient  # noqa: E402
from runs.gateway_keys import mint  # noqa: E402
from runs.models import ModelCall, Run  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
TICKS = os.sysconf("SC_CLK_TCK")
MODEL = "mock-1"


def cpu_seconds(pid: int) -> tuple[float, float]:
    """User and system."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) / TICKS, int(fields[12]) / TICKS


class Caller(asyncio.Protocol):
    """One kept connection that asks the next question as soon as the last is answered."""

    transport: asyncio.Transport

    def __init__(self, requests: Iterator[bytes], ended: "asyncio.Future[None]") -> None:
        self.requests = requests
        self.ended = ended
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._next()

    def _next(self) -> None:
        request = next(self.requests, None)
        if request is None:
            self.ended.set_result(None)
        else:
            self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if found and len(body) >= int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            if not head.startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"not 200: {self.buffer[:500]!r}")
            self.buffer = b""
            self._next()


def request(key: str, number: int) -> bytes:
    question = {"role": "user", "content": f"What is {number} plus {number}?"}
    body = json.dumps({"model": MODEL, "messages": [question], "temperature": 0, "max_tokens": 64}).encode()
    return (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:8080\r\nauthorization: Bearer %s\r\n"
        b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (key.encode(), len(body), body)
    )


def new_run(port: int, at_once: int) -> Run:
    owner = User.objects.create(email=f"{uuid.uuid4().hex}@example.org")
    sut = {"model": MODEL, "provider": "local", "base_url": f"http://127.0.0.1:{port}/v1", "params": {}}
    return Run.objects.create(
        owner=owner, status="running", mode="benchmark", concurrency=at_once, sut=sut, sut_key={"kind": "none"}
    )


async def measure(gateway: int, path: str, port: int, calls: int, at_once: int) -> float:
    """CPU milliseconds per call of one round."""
    run = await asyncio.to_thread(new_run, port, at_once)
    client = GatewayClient(path)
    await client.connect()
    lease, mac_key = uuid.uuid4().hex, secrets.token_hex(32)
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        await client.lease(run.id, lease, mac_key, listener)
        port = listener.getsockname()[1]
    requests = iter([request(mint(mac_key, lease, number, 1, 1), number) for number in range(calls)])
    loop = asyncio.get_running_loop()
    ends = [loop.create_future() for _ in range(at_once)]
    before, begun = cpu_seconds(gateway), time.perf_counter()
    callers = [await loop.create_connection(lambda end=end: Caller(requests, end), "127.0.0.1", port) for end in ends]  # type: ignore[misc]
    await asyncio.gather(*ends)
    seconds = time.perf_counter() - begun
    while await asyncio.to_thread(ModelCall.objects.filter(run=run, status="settled").count) < calls:
        await asyncio.sleep(0.1)
    user, system = ((now - then) * 1000 / calls for now, then in zip(cpu_seconds(gateway), before, strict=True))
    found = await client.facts(lease, [(number, 1) for number in range(calls)])
    assert all(facts["calls"] == 1 and not facts["unresolved"] and facts["tokens_in"] for facts in found)
    for transport, _ in callers:
        transport.close()
    await client.close()
    print(
        f"{user + system:.3f} ms CPU per call ({system:.3f} in the kernel); {calls} calls in {seconds:.2f} s",
        flush=True,
    )
    return user + system


async def rounds(options: argparse.Namespace, gateway: int, path: str, port: int) -> None:
    await measure(gateway, path, port, 500, options.at_once)  # warm
    found = [await measure(gateway, path, port, options.calls, options.at_once) for _ in range(options.repeats)]
    print(f"median {statistics.median(found):.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mock", required=True)
    parser.add_argument("--latency", default="fixed:50")
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--at-once", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--profile", default="", help="a file for py-spy's raw stacks")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="bwm-", dir="/var/tmp")
    path = f"{folder}/gateway.sock"
    env = {**os.environ, "BENCHWRIGHT_GATEWAY_SOCKET": path, "BENCHWRIGHT_JOURNAL_DIR": f"{folder}/journal"}
    processes: list[subprocess.Popen[bytes]] = []

    def start(*command: str) -> tuple[int, bytes]:
        process = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=env, stdout=subprocess.PIPE)
        processes.append(process)
        assert process.stdout is not None
        return process.pid, process.stdout.readline()

    try:
        _, line = start(options.mock, "--latency", options.latency)
        gateway, _ = start("manage.py", "gateway")
        if options.profile:
            spy = ["py-spy", "record", "-r", "200", "-f", "raw", "-d", "600", "-o", options.profile, "-p", str(gateway)]
            processes.insert(0, subprocess.Popen(spy, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        asyncio.run(rounds(options, gateway, path, json.loads(line)["port"]))
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
