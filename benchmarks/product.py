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
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from benchmarks.installation import ROOT, Installation, author
from benchmarks.processes import Watch, snapshot
from benchwright import Benchwright


def _load(rig: pathlib.Path, name: str) -> Any:
    sys.path.insert(0, str(rig))
    spec = importlib.util.spec_from_file_location(name, rig / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ended(bw: Benchwright, run_id: str) -> Any:
    while True:
        run = bw.runs.get(run_id)
        if run.status in ("ok", "failed", "halted"):
            return run
        time.sleep(2)  # as often as the SDK's own wait asks


def moment(text: str) -> float:
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


def one(run_all: Any, rig: pathlib.Path, case: dict[str, Any], scorer: str) -> dict[str, Any]:
    """A new installation, one run of the case."""
    with (
        tempfile.TemporaryDirectory(prefix="bwm-", dir="/var/tmp") as folder,
        mocked(run_all, rig, case, sys.executable) as mock,
    ):
        pathlib.Path(folder).chmod(0o755)
        home = Installation(pathlib.Path(folder), f"http://127.0.0.1:{mock.port}/v1")
        try:
            rows = [json.loads(line) for line in (rig / "data" / f"arith-{case['n']}.jsonl").open()]
            line = measure(home, mock, case, author(home.bw, rows, scorer, case["name"]), scorer)
        finally:
            home.close()
    best, right, fewest = run_all.ideal(rows, case)
    return {**line, "ideal_s": round(best, 3), "expected_passed": right, "fewest_requests": fewest}


def floor(run_all: Any, rig: pathlib.Path, case: dict[str, Any]) -> dict[str, Any]:
    """The rig's own client without a harness, on the same case."""
    peer = run_all.peer_set.ALL["floor"]
    line: dict[str, Any] = run_all.one(peer, case["name"], case, rig / "work" / "floor", sys.executable, 600, 0)
    return line


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
        for scorer in args.repeats * [*(["floor"] if args.floor else []), *args.scorers.split(",")]:
            lines.append(floor(run_all, rig, case) if scorer == "floor" else one(run_all, rig, case, scorer))
            print(json.dumps(lines[-1]), flush=True)
            if scorer != "floor":
                with results.open("a") as out:
                    out.write(json.dumps(lines[-1]) + "\n")
    print(table(lines))


def table(lines: list[dict[str, Any]]) -> str:
    """Medians by case and peer. A right harness has as many right answers and asks as often as is least possible."""
    heads = ("case", "peer", "wall s", "span s", "span/ideal", "CPU ms/sample", "right (expected)", "requests (fewest)")
    out = ["", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for case in sorted({line["case"] for line in lines}):
        for peer in dict.fromkeys(line["peer"] for line in lines if line["case"] == case):
            mine = [line for line in lines if (line["case"], line["peer"]) == (case, peer)]
            wall, span, cpu = (
                statistics.median(line[key] for line in mine) for key in ("wall_s", "span_s", "cpu_ms_per_sample")
            )
            last = mine[-1]
            out.append(
                f"| {case} | {peer} | {wall:.2f} | {span:.2f} | {span / (last['ideal_s'] or span):.2f} | {cpu:.2f} "
                f"| {last['passed']} ({last['expected_passed']}) | {last['requests']} ({last['fewest_requests']}) |"
            )
    return "\n".join(out)


if __name__ == "__main__":
    main()
