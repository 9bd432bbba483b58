"""The product under the peers' cases: one installation, one run per measurement, everything counted.

    python -m benchmarks.product --rig ../shared/bench --cases A,B,C --scorers guide,chat,task --repeats 3

The rig (its mock model, its questions, its floor) stays where it is; its copy must be writable. Each line printed is
one run as JSON, and is added to benchmarks/results/runs.jsonl. CPU is that of every process of the installation,
PostgreSQL included, from the launch to the end of the run; the mock's own is not counted.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from benchwright import Benchwright
from scripts import place

ROOT = pathlib.Path(__file__).resolve().parent.parent
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")

GUIDE = """
import os, requests
from bench_task import BenchTask

class Task(BenchTask):
    def solve(self, index, input):
        headers = {}
        key = os.environ.get("BW_MODEL_PROXY_KEY")
        if key: headers["Authorization"] = f"Bearer {key}"
        r = requests.post(
            f"{os.environ['BW_MODEL_PROXY_URL']}/v1/chat/completions",
            headers=headers,
            json={"model": os.environ["BW_MODEL_MODEL"], "messages": [{"role": "user", "content": input}],
                  "temperature": 0, "max_tokens": 64},
            timeout=120,
        )
        r.raise_for_status()
        return r.json()["choices"][0]["message"]["content"]

    def score(self, index, output, expected):
        return 1.0 if output.strip() == expected else 0.0
"""
CHAT = """
from bench_task import BenchTask, chat

class Task(BenchTask):
    async def solve(self, index, input):
        reply = await chat([{"role": "user", "content": input}], temperature=0, max_tokens=64)
        return reply["choices"][0]["message"]["content"]

    def score(self, index, output, expected):
        return 1.0 if output.strip() == expected else 0.0
"""
SCORERS: dict[str, dict[str, Any]] = {
    "guide": {"code": GUIDE},
    "chat": {"code": CHAT},
    "task": {"code": CHAT, "isolation": "task"},
}


def _load(rig: pathlib.Path, name: str) -> Any:
    sys.path.insert(0, str(rig))
    spec = importlib.util.spec_from_file_location(name, rig / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tree(root: int) -> list[int]:
    """A process and all that descends from it."""
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                todo += map(int, pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


def _stat(pid: int) -> tuple[str, float, int]:
    """(name, CPU seconds with those of children that ended, resident bytes)."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    fields = text.rpartition(")")[2].split()
    line = pathlib.Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    name = next(
        (n for n in ("gateway", "sweep", "celery", "daphne", "serve", "postgres", "bwrap", "bw_main") if n in line),
        "other",
    )
    return name, sum(map(int, fields[11:15])) / TICKS, int(fields[21]) * PAGE


def snapshot(root: int) -> tuple[dict[str, float], dict[str, float]]:
    """CPU seconds by part, and the largest resident MB of one process by part."""
    cpu: dict[str, float] = {}
    memory: dict[str, float] = {}
    for pid in tree(root):
        with contextlib.suppress(OSError):
            name, seconds, resident = _stat(pid)
            cpu[name] = cpu.get(name, 0.0) + seconds
            memory[name] = max(memory.get(name, 0.0), resident / 2**20)
    return cpu, memory


@dataclass
class Watch:
    """Samples memory five times a second while a run goes."""

    root: int
    peak: dict[str, float] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.over.wait(0.2):
            for name, size in snapshot(self.root)[1].items():
                self.peak[name] = max(self.peak.get(name, 0.0), size)


class Installation:
    """`manage.py serve` on a data folder of its own, with the mock behind the provider "vllm"."""

    def __init__(self, folder: pathlib.Path, mock_url: str) -> None:
        unset = ("DATABASE_URL", "BENCHWRIGHT_TEST_DATABASE", "DJANGO_SETTINGS_MODULE")
        self.environment = {key: value for key, value in os.environ.items() if key not in unset}
        self.environment |= {"BENCHWRIGHT_DATA": str(folder), "BW_PROVIDER_VLLM_BASE_URL": mock_url}
        self.environment.setdefault("BENCHWRIGHT_RUNTIME_DIR", str(place.runtime()))
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "serve", "--port", "0", "--workers", "1"],
            env=self.environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.url = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "Benchwright is ready: " in line:
                self.url = line.split(": ", 1)[1].strip()
                break
        assert self.url, "serve did not become ready"
        threading.Thread(target=self._keep_log, args=[folder / "serve.log"], daemon=True).start()
        self._manage("create_user", "bench@example.org")
        said = self._manage("create_token", "bench@example.org", "--scopes",
                            "runs:read,runs:write,artifacts:read,registry:read,registry:publish")  # fmt: skip
        self.bw = Benchwright(api_key=said.split()[-1], base_url=self.url)

    def _keep_log(self, path: pathlib.Path) -> None:
        with path.open("w") as log:
            for line in self.process.stdout or ():
                log.write(line)
                log.flush()

    def _manage(self, *arguments: str) -> str:
        return subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            env=self.environment, cwd=ROOT, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def author(bw: Benchwright, rows: list[dict[str, Any]], scorer: str, name: str) -> tuple[str, str, str]:
    made = bw.benchmarks.create(f"Sums {name} {scorer}")
    subset = bw.benchmarks.subsets.create(made.id, "all", tasks=rows)
    impl = bw.impls.create(subset=subset.id, label=scorer, **SCORERS[scorer])
    return made.id, subset.id, impl.id


