"""Every task and group that the harnesses of others ship: where its rows are, and what kind of answer it wants.

Data: harness/*.json, written by scripts/harness_tasks.py from the packages that they name, with version and hash.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "harness"


@dataclass(frozen=True)
class HarnessTask:
    """``datasets``: of the Hub, "" in none where its rows lie elsewhere or are not told. ``config``, ``split``: of it.

    ``output``: multiple_choice, generate_until, … as the harness calls it, or "". ``count``: tasks of a group, else 0;
    ``members``: the first of them.
    """

    harness: str
    name: str
    datasets: tuple[str, ...] = ()
    config: str | None = None
    split: str | None = None
    output: str = ""
    count: int = 0
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Package:
    """Which release the list of a harness was read from. ``sha256``: of its wheel."""

    harness: str
    name: str
    version: str
    sha256: str


@cache
def tasks_of(harness: str) -> Mapping[str, HarnessTask]:
    """name -> task; empty for a harness whose list is not shipped."""
    found: dict[str, HarnessTask] = {}
    said = _said(harness)
    for dataset, config, split, output, names in said.get("sets", ()):
        places = (dataset,) if dataset else ()
        for name in names:
            found[name] = HarnessTask(harness, name, places, config, split, output or "")
    for name, count, datasets, members in said.get("groups", ()):
        found.setdefault(name, HarnessTask(harness, name, tuple(datasets), count=count, members=tuple(members)))
    return found


@cache
def package_of(harness: str) -> Package | None:
    said = _said(harness)
    return Package(harness, said["package"], said["version"], said["sha256"]) if said else None


def harnesses() -> tuple[str, ...]:
    """Those whose lists are shipped."""
    return tuple(sorted(path.stem for path in DATA.glob("*.json")))


@cache
def _said(harness: str) -> Mapping[str, Any]:
    path = DATA / f"{harness}.json"
    said: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return said
