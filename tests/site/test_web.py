"""The web server itself, over a socket: bodies without a length and without an end."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAD = "POST /v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{}\r\n\r\n"
MEBI = 1 << 20


@pytest.fixture(scope="module")
def port():
    """A running web server; what is asked here needs no database."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        chosen = free.getsockname()[1]
    command = [sys.executable, "-m", "benchwright_site.web", "-v", "0", "-b", "127.0.0.1", "-p", str(chosen)]
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    server = subprocess.Popen([*command, "benchwright_site.asgi:application"], cwd=ROOT, env=env)
    try:
        _wait(chosen, server)
        yield chosen
    finally:
        server.terminate()
        server.wait(20)


def _wait(port, server):
    for _ in range(600):
        assert server.poll() is None
        try:
            with socket.create_connection(("127.0.0.1", port), 1):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the web server did not start")


def answer(line):
    found = http.client.HTTPResponse(line)
    found.begin()
    body = json.loads(found.read())
    assert found.getheader("Content-Type") == "application/problem+json"
    assert (found.status, body["code"]) == (413, "payload_too_large")
    assert found.getheader("Connection") == "close"
    assert body["request_id"] == found.getheader("X-Request-Id")
    return body


def test_a07_a_chunked_body_over_the_routes_limit_is_refused(port):
    with socket.create_connection(("127.0.0.1", port), 30) as line:
        line.sendall(HEAD.format("Transfer-Encoding: chunked").encode())
        for _ in range(2):
            line.sendall(b"100000\r\n" + b"x" * MEBI + b"\r\n")
        line.sendall(b"0\r\n\r\n")
        assert answer(line)["limit_bytes"] == MEBI


def test_a07_a_body_without_an_end_is_cut_off(port):
    sent = 0
    with socket.create_connection(("127.0.0.1", port), 30) as line:
        line.sendall(HEAD.format("Transfer-Encoding: chunked").encode())
        try:
            while sent < 200:
                line.sendall(b"100000\r\n" + b"x" * MEBI + b"\r\n")
                sent += 1
        except OSError:
            pass  # hung up on
    assert 32 <= sent < 100, "the server must hang up soon after its bound"


def test_a07_a_body_that_says_it_is_too_long_is_not_read(port):
    with socket.create_connection(("127.0.0.1", port), 30) as line:
        line.sendall(HEAD.format(f"Content-Length: {40 * MEBI}").encode())
        answer(line)


def test_a07_a_length_over_the_routes_limit_is_refused(port):
    with socket.create_connection(("127.0.0.1", port), 30) as line:
        line.sendall(HEAD.format(f"Content-Length: {MEBI + 1}").encode() + b"x" * (MEBI + 1))
        answer(line)


def test_m03_a_head_that_comes_byte_by_byte_is_hung_up_on(port):
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), 5) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        with pytest.raises(OSError):
            while time.monotonic() < began + 30:
                line.sendall(b"x")
                time.sleep(0.25)
    assert time.monotonic() - began < 15


def test_m03_a_head_that_is_too_long_is_refused(port):
    with socket.create_connection(("127.0.0.1", port), 30) as line:
        try:
            line.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            for at in range(2000):
                line.sendall(f"X-{at}: {'x' * 500}\r\n".encode())
            line.sendall(b"\r\n")
            said = line.recv(65536)
        except OSError:
            said = b""
    assert said == b"" or said.split(b" ")[1] in (b"400", b"431")


def test_m03_many_idle_connections_keep_nobody_waiting(port):
    idle = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(400)]
    try:
        for line in idle[::2]:
            line.sendall(b"POST /v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
        began = time.monotonic()
        test_the_server_still_answers(port)
        assert time.monotonic() - began < 5
    finally:
        for line in idle:
            line.close()


def test_the_server_still_answers(port):
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    line.request("GET", "/healthz")
    found = line.getresponse()
    assert (found.status, json.loads(found.read())["status"]) == (200, "ok")
    line.close()
