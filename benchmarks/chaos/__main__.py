"""A whole installation under random kills.

    python -m benchmarks.chaos --minutes 30 --seed 1

Runs are launched one after the other on `manage.py serve` with two workers, against a model on loopback. Every 5 to
40 s a worker, the web part, the gateway, PostgreSQL or the sweeper gets SIGKILL, a worker is frozen for longer than its
lease, or the folder of wake-ups is emptied. Afterwards each run must have come to its end by itself, and one checker
looks at every cell, event and call. Exit code 1 where anything is lost, doubled or left over.
"""

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.chaos.invariants import Figures, check, database_of
from benchmarks.chaos.kills import Killer
from benchmarks.chaos.world import Customer, Twin, customer_of
from tests.operations.serving import serving, until

LEASE_SECONDS = 4.0
SETTLE_SECONDS = 240.0  # after the last kill, before we give up on a run
LIVE_SECONDS = 60.0  # within which it should have ended


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--minutes", type=float, default=3.0)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--at-once", type=int, default=2, help="runs under way at the same time")
    asked.add_argument("--keep", action="store_true", help="keep the data folder, to look into it")
    options = asked.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bwchaos-", dir="/var/tmp"))
    folder.chmod(0o755)
    twin = Twin(options.seed)
    os.environ |= {
        "BW_PROVIDER_VLLM_BASE_URL": twin.url,
        "BENCHWRIGHT_LEASE_SECONDS": f"{LEASE_SECONDS:g}",
        "TMPDIR": str(folder / "tmp"),
    }
    (folder / "tmp").mkdir(mode=0o1777)
    try:
        return _storm(folder, twin, options)
    finally:
        twin.stop()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


def _storm(folder: Path, twin: Twin, options: argparse.Namespace) -> int:
    with serving(folder, "--workers", "2") as server:
        try:
            server.wait_ready()
            customer = customer_of(server, options.seed, options.at_once)
            killer = Killer(server, options.seed, frozen_seconds=2 * LEASE_SECONDS)
            _launch_under_fire(customer, killer, 60 * options.minutes)
            began = time.monotonic()
            customer.wait(SETTLE_SECONDS)
            settled = time.monotonic() - began
            until(lambda: server.get("/readyz") == 200, 60, "every part answers again")
            figures = check(database_of(folder), customer.runs, twin.asked)
        finally:
            (folder / "serve.log").write_text("\n".join(server.lines))
    if settled > LIVE_SECONDS:
        figures.broken.append(f"the last run ended {settled:.0f} s after the last kill, not within {LIVE_SECONDS:g} s")
    left = server.leftovers() + [str(path) for path in (folder / "tmp").iterdir()]
    figures.broken += [f"left behind: {thing}" for thing in left]
    _report(options, killer, figures, settled)
    return 1 if figures.broken or figures.lost or figures.doubled else 0


def _launch_under_fire(customer: Customer, killer: Killer, seconds: float) -> None:
    striking = threading.Thread(target=killer.run)
    striking.start()
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            customer.top_up()
            time.sleep(0.5)
    finally:
        killer.enough.set()
        striking.join()


def _report(options: argparse.Namespace, killer: Killer, figures: Figures, settled: float) -> None:
    kills = ", ".join(f"{what} {count}" for what, count in sorted(killer.done.items()))
    outcomes = ", ".join(f"{name} {count}" for name, count in sorted(figures.outcomes.items()))
    print(f"\n{options.minutes:g} minutes, seed {options.seed}; the last run ended {settled:.1f} s after the last kill")
    print(f"kills: {sum(killer.done.values())} ({kills})")
    print(f"runs {figures.runs}, cells {figures.cells} ({outcomes}), events {figures.events}")
    print(f"calls: asked of the provider {figures.asked}, settled {figures.settled}, in doubt {figures.in_doubt}")
    print(f"lost {figures.lost}, doubled {figures.doubled}")
    for words in figures.broken:
        print(f"BROKEN: {words}")


if __name__ == "__main__":
    sys.exit(main())
