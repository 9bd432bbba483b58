"""A run on the twin, and ways to call the command line."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchwright import _http
from benchwright.cli import main as cli

TOKEN = "bw_live_pat_" + "a" * 38
SOURCE = Path(__file__).resolve().parents[3] / "sdk" / "src"


@dataclass
class Called:
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def environment(twin: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BW_PAT", TOKEN)
    monkeypatch.setenv("BW_BASE_URL", twin.url)
    monkeypatch.chdir(home)
    monkeypatch.setattr(_http, "backoff", lambda tried: 0.0)  # pauses are tested where they are made


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Called]:
    """Run a command in this process; ``stdin`` is text of a pipe."""

    def run(*words: str, stdin: str = "") -> Called:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        code = cli.run(list(words))
        said = capsys.readouterr()
        return Called(code, said.out, said.err)

    return run


@pytest.fixture
def process() -> Callable[..., Called]:
    """Run a command as a process of its own, as a shell would."""

    def run(*words: str, stdin: str = "", **environment: str) -> Called:
        variables = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "error", **environment}
        command = [sys.executable, "-m", "benchwright", *words]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, env=variables, timeout=60)
        return Called(done.returncode, done.stdout, done.stderr)

    return run


class RunTwin:
    """One run on the server, launched by any body; keys are remembered as the server remembers them."""

    def __init__(self, twin: Any, reply: Any) -> None:
        self.twin, self.reply = twin, reply
        self.runs: dict[str, dict[str, Any]] = {}
        self.keys: dict[str, str] = {}
        self.gone: set[str] = set()
        self.summary = summary(164, 36)
        self.status = "ok"
        self.extra: dict[str, Any] = {}
        twin.on("POST", "/runs", self.launch)

    def launch(self, request: Any) -> Any:
        key = request.headers["idempotency-key"]
        if key in self.keys:
            first = self.runs[self.keys[key]]
            return self.reply({**first, "status": "queued"}, 201, {"Idempotent-Replayed": "true"})
        run_id = f"run-{len(self.runs) + 1}"
        self.keys[key] = run_id
        self.runs[run_id] = {
            "object": "run",
            "id": run_id,
            "status": self.status,
            "trials": 1,
            "summary": self.summary,
            "cost": {
                "billed": {"amount_cents": 0, "amount": "0.00000000", "currency": "USD"},
                "model": {"amount_cents": 0, "amount": "0.00213400", "currency": "USD"},
            },
            "links": {"dashboard": f"http://host/runs/{run_id}"},
            **self.extra,
        }
        self.twin.on("GET", f"/runs/{run_id}", lambda _: self.read(run_id))
        self.twin.on("GET", f"/runs/{run_id}/stream", self.stream(self.events(run_id)))
        return self.reply({**self.runs[run_id], "status": "queued"}, 201)

    def read(self, run_id: str) -> Any:
        if run_id in self.gone:
            problem = {"code": "gone", "detail": "The run was destroyed."}
            return self.reply(problem, 410, {"Content-Type": "application/problem+json"})
        return self.reply(self.runs[run_id])

    def events(self, run_id: str) -> list[tuple[str, dict[str, Any]]]:
        end = {"ok": "RunCompleted", "failed": "RunFailed", "halted": "RunHalted"}.get(self.status, "RunCompleted")
        result = {"task_id": "t\x1b[2J1", "outcome": "passed", "score": 1.0, "cost": 1000}
        return [
            ("RunQueued", {}),
            ("PhaseStarted", {"phase": "materialize"}),
            ("MaterializeTaskResult", result),
            ("PhaseProgress", {"phase": "materialize", "done": 1, "total": 1, "waiting": None}),
            ("PhaseCompleted", {"phase": "materialize"}),
            (end, {}),
        ]

    def stream(self, events: list[tuple[str, dict[str, Any]]]) -> Any:
        frames = [
            f"id: {n}\nevent: {kind}\ndata: {json.dumps({'seq': n, 'type': kind, 'created_at': '', 'data': data})}\n\n"
            for n, (kind, data) in enumerate(events, 1)
        ]
        return self.reply("".join(frames).encode(), headers={"Content-Type": "text/event-stream"})


def summary(passed: int, failed: int, errored: int = 0) -> dict[str, Any]:
    total = passed + failed + errored
    scored = passed + failed
    return {
        **{"total": total, "passed": passed, "failed": failed, "errored": errored, "unscored": 0, "skipped": 0},
        "coverage": scored / total if total else None,
        "pass_rate": passed / scored if scored else None,
        "ci95": [0.761, 0.867],
        "bounds": {"worst": passed / total, "best": (total - failed) / total} if total else {},
    }


@pytest.fixture
def runs(twin: Any, reply: Any) -> RunTwin:
    return RunTwin(twin, reply)


@pytest.fixture
def tally() -> Callable[..., dict[str, Any]]:
    return summary
