"""Where the demo, the tests and the sandbox runtime of this clone keep their files. Standard library only."""

import hashlib
import os
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent


def open_to_others(path: Path) -> bool:
    """May any user of this machine walk to ``path``?"""
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))


def home() -> Path:
    """``.data`` in the clone.

    As root the database and the sandboxes run under users of their own; where those can't walk into the clone (it
    lies in root's home, or in a private temporary folder), a folder of this clone's own under /var/lib/benchwright.
    """
    if os.geteuid() != 0 or open_to_others(CLONE):
        return CLONE / ".data"
    return Path("/var/lib/benchwright") / f"{CLONE.name}-{hashlib.sha256(os.fsencode(CLONE)).hexdigest()[:8]}"


def runtime() -> Path:
    """The sandbox runtime of this clone, shared by demo and tests."""
    return Path(os.environ.get("BENCHWRIGHT_RUNTIME_DIR") or home() / "runtime")