def ended(bw: Benchwright, run_id: str) -> Any:
    while True:
        run = bw.runs.get(run_id)
        if run.status in ("ok", "failed", "halted"):
            return run
        time.sleep(0.25)


def moment(text: str) -> float:
    from datetime import datetime  # noqa: PLC0415 (only here)

    return datetime.fromisoformat(text).timestamp()


def measure(
    home: Installation, mock: Any, case: dict[str, Any], ids: tuple[str, str, str], label: str
) -> dict[str, Any]:
    before, _ = snapshot(home.process.pid)
    watch = Watch(home.process.pid)
    thread = threading.Thread(target=watch.run)
    thread.start()
    began = time.time()
    run = home.bw.runs.launch(
        benchmark=ids[0], subset=ids[1], impl=ids[2], sut={"model": "mock-model", "provider": "vllm"},
        concurrency=case["concurrency"],
    )  # fmt: skip
    run = ended(home.bw, run.id)
    watch.over.set()
    thread.join()
    after, _ = snapshot(home.process.pid)
    seen, summary = mock.stats(), run.summary
    parts = {name: round((after.get(name, 0.0) - before.get(name, 0.0)) * 1000 / case["n"], 4) for name in after}
    return {
        "peer": f"benchwright {label}",
        "case": case["name"],
        "n": case["n"],
        "status": run.status,
        "wall_s": round(moment(run.finished_at) - began, 3),
        "span_s": round(seen["span_s"], 3),
        "cpu_ms_per_sample": round(sum(parts.values()), 3),
        "cpu_by_part": parts,
        "peak_mb": {name: round(size) for name, size in watch.peak.items()},
        "passed": summary.passed,
        "total": summary.total,
        "errored": summary.errored,
        "requests": seen["requests"],
        "load1": os.getloadavg()[0],
    }


@contextlib.contextmanager
def mocked(run_all: Any, rig: pathlib.Path, case: dict[str, Any], python: str) -> Iterator[Any]:
    data = rig / "data" / f"arith-{case['n']}.jsonl"
    if not data.exists():
        run_all.make_data.write(data, case["n"])
    mock = run_all.Mock(data, case, python, 0)
    try:
        yield mock
    finally:
        mock.close()


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rig", type=pathlib.Path, required=True, help="a writable copy of the evaluation overhead rig")
    ap.add_argument("--cases", default="A,B,C")
    ap.add_argument("--scorers", default="guide,chat,task")
    ap.add_argument("--repeats", type=int, default=1)
    ap.add_argument("--floor", action="store_true", help="run the rig's floor in turns with each repeat")
    args = ap.parse_args()
    rig = args.rig.resolve()
    run_all = _load(rig, "run_all")
    results = ROOT / "benchmarks" / "results" / "runs.jsonl"
    results.parent.mkdir(exist_ok=True)
    lines = []
    for name in args.cases.split(","):
        case = {**run_all.CASES[name], "name": name}
        for _ in range(args.repeats):
            if args.floor:
                peer = run_all.peer_set.ALL["floor"]
                lines.append(run_all.one(peer, name, case, rig / "work" / "floor", sys.executable, 600, 0))
                print(json.dumps(lines[-1]), flush=True)
            for scorer in args.scorers.split(","):
                with (
                    tempfile.TemporaryDirectory(prefix="bwm-", dir="/var/tmp") as folder,
                    mocked(run_all, rig, case, sys.executable) as mock,
                ):
                    pathlib.Path(folder).chmod(0o755)
                    home = Installation(pathlib.Path(folder), f"http://127.0.0.1:{mock.port}/v1")
                    try:
                        rows = [json.loads(line) for line in (rig / "data" / f"arith-{case['n']}.jsonl").open()]
                        ids = author(home.bw, rows, scorer, name)
                        lines.append(measure(home, mock, case, ids, scorer))
                    finally:
                        home.close()
                print(json.dumps(lines[-1]), flush=True)
                with results.open("a") as out:
                    out.write(json.dumps(lines[-1]) + "\n")
    table(lines)


def table(lines: list[dict[str, Any]]) -> None:
    print("\n| case | peer | wall s | span s | CPU ms/sample | passed |\n|---|---|---|---|---|---|")
    for case in sorted({line["case"] for line in lines}):
        for peer in dict.fromkeys(line["peer"] for line in lines if line["case"] == case):
            mine = [line for line in lines if line["case"] == case and line["peer"] == peer]

            def mid(key: str, mine: list[dict[str, Any]] = mine) -> str:
                return f"{statistics.median(line[key] for line in mine):.2f}"

            print(
                f"| {case} | {peer} | {mid('wall_s')} | {mid('span_s')} | {mid('cpu_ms_per_sample')} "
                f"| {mine[-1]['passed']} |"
            )


if __name__ == "__main__":
    main()
