"""Pin every package by hash: requirements/NAME.in -> NAME.lock, and a note of which .in each lock was made from."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "requirements"
UV = Path(sys.executable).parent / "uv"
NOTE = FOLDER / "locks.sha256"
OPTIONS = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--no-header",
           "--no-annotate", "--upgrade"]  # fmt: skip
ALONE = {"demo"}  # installed without what its packages ask for


def noted() -> str:
    """One line per lock: the hash of its .in files and of itself. Fresh means that these lines are as written down."""
    lines = []
    for source in sorted(FOLDER.glob("*.in")):
        sources = b"".join(part.read_bytes() for part in _with_included(source))
        both = hashlib.sha256(sources + source.with_suffix(".lock").read_bytes()).hexdigest()
        lines.append(f"{both}  {source.stem}")
    return "\n".join(lines) + "\n"


def _with_included(source: Path) -> list[Path]:
    named = [line.split()[1] for line in source.read_text().splitlines() if line.startswith("-r ")]
    return [source, *(part for name in named for part in _with_included(FOLDER / name))]


def main() -> None:
    for source in sorted(FOLDER.glob("*.in")):
        extra = ["--no-deps"] if source.stem in ALONE else []
        target = str(source.with_suffix(".lock"))
        subprocess.run(
            [str(UV), "pip", "compile", "-q", *OPTIONS, *extra, "-o", target, str(source)],
            check=True,
            env={**os.environ, "UV_SYSTEM_CERTS": "1"},
        )
        sys.stdout.write(f"· {source.stem}.lock\n")
    NOTE.write_text(noted())


if __name__ == "__main__":
    NOTE.write_text(noted()) if sys.argv[1:] == ["--note"] else main()
