"""Who runs which part: started by root, the vault's parts have a user of their own, and all others have another."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings

from benchwright_site.serve.postgres import leashed
from runs.compute.walls import bubblewrap

ITSELF = "-"
PROBE_SECONDS = 30


@dataclass(frozen=True)
class People:
    """``vault``: the uid of gateway and egress proxy; ``house``: the uid of web, workers and sweeper, and their gid.

    Both are numbers that need no entry among the system's users. The gid is shared: what the vault's parts have to
    show to the others (the control socket) belongs to that group.
    """

    vault: int
    house: int

    def keeper(self, more: Iterable[Path] = ()) -> str:
        """The leash's word for the vault's parts. ``more``: paths that they need besides the program itself."""
        return _place(self.vault, self.house, more)

    def resident(self) -> str:
        """The leash's word for web and sweeper."""
        return _place(self.house, self.house)

    def worker(self, cgroups: Iterable[Path] = ()) -> str:
        """The leash's word for workers: they may become the spare users that sandboxes run as, and nobody else."""
        return _place(self.house, self.house, spare=bubblewrap.spare_uids(), cgroups=cgroups)


def _place(
    uid: int,
    gid: int,
    more: Iterable[Path] = (),
    *,
    spare: tuple[int, int] | None = None,
    cgroups: Iterable[Path] = (),
) -> str:
    ways = closed_ways((*program(), *more))
    return json.dumps({"uid": uid, "gid": gid, "ways": ways, "spare": spare, "cgroups": [str(one) for one in cgroups]})


def program() -> list[Path]:
    """What every part reads: the clone, the packages, the interpreter."""
    executable = Path(os.path.realpath(sys.executable))
    folders = [str(settings.BASE_DIR), sys.prefix, sys.base_prefix, *filter(os.path.isdir, sys.path)]
    return [*map(Path, folders), executable.parent.parent]


def closed_ways(paths: Iterable[Path]) -> list[list[str]]:
    """``[closed folder, path]`` for each path that other users can't walk to, the outermost closed folder first."""
    found: list[list[str]] = []
    for path in sorted({Path(os.path.realpath(each)) for each in paths}):
        closed = [folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001]
        if closed and not any(path.is_relative_to(kept) for _, kept in found):
            found.append([str(closed[0]), str(path)])
    return found


@cache
def find() -> tuple[People | None, str]:
    """The people, or None and in words why one user runs everything. Tried once a process (0.2 s as root)."""
    if os.geteuid() != 0:
        return (
            None,
            f"one user (uid {os.geteuid()}) runs every part, since only root could give them users of their own",
        )
    vault, house = settings.VAULT_UID, settings.HOUSE_UID
    if not vault or not house or vault == house:
        return None, "root runs every part, since BENCHWRIGHT_VAULT_UID or BENCHWRIGHT_HOUSE_UID says so"
    people = People(vault, house)
    for place in (people.keeper(), people.worker()):
        trouble = _try(place)
        if trouble:
            return None, f"root runs every part, since others can't here: {trouble}"
    return people, f"gateway and egress run as uid {vault}, all other parts as uid {house}"


def _try(place: str) -> str:
    """Why this program can't be run there; empty where it can."""
    command = leashed([sys.executable, "-c", "import django, psycopg"], user=place)
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(  # noqa: S603 - our own program
            command, cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=PROBE_SECONDS
        )
        lines = (done.stderr.strip() or "it does not start").splitlines()
        return lines[-1] if done.returncode else ""
    return "it does not start"
