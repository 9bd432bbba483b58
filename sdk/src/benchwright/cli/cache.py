"""What the command line remembers per user: the last run, and how often a launch was begun anew."""

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..config import Account, folder

KEPT = 500  # launches whose counter is remembered


def _path() -> Path:
    return folder("XDG_CACHE_HOME", ".cache") / "cli.json"


def _read() -> dict[str, Any]:
    try:
        value = json.loads(_path().read_text("utf-8"))
    except (OSError, ValueError):
        return {}  # a cache: losing it costs nothing but the memory
    return value if isinstance(value, dict) else {}


@contextmanager
def _changed() -> Iterator[dict[str, Any]]:
    """Read, change, write as one step among this user's shells."""
    target = _path()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(target.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        value = _read()
        yield value
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".cli-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(value, file)
        os.replace(temporary, target)


def _place(account: Account) -> str:
    return f"{account.base_url}#{account.profile or ''}"


def remember_run(account: Account, run_id: str) -> None:
    """Make it ``@last`` of this server and profile."""
    with _changed() as value:
        value.setdefault("last", {})[_place(account)] = run_id


def resolved(account: Account, run_id: str) -> str:
    """``@last`` as an id; anything else as it is. Raises click.UsageError when there is no last run."""
    if run_id != "@last":
        return run_id
    last = _read().get("last", {}).get(_place(account))
    if not last:
        raise click.UsageError(f"@last: no run was launched from here against {account.base_url} yet.")
    return str(last)


def beginnings(account: Account, key: str) -> int:
    """How often the launch with this derived key was begun anew."""
    return int(_read().get("begun", {}).get(f"{_place(account)} {key}", 0))


def remember_beginning(account: Account, key: str, count: int) -> None:
    with _changed() as value:
        begun = value.setdefault("begun", {})
        begun.pop(f"{_place(account)} {key}", None)
        begun[f"{_place(account)} {key}"] = count
        for old in list(begun)[:-KEPT]:
            del begun[old]
