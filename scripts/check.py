"""Every check but the tests, one line each; ends with the number of those that failed."""

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from lock import NOTE, noted

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ["kernel", "accounts", "secrets_vault", "registry", "runs", "benchwright_site", "egress", "demo", "sdk/src"]
STEPS = {
    "lint": ["ruff", "check", "--no-cache", "-q", "."],
    "format": ["ruff", "format", "--no-cache", "-q", "--check", "."],
    "imports": ["lint-imports", "--no-cache"],
    "migrations": ["python", "manage.py", "makemigrations", "--check", "--dry-run", "-v", "0"],
    "types": ["mypy", *PACKAGES],
}


def locks() -> str:
    """Are the locks those that `make lock` made from today's .in files? Offline."""
    return "" if NOTE.is_file() and NOTE.read_text() == noted() else "requirements/*.lock are stale: run `make lock`"


def step(command: list[str]) -> str:
    """What a failed command said; nothing where it passed."""
    environment = {**os.environ, "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}  # none of them needs one
    environment |= {"PYTHONWARNINGS": "ignore", "BENCHWRIGHT_DATA": str(ROOT / ".data" / "check")}
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip() or f"exit {done.returncode}"


def main() -> int:
    failed = 0
    checks = {"locks": locks} | {name: partial(step, command) for name, command in STEPS.items()}
    for name, check in checks.items():
        began = time.monotonic()
        trouble = check()
        failed += bool(trouble)
        sys.stdout.write(f"· {name:<11} {'FAILED' if trouble else 'ok'}  ({time.monotonic() - began:.0f} s)\n")
        if trouble:
            sys.stdout.write(f"{trouble}\n")
        sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main())
