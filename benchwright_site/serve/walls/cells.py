"""Control groups in which a worker that is not root may make groups for its sandboxes."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from runs.compute.walls import cgroups

OWN = "self"  # the worker itself lives here: in version 2 a group with members has no groups with limits


def make(uid: int) -> dict[str, Path]:
    """A folder of ``uid``'s for each controller that root can hand on here; fewer, or none, elsewhere."""
    remove()
    made: dict[str, Path] = {}
    for controller in ("memory", "pids"):
        for home in cgroups.homes(controller):
            with contextlib.suppress(OSError):
                made[controller] = _folder(home, uid)
                break
    return made


def _folder(home: Path, uid: int) -> Path:
    folder = home / f"{cgroups.PREFIX}{os.getpid()}"
    for each in (folder, folder / OWN):
        each.mkdir(exist_ok=True)
        os.chown(each, uid, uid)
        os.chown(each / "cgroup.procs", uid, uid)
    control = folder / "cgroup.subtree_control"
    if control.exists():
        os.chown(control, uid, uid)
        control.write_text("+memory +pids")
    return folder


def homes(made: Mapping[str, Path]) -> list[Path]:
    """Where the worker itself goes."""
    return sorted({folder / OWN for folder in made.values()})


def environment(made: Mapping[str, Path]) -> dict[str, str]:
    return {cgroups.GIVEN: os.pathsep.join(f"{name}={folder}" for name, folder in made.items())} if made else {}


def remove() -> None:
    """Take away what this process has made, and what others left that were killed. Groups in use stay."""
    for controller in ("memory", "pids"):
        for home in cgroups.homes(controller):
            for folder in home.glob(f"{cgroups.PREFIX}[0-9]*"):
                number = folder.name.removeprefix(cgroups.PREFIX)
                if number.isdecimal() and (number == str(os.getpid()) or not Path(f"/proc/{number}").exists()):
                    _drop(folder)


def _drop(folder: Path) -> None:
    for group in (*folder.glob(f"{cgroups.PREFIX}*"), folder / OWN, folder):
        with contextlib.suppress(OSError):
            group.rmdir()
