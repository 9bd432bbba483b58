"""The one checker: each cell once and rightly, events gapless, the provider's log explained by the journal."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from benchmarks.chaos.world import Launched, is_known, question
from benchwright_site.serve.postgres import Cluster
from kernel import env

OUTCOMES = ("passed", "failed", "unscored", "errored", "skipped")


@dataclass
class Figures:
    """What the report prints. ``lost`` and ``doubled`` and ``broken`` must be 0 and empty."""

    runs: int = 0
    cells: int = 0
    lost: int = 0  # planned cells without a result, and settled answers that the provider never gave
    doubled: int = 0  # results, events, runs, or paid calls that were there before
    outcomes: Counter[str] = field(default_factory=Counter)
    asked: int = 0  # of the provider
    settled: int = 0
    in_doubt: int = 0  # sent when the gateway died: the provider may have been paid
    events: int = 0
    broken: list[str] = field(default_factory=list)


def database_of(data: Path) -> str:
    """The URL of the database in a data folder whose server runs."""
    return Cluster(data / "postgres", env.socket_folder(data) / "db").url


def check(url: str, runs: list[Launched], asked: Counter[str]) -> Figures:
    """Look at everything that the database holds of these runs."""
    figures = Figures(runs=len(runs), asked=sum(asked.values()))
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
        (stored,) = connection.execute("SELECT count(*) AS runs FROM runs_run").fetchall()
        if stored["runs"] != len(runs):
            figures.doubled += abs(stored["runs"] - len(runs))
            figures.broken.append(f"{stored['runs']} runs are stored, {len(runs)} were launched")
        for run in runs:
            _Run(connection, run, figures, asked).check()
    return figures


class _Run:
    def __init__(self, connection: Any, run: Launched, figures: Figures, asked: Counter[str]) -> None:
        self._connection, self._launched, self._figures, self._asked = connection, run, figures, asked

    def _rows(self, query: str) -> list[dict[str, Any]]:
        return list(self._connection.execute(query, {"run": self._launched.id}).fetchall())

    def _broken(self, words: str) -> None:
        self._figures.broken.append(f"run {self._launched.batch} ({self._launched.id}): {words}")

    def check(self) -> None:
        (row,) = self._rows("SELECT * FROM runs_run WHERE id = %(run)s")
        if row["status"] != "ok":
            self._broken(f"it is {row['status']}: {row['error']}")
        if row["planned"] != self._launched.rows * self._launched.trials:
            self._broken(f"{row['planned']} cells are planned")
        if self._rows("SELECT 1 FROM runs_shard WHERE run_id = %(run)s AND status <> 'done'"):
            self._broken("a shard is not done")
        if self._rows("SELECT 1 FROM runs_phase WHERE run_id = %(run)s AND status <> 'completed'"):
            self._broken("a phase is not completed")
        self._cells(row)
        self._events(row)
        self._calls(row)

    def _cells(self, run: dict[str, Any]) -> None:
        figures = self._figures
        rows = self._rows("SELECT ordinal, outcome, error_class, error_message FROM runs_taskresult"
                          " WHERE run_id = %(run)s AND live ORDER BY ordinal")  # fmt: skip
        times = Counter(row["ordinal"] for row in rows)
        figures.cells += run["planned"]
        figures.lost += sum(ordinal not in times for ordinal in range(run["planned"]))
        figures.doubled += sum(count - 1 for count in times.values())
        if sorted(times) != list(range(run["planned"])):
            self._broken(f"{len(times)} of {run['planned']} cells have a result")
        tally = Counter(row["outcome"] for row in rows)
        figures.outcomes.update(tally)
        if any(run[name] != tally[name] for name in OUTCOMES):
            self._broken(f"its tallies are not its rows: {tally}")
        for row in rows:
            right = "passed" if is_known(row["ordinal"] // self._launched.trials) else "failed"
            if row["outcome"] not in (right, "errored"):
                said = f"{row['error_class']}: {row['error_message']}"
                self._broken(f"cell {row['ordinal']} is {row['outcome']} instead of {right} ({said})")

    def _events(self, run: dict[str, Any]) -> None:
        figures, seen = self._figures, self._launched.seen
        rows = self._rows("SELECT seq, type, data->>'ordinal' AS ordinal, data->>'attempt' AS attempt"
                          " FROM runs_runevent WHERE run_id = %(run)s ORDER BY seq")  # fmt: skip
        figures.events += len(rows)
        if [row["seq"] for row in rows] != list(range(1, run["last_seq"] + 1)):
            self._broken("its events have a gap")
        if seen != list(range(1, run["last_seq"] + 1)):
            self._broken(f"its reader saw {len(seen)} of {run['last_seq']} events ({self._launched.trouble})")
        ended = Counter(row["ordinal"] for row in rows if row["type"] == "MaterializeTaskResult")
        figures.doubled += sum(count - 1 for count in ended.values())
        begun = Counter(
            (row["ordinal"], row["attempt"]) for row in rows if row["type"] == "MaterializeTaskStarted"
        )  # fmt: skip
        figures.doubled += sum(count - 1 for count in begun.values())
        once = Counter(row["type"] for row in rows)
        if any(once[name] != 1 for name in ("RunQueued", "RunStarted", "RunCompleted")):
            self._broken(f"it has begun or ended more than once: {once}")

    def _calls(self, run: dict[str, Any]) -> None:
        """Between what is settled and what the journal knows of lies what the provider was asked."""
        figures, trials = self._figures, self._launched.trials
        rows = self._rows("SELECT ordinal, request_hash, status, greatest(tries, 1) AS tries FROM runs_modelcall"
                          " WHERE run_id = %(run)s")  # fmt: skip
        paid = Counter((row["ordinal"], row["request_hash"]) for row in rows if row["status"] == "settled")
        doubled = sum(count - 1 for count in paid.values())
        if doubled:
            figures.doubled += doubled
            self._broken(f"{doubled} answers were paid twice")
        figures.settled += sum(paid.values())
        figures.in_doubt += sum(row["status"] == "unknown" for row in rows)
        for number in range(self._launched.rows):
            mine = [row for row in rows if row["ordinal"] // trials == number]
            least = sum(row["status"] == "settled" for row in mine)
            most, asked = sum(row["tries"] for row in mine), self._asked[question(self._launched.batch, number)]
            figures.lost += max(0, least - asked)
            figures.doubled += max(0, asked - most)
            if not least <= asked <= most:
                self._broken(f"task {number}: the provider was asked {asked} times, the journal has {least} to {most}")
        (cost,) = self._rows("SELECT coalesce(sum(cost), 0) AS sum FROM runs_modelcall WHERE run_id = %(run)s")
        if cost["sum"] != run["cost_model"]:
            self._broken(f"it cost {run['cost_model']}, its journal says {cost['sum']}")
