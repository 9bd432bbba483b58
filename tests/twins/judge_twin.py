"""A twin of the gateway's judge: hands listeners to a proxy and answers its questions as a test says."""

import base64
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

Ruling = dict[str, Any]


def allow(*inject: tuple[str, str, str], redact: tuple[str, ...] = ()) -> Ruling:
    """``inject``: ``("header" | "query", name, value)``; what is attached is also taken out of answers."""
    attached = [{kind: name, "value": _coded(value)} for kind, name, value in inject]
    return {"allow": True, "inject": attached, "redact": [_coded(value) for value in redact]}


def refuse(code: str = "host_blocked", status: int = 403) -> Ruling:
    return {"allow": False, "status": status, "code": code, "words": f"no: {code}"}


def _coded(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


class JudgeTwin:
    """``ruling(question)`` decides; ``questions`` and ``told`` hold what came."""

    def __init__(self, path: str) -> None:
        self.ruling: Callable[[Ruling], Ruling] = lambda question: allow()
        self.questions: list[Ruling] = []
        self.told: list[Ruling] = []
        self.serving: set[str] = set()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        until = time.monotonic() + 30
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def open(self, lease: str) -> int:
        """A listener as a sandbox hands it out; its port."""
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(128)
            line = json.dumps({"op": "serve", "lease": lease}).encode() + b"\n"
            socket.send_fds(self.socket, [line], [listener.fileno()])
            port = int(listener.getsockname()[1])
        until = time.monotonic() + 30
        while lease not in self.serving and time.monotonic() < until:
            time.sleep(0.005)
        return port

    def heard(self, count: int = 1) -> list[Ruling]:
        """What the proxy has told, once it is that much."""
        until = time.monotonic() + 5
        while len(self.told) < count and time.monotonic() < until:
            time.sleep(0.005)
        return self.told

    def send(self, **message: Any) -> None:
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(5)
        self.socket.close()

    def _work(self) -> None:
        rest = b""
        with contextlib.suppress(OSError):
            while data := self.socket.recv(1 << 18):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._take(json.loads(line))

    def _take(self, message: Ruling) -> None:
        if message["op"] == "judge":
            self.questions.append(message)
            self.send(**self.ruling(message), id=message["id"])
        elif message["op"] == "serving":
            self.serving.add(message["lease"])
        else:
            self.told.append(message)
