"""From measured inputs to what a large installation needs. Arithmetic only; every assumption is a name below."""

from itertools import pairwise
from typing import Any

PER_CELL = {"result": 1, "output": 1, "event": 2, "call": 1}
BATCHES_A_SECOND = 20  # of one worker at most (runs.harnesses.benchwright.writer)
BELLS_A_SECOND = 20  # of one worker and run at most (runs.doorbell)
CONNECTIONS_A_RUN = 4  # of a worker: engine's control and writing, the thread's own, a share of the bell
RUNS_A_WORKER = 8  # threads
# (name, cells in flight per worker, seconds a cell takes)
LOADS = (("chat models", 32, 4.0), ("small models", 64, 1.0), ("as quick as a worker can", 128, 0.1))
MONTHS = 12


def _backend_ms(measured: dict[str, Any], cells: float) -> float:
    """CPU of PostgreSQL for a batch of ``cells``: the measured sizes, joined by straight lines."""
    known = sorted((int(size), found["backend_cpu_ms"]) for size, found in measured["batch"].items())
    for (low, cheap), (high, dear) in pairwise(known):
        if cells <= high:
            return cheap + (dear - cheap) * max(0.0, cells - low) / (high - low)
    return known[-1][1] * cells / known[-1][0]


def storage(measured: dict[str, Any], rows: int) -> list[tuple[str, int, float, float]]:
    """(table, rows, GB of heap, GB of indexes)."""
    return [
        (name, rows * count, rows * count * size["heap"] / 1e9, rows * count * size["index"] / 1e9)
        for name, count in PER_CELL.items()
        for size in [measured["bytes"][name]]
    ]


def load(measured: dict[str, Any], workers: int, in_flight: int, seconds: float, rows: int) -> dict[str, float]:
    each = in_flight / seconds
    batches = min(BATCHES_A_SECOND, each)
    cells = each / batches
    return {
        "cells_per_s": each * workers,
        "commits_per_s": batches * workers,
        "cells_per_batch": cells,
        "postgres_cores": workers
        * (batches * _backend_ms(measured, cells) + each * measured["call_backend_ms"])
        / 1000,
        "wal_mb_per_s": each * workers * measured["wal_bytes"] / 1e6,
        "hours": rows / (each * workers) / 3600,
    }


def text(measured: dict[str, Any], workers: int, rows: int) -> str:
    out = ["", f"| table | rows | bytes a row: heap + index | heap GB | index GB | a month of {MONTHS}, GB |",
           "|---|---|---|---|---|---|"]  # fmt: skip
    total_heap = total_index = 0.0
    for name, count, heap, index in storage(measured, rows):
        size = measured["bytes"][name]
        total_heap, total_index = total_heap + heap, total_index + index
        out.append(
            f"| {name} | {count:.0e} | {size['heap']} + {size['index']} | {heap:.0f} | {index:.0f} "
            f"| {(heap + index) / MONTHS:.1f} |"
        )
    both = total_heap + total_index
    out.append(f"| **all** | | | {total_heap:.0f} | {total_index:.0f} | {both / MONTHS:.1f} |")
    out += [
        "",
        f"| {workers} workers on | cells/s | commits/s (cells each) | PostgreSQL, cores | WAL MB/s "
        f"| hours for {rows:.0e} |",
        "|---|---|---|---|---|---|",
    ]
    for name, in_flight, seconds in LOADS:
        found = load(measured, workers, in_flight, seconds, rows)
        out.append(
            f"| {name}: {in_flight} in flight, {seconds:g} s each | {found['cells_per_s']:,.0f} "
            f"| {found['commits_per_s']:,.0f} ({found['cells_per_batch']:.1f}) | {found['postgres_cores']:.1f} "
            f"| {found['wal_mb_per_s']:.1f} | {found['hours']:.1f} |"
        )
    bells = workers * BELLS_A_SECOND
    out += [
        "",
        f"| ceiling | measured | {workers} workers ask at most |",
        "|---|---|---|",
        f"| one run's row, cells/s (4 writers, batches of 50) | {measured['one_run_cells_per_s']:,} | |",
        f"| four runs' rows, cells/s (the same) | {measured['four_runs_cells_per_s']:,} | |",
        f"| notifications/s (one bell, four listeners) | {measured['notifications_per_s']:,} "
        f"| {bells:,} with one run each |",
        f"| connections | | {workers * (RUNS_A_WORKER * CONNECTIONS_A_RUN + 1):,} with {RUNS_A_WORKER} runs each, "
        f"{workers * (CONNECTIONS_A_RUN + 1):,} with one |",
    ]
    return "\n".join(out)
