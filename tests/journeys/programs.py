"""The guide's code as it is printed, run as programs of their own.

``guide/`` holds every block of it, word for word, by section: ``block("7")``. A chapter's blocks, one after another and
behind the two lines that every example assumes, are a complete program.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.operations.serving import ROOT, Server

GUIDE = Path(__file__).with_name("guide")
SECONDS = 600


def block(name: str) -> str:
    return (GUIDE / f"{name}.txt").read_text(encoding="utf-8")


class Desk:
    """Where a reader of the guide sits: a folder, a token, and the address of an installation."""

    def __init__(self, server: Server, token: str, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "BW_PAT": token,
            "BW_BASE_URL": server.url,
            "PYTHONPATH": str(ROOT / "sdk" / "src"),
            "PYTHONIOENCODING": "utf-8",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            **{name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")},
        }

    def program(self, *pieces: str) -> str:
        """What the pieces print, as one program behind the guide's first lines."""
        done = self._run([sys.executable, "-c", "\n".join((block("1-client"), *pieces))])
        assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def shell(self, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return self._run(["/bin/sh", "-c", script], environment)

    def _run(self, command: list[str], more: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        given = {**self.environment, **(more or {})}
        return subprocess.run(
            command, cwd=self.folder, env=given, text=True, capture_output=True, timeout=SECONDS, encoding="utf-8"
        )
