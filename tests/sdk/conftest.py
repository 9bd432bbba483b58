"""A small real HTTP server that answers as it is told, and a client that talks to it."""

import json
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchwright import Benchwright

TOKEN = "bw_live_pat_" + "a" * 38


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    """``body`` is JSON unless it is bytes. ``cut`` closes the connection after that many bytes of it; 0 = no answer."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None

    def raw(self) -> bytes:
        if self.body is None:
            return b""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def problem(status: int, code: str, detail: str = "", **extra: Any) -> Answer:
    headers = {"Content-Type": "application/problem+json", **extra.pop("headers", {})}
    body = {"type": "about:blank", "status": status, "code": code, "detail": detail or code, "request_id": "req_1"}
    return Answer({**body, **extra}, status, headers)


Route = Callable[[Request], Answer]


class Twin:
    """Routes by (method, path below /v1). A list of answers is given one by one; the last one stays."""

    def __init__(self) -> None:
        self.routes: dict[tuple[str, str], Route | list[Answer] | Answer] = {}
        self.calls: list[Request] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def on(self, method: str, path: str, *answers: Answer | Route) -> None:
        self.routes[method, path] = answers[0] if len(answers) == 1 else list(answers)  # type: ignore[assignment]

    def answer(self, request: Request) -> Answer:
        with self._lock:
            self.calls.append(request)
            route = self.routes.get((request.method, request.path))
            if isinstance(route, list):
                return route.pop(0) if len(route) > 1 else route[0]
        if route is None:
            return problem(404, "not_found", f"no {request.method} {request.path} here")
        return route if isinstance(route, Answer) else route(request)

    def paths(self) -> list[str]:
        return [f"{call.method} {call.path}" for call in self.calls]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler_for(twin: Twin) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            parts = urllib.parse.urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            request = Request(
                self.command,
                parts.path.removeprefix("/v1"),
                dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True)),
                {name.lower(): value for name, value in self.headers.items()},
                self.rfile.read(length),
            )
            self._write(twin.answer(request))

        def _write(self, answer: Answer) -> None:
            content = answer.raw()
            if answer.cut == 0:
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            if answer.status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: answer.cut])
            if answer.cut is not None:
                self.close_connection = True

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@pytest.fixture
def twin() -> Iterator[Twin]:
    made = Twin()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and nothing of the developer's environment."""
    for name in ("BW_PAT", "BW_BASE_URL", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def naps() -> list[float]:
    """The seconds that the client wanted to sleep."""
    return []


@pytest.fixture
def bw(twin: Twin, naps: list[float]) -> Iterator[Benchwright]:
    with Benchwright(api_key=TOKEN, base_url=twin.url, timeout=5) as client:
        client._http.sleep = naps.append
        yield client


@pytest.fixture
def reply() -> type[Answer]:
    return Answer


@pytest.fixture
def refusal() -> Callable[..., Answer]:
    return problem
