"""Named fault points. Inert unless BENCHWRIGHT_FAULT names one: tests and `make chaos` kill a process there.

``BENCHWRIGHT_FAULT=P5`` kills with SIGKILL the first time; ``P5:3`` the third time; ``P5@/path`` only while the
file does not exist, which it then creates, so that a restarted process survives. Several are separated by commas.
"""

import os
import signal
from pathlib import Path

_armed: dict[str, tuple[int, str]] | None = None
_seen: dict[str, int] = {}


def _parse() -> dict[str, tuple[int, str]]:
    armed = {}
    for item in os.environ.get("BENCHWRIGHT_FAULT", "").split(","):
        point, _, once = item.strip().partition("@")
        name, _, count = point.partition(":")
        if name:
            armed[name] = (int(count or 1), once)
    return armed


def fault(name: str) -> None:
    """Die here if this point is armed."""
    global _armed
    if _armed is None:
        _armed = _parse()
    if not _armed or name not in _armed:
        return
    count, once = _armed[name]
    _seen[name] = _seen.get(name, 0) + 1
    if _seen[name] != count:
        return
    if once:
        try:
            Path(once).touch(exist_ok=False)
        except FileExistsError:
            return
    os.kill(os.getpid(), signal.SIGKILL)
